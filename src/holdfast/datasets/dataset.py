"""A set of labelled rows, and its origin."""

import hashlib
from dataclasses import dataclass, field, replace

import numpy as np

from holdfast.datasets.reading import Reading


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows X, their labels y, and names for both.

    Attributes
    ----------
    name : str
    X : ndarray of shape (n_rows, n_features), or pandas data frame
        Raw values; NaN is a missing one. A data frame if it was read from a table, whose columns may hold
        categories.
    y : ndarray of shape (n_rows,)
    feature_names : list of str
    target_name : str
        Name of y.
    target_names : list of str
        Names of the classes, in the order of ``numpy.unique(y)``.
    description, source : str
    train_idx, test_idx : ndarrays of int or None
        The customary split, if there is one.
    notes : list of str
        Changes made to the values, in sentences.
    row_numbers : ndarray of int or None
        Number of each row in the user's table, from 1, the header not counted; None if it is its position.
    row_ids : ndarray or None
        Names of the rows, if they have names.
    reading : Reading or None
        How the file was read; None if there was no file.
    """

    name: str
    X: np.ndarray
    y: np.ndarray
    feature_names: list[str]
    target_name: str = "class"
    target_names: list[str] = field(default_factory=list)
    description: str = ""
    source: str = ""
    train_idx: np.ndarray | None = None
    test_idx: np.ndarray | None = None
    notes: list[str] = field(default_factory=list)
    row_numbers: np.ndarray | None = None
    row_ids: np.ndarray | None = None
    reading: Reading | None = None

    @property
    def digest(self) -> str:
        """SHA-256 of names, values and labels; the same values give the same digest wherever they are read."""
        sha = hashlib.sha256("\0".join([*self.feature_names, self.target_name]).encode())
        if isinstance(self.X, np.ndarray):
            sha.update(np.ascontiguousarray(self.X, dtype=np.float64).tobytes())
        else:
            for name in self.X.columns:
                column = self.X[name]
                values = column.to_numpy()
                if values.dtype.kind in "iuf":
                    sha.update(values.astype(np.float64).tobytes())
                else:
                    sha.update("\0".join(map(str, values.tolist())).encode())
        sha.update("\0".join(map(str, self.y.tolist())).encode())
        return sha.hexdigest()

    @property
    def labels(self) -> np.ndarray:
        """y with the names of the classes, if they have names: "malignant" for 0.

        A name may repeat its class: "2=benign" is benign, for the class 2. No other "=" is touched: it is part of
        the name, as in "<=50K".
        """
        classes, codes = np.unique(self.y, return_inverse=True)
        if len(self.target_names) != len(classes):
            return self.y
        names = [name.removeprefix(f"{c}=") for name, c in zip(self.target_names, classes, strict=True)]
        if len(set(names)) != len(classes) or names == [str(c) for c in classes]:
            return self.y
        return np.array(names)[codes]

    @property
    def frame(self):
        """X as a data frame."""
        if not isinstance(self.X, np.ndarray):
            return self.X
        from pandas import DataFrame

        return DataFrame(self.X, columns=self.feature_names)

    def select(self, kept: np.ndarray, note: str) -> "Dataset":
        """The rows of a mask, and one note more.

        Parameters
        ----------
        kept : ndarray of bool
        note : str
        """
        numbers = np.arange(1, len(self.y) + 1) if self.row_numbers is None else self.row_numbers
        return replace(
            self,
            X=self.X[kept],
            y=self.y[kept],
            row_numbers=numbers[kept],
            row_ids=None if self.row_ids is None else self.row_ids[kept],
            notes=[*self.notes, note],
        )

    def __repr__(self) -> str:
        n, p = self.X.shape
        return f"<Dataset {self.name}: {n} rows, {p} features, {len(np.unique(self.y))} classes; {self.source}>"
