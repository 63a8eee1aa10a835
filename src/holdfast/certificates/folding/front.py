"""The front of a model: encodes the user's rows as the numbers that certificates are computed for."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.utils import check_array
from sklearn.utils.validation import validate_data

from holdfast.certificates.folding.encoding import Encoding
from holdfast.certificates.folding.fold import Fold
from holdfast.certificates.folding.steps import does_nothing
from holdfast.numerics.frames import with_names

_AGREE = 1e-9  # of the magnitudes behind a number: as for single steps in holdfast.affine


@dataclass(frozen=True)
class Front:
    """Encodes and decodes rows, and checks that the steps transform them as the fold does.

    Attributes
    ----------
    model : estimator
        Its columns are those that rows must have.
    steps : sequence
        The fitted steps before the classifier.
    fold : Fold
        The same steps as one map of encoded rows.
    """

    model: Any
    steps: Sequence
    fold: Fold

    @property
    def encoding(self) -> Encoding:
        """The encoding of the user's rows as numbers."""
        assert self.fold.encoding is not None
        return self.fold.encoding

    def encode(self, X, input_name: str = "X") -> np.ndarray:
        """Rows as float64; other columns than the model's, by name or number, are refused as ``predict`` does."""
        if hasattr(self.model, "n_features_in_"):
            validate_data(self.model, X, reset=False, skip_check_array=True)
        if self.encoding.keeps_rows:
            try:
                return check_array(X, dtype=np.float64, input_name=input_name)
            except ValueError as error:
                if not str(error).startswith("could not convert"):
                    raise
                raise ValueError(f"{input_name} holds words, but the model takes numbers only ({error}).") from None
        if np.ndim(X) != 2 or len(X) == 0:
            raise ValueError(f"{input_name} must be a table with at least one row; got shape {np.shape(X)}.")
        if np.shape(X)[1] != self.encoding.n_columns:
            raise ValueError(
                f"{input_name} has {np.shape(X)[1]} features, but the model takes {self.encoding.n_columns}."
            )
        rows = self.encoding.encode(X)
        self._check(X, rows, input_name)
        return rows

    def decode(self, rows: np.ndarray, X=None):
        """Encoded rows as the model takes them; ``X``, where given, has the words that no step knows.

        A copy: scalers with ``copy=False`` write into their input.
        """
        if self.encoding.keeps_rows:
            return with_names(rows.copy(), self.model)
        return self.encoding.decode(rows, X)

    def _check(self, X, rows: np.ndarray, input_name: str) -> None:
        """Refuse rows for which the steps' own ``transform`` differs from the fold's image of the encoded rows."""
        Z = X
        for step in self.steps:
            Z = Z if does_nothing(step) else step.transform(Z)
        Z = np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=np.float64)
        expected = self.fold(rows)
        wrong = np.ones(len(rows), bool)
        if Z.shape == expected.shape:
            allowed = _AGREE * self.fold.sizes(rows)[:, None]
            if self.encoding.warps:
                allowed = allowed + self.encoding.blur(rows) @ self.fold.before.absolute.T
            wrong = ~(np.abs(Z - expected) <= allowed).all(axis=1)
        if wrong.any():
            raise ValueError(
                f"The steps before the classifier make something else of row {int(np.argmax(wrong))} of {input_name} "
                "than their fitted attributes say, so the model cannot be certified: are all rows in the types, and in "
                "the precision, that the model was fitted on?"
            )
