"""Certified and attacked accuracy as the radius grows: the band that the truth lies in, and its drawing."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True, eq=False)
class AccuracyBand:
    """``certified ≤ accuracy under the worst moves of a size ≤ attacked``, radius by radius.

    Attributes
    ----------
    radii, certified, attacked : ndarrays of shape (n_radii,)
    """

    radii: np.ndarray
    certified: np.ndarray
    attacked: np.ndarray

    def draw(self, ax, xlabel: str, name: str | None = None) -> None:
        """Draw the band and both its ends in one colour; several bands may share axes."""
        prefix = f"{name}: " if name else ""
        (line,) = ax.step(self.radii, self.certified, where="post", linewidth=2, label=f"{prefix}certified")
        colour = line.get_color()
        ax.step(self.radii, self.attacked, where="post", linewidth=1, color=colour, label=f"{prefix}attacked")
        ax.fill_between(self.radii, self.certified, self.attacked, step="post", alpha=0.2, color=colour, linewidth=0)
        ax.set(xlabel=xlabel, ylabel="accuracy", ylim=(0, 1.02))
        ax.legend()


def axes_or_new(ax, owner: str):
    """The axes to draw on, new ones if none are given; ``owner`` is named where matplotlib is missing."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError(f"{owner} needs matplotlib: pip install 'holdfast[plot]'") from missing
    return plt.subplots(layout="constrained")[1] if ax is None else ax
