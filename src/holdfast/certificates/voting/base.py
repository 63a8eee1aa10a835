"""A fitted model, as its own ``predict`` and as a vote that follows foldable steps."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np

from holdfast.affine import Affine
from holdfast.certificates.folding import Encoding, Fold, Front
from holdfast.certificates.problems import Problem
from holdfast.certificates.threat import Moves
from holdfast.numerics.frames import precisions, with_names


@dataclass(frozen=True)
class Voter(ABC):
    """A fitted model whose answer is decided by rows ``a · δ ≥ c``.

    Attributes
    ----------
    model : estimator
        Takes the rows of the user: the object that is certified itself, not what a search or a wrapper has inside.
    fold : Fold
        From an input row to the space of the vote.
    classes : ndarray
        The labels that class codes stand for.
    n_features : int
        Of an encoded row.
    front : Front or None
        Encodes the user's rows; None: the rows are numbers, taken as they are.
    """

    model: Any
    fold: Fold
    classes: np.ndarray
    n_features: int
    front: Front | None = field(default=None, kw_only=True)

    @property
    def encoding(self) -> Encoding:
        """How the user's rows become rows of numbers."""
        return Encoding(self.n_features, self.feature_names) if self.front is None else self.front.encoding

    @property
    def feature_names(self) -> Sequence[str] | None:
        """The columns the model was fitted on, if they had names."""
        return getattr(self.model if self.front is None else self.front.model, "feature_names_in_", None)

    @property
    def categories(self) -> dict[str | int, range]:
        """Columns of categories, by name or number, and the coordinates of an encoded row that stand for their values.

        The last coordinate of each stands for every value that the model does not know.
        """
        return {self.encoding.label(j): at for j, at in self.encoding.indicators.items()}

    def check_rows(self, X) -> np.ndarray:
        """Rows as float64, encoded; other columns than the model's are refused as ``predict`` does."""
        front = self.front or Front(self.model, (), replace(self.fold, encoding=self.encoding))
        rows = front.encode(X)
        if rows.shape[1] != self.n_features:
            raise ValueError(f"X has {rows.shape[1]} features, but the model takes {self.n_features}.")
        return rows

    def as_given(self, rows: np.ndarray, X):
        """Encoded rows as rows of the kind of X: a frame of its columns if it has words or gaps, else an array."""
        if self.encoding.keeps_rows:
            return rows
        decoded = self.encoding.decode(rows, X)
        return decoded.set_axis(X.index, axis=0) if hasattr(decoded, "iloc") and hasattr(X, "iloc") else decoded

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Class codes of the model's own predictions.

        The model gets a copy: scalers with ``copy=False`` write into their input.
        """
        X = with_names(rows.copy(), self.model) if self.front is None else self.front.decode(rows)
        return np.searchsorted(self.classes, self.model.predict(X))

    def same_as_given(self, X, codes: np.ndarray) -> np.ndarray:
        """True for each row of X for which the model predicts ``codes``, its predictions in double precision.

        Scalers compute in the precision of their input; a certificate is about the rows in double precision.
        """
        if set(precisions(X)) <= {"float64"}:
            return np.ones(len(codes), bool)
        return np.searchsorted(self.classes, self.model.predict(X)) == codes

    @abstractmethod
    def problem(self, map_: Affine, moves: Moves) -> Problem:
        """The vote, for inputs that ``map_`` takes to the space of the vote."""

    @abstractmethod
    def opponents(self, queries: np.ndarray, codes: np.ndarray, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Places in the space of the vote where another class should win, a few for each query; NaN where none is."""
