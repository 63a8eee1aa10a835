"""A set of labelled rows, and its origin."""

import hashlib
from dataclasses import dataclass, field

import numpy as np


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

    def __repr__(self) -> str:
        n, p = self.X.shape
        return f"<Dataset {self.name}: {n} rows, {p} features, {len(np.unique(self.y))} classes; {self.source}>"
