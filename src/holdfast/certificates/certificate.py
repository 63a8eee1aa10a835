"""The answer to "how far may this input move?", for many rows at once."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from holdfast.certificates.accuracy_band import AccuracyBand, axes_or_new


def meet(radius: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """True where two bounds differ by no more than the allowance for rounding."""
    return (radius >= (1.0 - 1e-4) * upper) & (np.isfinite(upper) | np.isinf(radius))


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
    adversarial : ndarray of shape (n_rows, n_features)
        That point; NaN where none was found.
    prediction : ndarray of shape (n_rows,)
        What is certified: the model's prediction.
    norm : str
        How moves are measured: ``"l2"``, ``"linf"``, ``"l1"`` or ``"ellipsoid"``.
    units : str
        Where moves are measured, in words.
    true : ndarray of shape (n_rows,) or None
        True labels, if they were given.
    """

    radius: np.ndarray
    upper: np.ndarray
    adversarial: np.ndarray
    prediction: np.ndarray
    norm: str
    units: str
    true: np.ndarray | None = None

    @property
    def exact(self) -> np.ndarray:
        """True where the two bounds meet, to one part in ten thousand, or are both infinite."""
        return meet(self.radius, self.upper)

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
            np.concatenate([part.adversarial for part in parts]),
            np.concatenate([part.prediction for part in parts]),
            first.norm,
            first.units,
            None if first.true is None else np.concatenate([part.true for part in parts]),
        )

    def __len__(self) -> int:
        return self.radius.size

    def __repr__(self) -> str:
        finite = self.radius[np.isfinite(self.radius)]
        median = f"{np.median(finite):.4g}" if finite.size else "inf"
        return (
            f"<Certificate of {len(self)} predictions: median {self.norm} radius {median} in {self.units}, "
            f"{int(self.exact.sum())} exact>"
        )

    def certified_accuracy(self, y=None, radii=None) -> np.ndarray:
        """Share of rows that are right and stay so within each radius.

        Parameters
        ----------
        y : array-like of shape (n_rows,), optional
            True labels; by default those given to ``certify``.
        radii : float or array-like
            Where to look.

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
        if radii is None:
            raise ValueError("radii is missing: give the radius, or radii, at which to compute the accuracy.")
        radii = np.asarray(radii, dtype=np.float64)
        if np.isnan(radii).any() or (radii < 0).any():
            raise ValueError("radii must be numbers of at least 0.")
        right = self.prediction == y
        # A move of exactly the radius is covered too: nothing shorter than `bound` changes the answer.
        holds = right[:, None] & ((bound[:, None] > radii.ravel()) | (radii.ravel() == 0))
        return holds.mean(axis=0).reshape(radii.shape)

    def _labels(self, y) -> np.ndarray:
        y = self.true if y is None else np.asarray(y)
        if y is None:
            raise ValueError("y is missing: give the true labels here, or to certify.")
        if y.shape != self.prediction.shape:
            raise ValueError(f"y must have shape {self.prediction.shape}; got {y.shape}.")
        return y

    def to_frame(self):
        """One row a prediction, as a pandas data frame."""
        from pandas import DataFrame

        columns = {
            "prediction": self.prediction,
            "radius": self.radius,
            "upper": self.upper,
            "exact": self.exact,
        }
        if self.true is not None:
            columns["true"] = self.true
            columns["correct"] = self.true == self.prediction
        return DataFrame(columns)

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
        """How the radius is measured, in words."""
        return f"{self.norm} radius in {self.units}"
