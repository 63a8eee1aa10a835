"""Histogram of adversarial margins."""

import numpy as np

from holdfast.certificates.voting import neighbor_voter_for
from holdfast.report.displays.axes import axes_for, name_of
from holdfast.report.model_metrics import input_margins


class MarginDisplay:
    """Histogram of how far each row is from the point where its nearest impostor is as near as its target.

    Make one with :meth:`from_estimator`. A margin is a property of one triplet (Eq. 3 of the paper), not yet
    a certificate of a prediction.

    Parameters
    ----------
    margins : ndarray of shape (n_rows,)
        Negative where the impostor is nearer already.
    name : str or None
        For the legend.
    units : str
        For the axis.

    Attributes
    ----------
    ax_, figure_
        Axes and figure it was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.report import MarginDisplay
    >>> float(np.median(MarginDisplay([0.1, 0.4, 0.3]).margins))
    0.3
    """

    def __init__(self, margins, name: str | None = None, units: str = "the units of X"):
        self.margins = np.asarray(margins, dtype=np.float64)
        self.name = name
        self.units = units

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, scale=None, frozen=None, reference=None, n_jobs: int | None = None, name=None,
        bins=30, ax=None,
    ) -> "MarginDisplay":  # fmt: skip
        """Compute the margins of the rows of X, and draw.

        Parameters
        ----------
        estimator, X, y, reference, n_jobs
            As for :func:`holdfast.certify`.
        scale : array-like of shape (n_features,), optional
            The move of length 1 in each feature, such as its standard deviation.
        frozen : array-like of bool, optional
            Features that do not move.
        name, bins, ax
            As for :meth:`plot`.
        """
        X = np.asarray(X, dtype=np.float64)
        voter = neighbor_voter_for(estimator, reference)
        units = "the units of X" if scale is None else "multiples of scale"
        scale = np.ones(X.shape[1]) if scale is None else np.asarray(scale, dtype=np.float64)
        frozen = np.zeros(X.shape[1], bool) if frozen is None else np.asarray(frozen, dtype=bool)
        margins = input_margins(voter, X, np.asarray(y), scale, frozen, n_jobs)
        if margins is None:
            raise ValueError(
                "These margins are not defined: the pipeline has a Normalizer or a monotone step, no feature can move, "
                "or no row has both a target and an impostor."
            )
        return cls(margins, name_of(estimator, name), units).plot(ax=ax, bins=bins)

    def plot(self, ax=None, *, bins=30, name: str | None = None) -> "MarginDisplay":
        """Draw the histogram, and a line at the median; several displays may share axes."""
        ax = axes_for(self, ax)
        name = self.name if name is None else name
        _, _, patches = ax.hist(self.margins, bins=bins, alpha=0.6, label=name)
        colour = patches[0].get_facecolor()
        ax.axvline(np.median(self.margins), color=(*colour[:3], 1.0), linestyle="--", linewidth=1.2)
        ax.set(xlabel=f"adversarial margin in {self.units}", ylabel="rows")
        if name:
            ax.legend()
        return self
