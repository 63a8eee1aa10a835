"""The answer to "how far may this input move?", for many rows at once."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from holdfast.certificates.accuracy_band import AccuracyBand, axes_or_new


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
        return cls(
            np.concatenate([part.radius for part in parts]),
            np.concatenate([part.upper for part in parts]),
            _stacked([part.adversarial for part in parts]),
            np.concatenate([part.prediction for part in parts]),
            first.norm,
            first.units,
            None if first.true is None else np.concatenate([part.true for part in parts]),
            first.at,
            first.changes_at_no_cost,
            None if first.index is None else first.index.append([part.index for part in parts[1:]]),
            None if first.budget_ended is None else np.concatenate([part.budget_ended for part in parts]),
        )

    def __len__(self) -> int:
        return self.radius.size

    def __repr__(self) -> str:
        finite = self.radius[np.isfinite(self.radius)]
        median = f"{np.median(finite):.4g}" if finite.size else "inf"
        if self.at is not None:
            verdicts = self.stable.tolist()
            stable, changes, open_ = (verdicts.count(verdict) for verdict in (True, False, None))
            return (
                f"<Certificate of {len(self)} predictions at {self.norm} size {self.at:g} in {self.units}: "
                f"{stable} stable, {changes} not, {open_} undecided{self._ended()}>"
            )
        return (
            f"<Certificate of {len(self)} predictions: median {self.norm} radius {median} in {self.units}, "
            f"{int(self.exact.sum())} exact{self._ended()}>"
        )

    def _ended(self) -> str:
        """In how many rows the budget ended the search; nothing if in none."""
        count = 0 if self.budget_ended is None else int(self.budget_ended.sum())
        return f", {count} ended by the budget" if count else ""

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
        """One row for each prediction, as a pandas data frame; with the index of X if X was a data frame."""
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
        return DataFrame(columns, index=self.index)

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
