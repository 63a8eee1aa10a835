"""The answer of ``certify``."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any

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


# Column of a data frame -> what a row has that is counted in it.
_CELLS = {"gaps_filled": "gaps that were filled in", "unknown_words": "unknown words", "far": "numbers far outside"}


def meet(radius: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """True where two bounds differ by no more than one part in ten thousand, or both are infinite."""
    return (radius >= (1.0 - 1e-4) * upper) & (np.isfinite(upper) | np.isinf(radius))


def _stacked(parts: list):
    """The rows of several frames, or of several arrays, as one."""
    if not hasattr(parts[0], "iloc"):
        return np.concatenate(parts)
    from pandas import concat

    return concat(parts, ignore_index=True)


@dataclass(frozen=True)
class Certificate:
    """``radius ≤ smallest perturbation that changes the prediction ≤ upper``, row by row.

    Attributes
    ----------
    radius : ndarray of shape (n_rows,)
        Sound lower bound: no move shorter than this changes the prediction, rounding included.
    upper : ndarray of shape (n_rows,)
        Size of ``adversarial − x``, at which the model's own ``predict`` changes; infinite if no
        such point was found.
    adversarial : ndarray of shape (n_rows, n_features), or data frame
        That point; NaN where none was found. A frame of the user's columns where the model takes words or gaps.
    prediction : ndarray of shape (n_rows,)
        The model's prediction, which is certified.
    norm : str
        How moves are measured: ``"l2"``, ``"linf"``, ``"l1"`` or ``"ellipsoid"``.
    units : str
        Where moves are measured, in words.
    true : ndarray of shape (n_rows,) or None
        True labels, if they were given.
    at : float or None
        The size at which the verdict was asked for; None if the radius was.
    changes_at_no_cost : bool
        Whether categories may change at no cost: then a move of size 0 may change an answer.
    index : pandas index or None
        That of X, if it was a data frame.
    frozen : dict
        Column, by name or number, that no move changes -> why: "words", "no step reads it" or "by the threat".
    enumerated : dict
        Column that an encoder reads, and that the threat lets change -> the values that were tried.
    gaps_filled, unknown_words : int ndarrays of shape (n_rows,) or None
        Cells of each row that the model fills in, and cells with a value that its encoders were not fitted on: the
        certificate is about the row that the model makes of it. None where a model has nothing of the kind.
    far : bool ndarray of shape (n_rows,) or None
        Rows with a number far outside of the rows of training; None where their range is not known.
    budget_ended : ndarray of bool or None
        True where the budget ended the search: a larger one may tighten the bounds.
    """

    radius: np.ndarray
    upper: np.ndarray
    adversarial: np.ndarray
    prediction: np.ndarray
    norm: str
    units: str
    true: np.ndarray | None = None
    at: float | None = None
    changes_at_no_cost: bool = False
    index: Any = None
    frozen: dict[int | str, str] = field(default_factory=dict)
    enumerated: dict[int | str, tuple] = field(default_factory=dict)
    gaps_filled: np.ndarray | None = None
    unknown_words: np.ndarray | None = None
    far: np.ndarray | None = None
    budget_ended: np.ndarray | None = None

    @property
    def exact(self) -> np.ndarray:
        """True where the two bounds meet, to one part in ten thousand, or are both infinite."""
        return meet(self.radius, self.upper)

    @property
    def stable(self) -> np.ndarray:
        """The verdict at the size ``at``, an array of ``True``, ``False`` and ``None``.

        ``True``: proven, no move of size up to ``at`` changes the answer. ``False``: ``adversarial`` is such a move.
        ``None``: not decided; ``if`` and ``== True`` treat it as not stable, which is the safe side.
        In :meth:`to_frame` the column has pandas' nullable dtype ``boolean``.
        """
        if self.at is None:
            raise ValueError("stable is a verdict at one size: give certify that size, certify(..., at=0.1).")
        out = np.full(len(self), None, dtype=object)
        out[self.upper <= self.at] = False
        out[self._holds(self.radius, np.array([self.at]))[:, 0]] = True
        return out

    @classmethod
    def concatenate(cls, parts: Sequence["Certificate"]) -> "Certificate":
        """The certificates of one model for several batches of rows, as one.

        Parameters
        ----------
        parts : sequence of Certificate
            At least one; all with true labels, or none.
        """
        first = parts[0]
        rows = ("radius", "upper", "prediction", "true", *_CELLS, "budget_ended")
        joined: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts])
            for name in rows
            if getattr(first, name) is not None
        }
        index = None if first.index is None else first.index.append([part.index for part in parts[1:]])
        return replace(first, adversarial=_stacked([part.adversarial for part in parts]), index=index, **joined)

    def __len__(self) -> int:
        return self.radius.size

    def __repr__(self) -> str:
        finite = self.radius[np.isfinite(self.radius)]
        median = f"{np.median(finite):.4g}" if finite.size else "inf"
        if self.at is not None:
            verdicts = self.stable.tolist()
            stable, unstable, undecided = (verdicts.count(verdict) for verdict in (True, False, None))
            return (
                f"<Certificate of {len(self)} predictions at {self.norm} size {self.at:g} in {self.units}: "
                f"{stable} stable, {unstable} not, {undecided} undecided{self._remarks()}>"
            )
        return (
            f"<Certificate of {len(self)} predictions: median {self.norm} radius {median} in {self.units}, "
            f"{int(self.exact.sum())} exact{self._remarks()}>"
        )

    def _remarks(self) -> str:
        """Rows whose budget ended, columns that were frozen, rows with cells that the model was not fitted on."""
        ended = 0 if self.budget_ended is None else int(self.budget_ended.sum())
        out = [f", {ended} ended by the budget"] if ended else []
        out += [f"; {len(self.frozen)} column{'s' if len(self.frozen) > 1 else ''} frozen"] if self.frozen else []
        for name, what in _CELLS.items():
            count = 0 if getattr(self, name) is None else int((getattr(self, name) > 0).sum())
            out += [f"; {count} row{'s' if count > 1 else ''} with {what}"] if count else []
        return "".join(out)

    def certified_accuracy(self, y=None, radii=None) -> np.ndarray:
        """Share of rows that are right and stay so within each radius.

        Parameters
        ----------
        y : array-like of shape (n_rows,), optional
            True labels; by default those given to ``certify``.
        radii : float or array-like, optional
            Sizes of moves; by default the size given to ``certify(at=...)``.

        Returns
        -------
        ndarray of the shape of radii
        """
        return self._share(y, radii, self.radius)

    def attacked_accuracy(self, y=None, radii=None) -> np.ndarray:
        """Share of rows that are right and for which no change within each radius was found.

        Never below the certified accuracy; the truth lies between the two.
        """
        return self._share(y, radii, self.upper)

    def _share(self, y, radii, bound: np.ndarray) -> np.ndarray:
        y = self._labels(y)
        radii = self.at if radii is None else radii
        if radii is None:
            raise ValueError("radii is missing: give the radius, or radii, at which to compute the accuracy.")
        radii = np.asarray(radii, dtype=np.float64)
        if np.isnan(radii).any() or (radii < 0).any():
            raise ValueError("radii must be numbers of at least 0.")
        right = self.prediction == y
        holds = right[:, None] & self._holds(bound, radii.ravel())
        return holds.mean(axis=0).reshape(radii.shape)

    def _holds(self, bound: np.ndarray, radii: np.ndarray) -> np.ndarray:
        """True where a bound covers moves up to a radius, that size included: (n_rows, n_radii).

        A move of size 0 is no move, unless categories change at no cost.
        """
        return (bound[:, None] > radii) | ((radii == 0) & (not self.changes_at_no_cost))

    def _labels(self, y) -> np.ndarray:
        y = self.true if y is None else np.asarray(y)
        if y is None:
            raise ValueError("y is missing: give the true labels here, or to certify.")
        if y.shape != self.prediction.shape:
            raise ValueError(f"y must have shape {self.prediction.shape}; got {y.shape}.")
        return y

    def to_frame(self):
        """One row for each prediction, as a pandas data frame; with the index of X if X was a data frame.

        Its ``attrs`` have ``frozen``, the columns that were frozen and why, and ``enumerated``, the values that were
        tried of those that an encoder reads.
        """
        from pandas import DataFrame, array

        columns = {
            "prediction": self.prediction,
            "radius": self.radius,
            "upper": self.upper,
            "exact": self.exact,
        }
        if self.at is not None:
            columns["stable"] = array(self.stable, dtype="boolean")
        if self.budget_ended is not None:
            columns["budget_ended"] = self.budget_ended
        if self.true is not None:
            columns["true"] = self.true
            columns["correct"] = self.true == self.prediction
        columns |= {name: getattr(self, name) for name in _CELLS if getattr(self, name) is not None}
        frame = DataFrame(columns, index=self.index)
        frame.attrs |= {"frozen": dict(self.frozen), "enumerated": dict(self.enumerated)}
        return frame

    def accuracy_band(self, y=None, radii=None) -> AccuracyBand:
        """Certified and attacked accuracy at some radii; by default at 400, up to beyond the largest finite bound."""
        if radii is None:
            finite = np.concatenate([bound[np.isfinite(bound)] for bound in (self.radius, self.upper)])
            radii = np.linspace(0, 1.05 * finite.max() if finite.size else 1.0, 400)
        return AccuracyBand(np.asarray(radii), self.certified_accuracy(y, radii), self.attacked_accuracy(y, radii))

    def plot(self, y=None, ax=None):
        """Certified and attacked accuracy as the radius grows; the truth lies in the band between.

        Returns
        -------
        matplotlib axes
        """
        ax = axes_or_new(ax, "plot")
        self.accuracy_band(y).draw(ax, self.radius_label)
        return ax

    @property
    def radius_label(self) -> str:
        """The norm and units of the radius, in words."""
        return f"{self.norm} radius in {self.units}"
