"""A fitted model as its own ``predict`` and as a vote behind foldable steps."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from holdfast.affine import Affine
from holdfast.certificates.folding import Fold
from holdfast.certificates.problems import Problem
from holdfast.certificates.threat import Moves
from holdfast.numerics.frames import with_names


@dataclass(frozen=True)
class Voter(ABC):
    """A fitted model whose answer is decided by rows ``a · δ ≥ c``.

    Attributes
    ----------
    model : estimator
        Takes the rows of the user.
    fold : Fold
        From an input row to the space of the vote.
    classes : ndarray
        The labels that class codes stand for.
    n_features : int
        Of an input row.
    """

    model: Any
    fold: Fold
    classes: np.ndarray
    n_features: int

    @property
    def feature_names(self) -> Sequence[str] | None:
        """The columns the model was fitted on, if they had names."""
        return getattr(self.model, "feature_names_in_", None)

    def check_rows(self, X) -> np.ndarray:
        """Rows as float64; other columns than the model's, by name or number, are refused as ``predict`` does."""
        if hasattr(self.model, "n_features_in_"):
            validate_data(self.model, X, reset=False, skip_check_array=True)
        rows = check_array(X, dtype=np.float64, input_name="X")
        if rows.shape[1] != self.n_features:
            raise ValueError(f"X has {rows.shape[1]} features, but the model takes {self.n_features}.")
        return rows

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Class codes of the model's own predictions.

        The model gets a copy: scalers with ``copy=False`` write into their input.
        """
        return np.searchsorted(self.classes, self.model.predict(with_names(rows.copy(), self.model)))

    def same_as_given(self, X, codes: np.ndarray) -> np.ndarray:
        """Whether the model says of X in single precision what it says of the same numbers in double precision.

        Scalers compute in the precision of their input; a certificate is one of the rows in double precision.
        """
        dtypes = list(getattr(X, "dtypes", [getattr(X, "dtype", None)]))
        if not any(str(dtype).lower() in ("float16", "float32") for dtype in dtypes):
            return np.ones(len(codes), bool)
        return np.searchsorted(self.classes, self.model.predict(X)) == codes

    @abstractmethod
    def problem(self, map_: Affine, moves: Moves) -> Problem:
        """The vote, for inputs that ``map_`` takes to the space of the vote."""

    @abstractmethod
    def opponents(self, queries: np.ndarray, codes: np.ndarray, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Places in the space of the vote where another class should win, a few for each query; NaN where none is."""
