"""Tables of numbers and categories; numbers may change, categories are on file."""

import os
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler

# Categories, counted after the class; as the published splits have them.
CATEGORIES = {
    "wdbc": (),
    "german": (0, 2, 3, 5, 6, 8, 10, 12, 13, 15, 17, 18, 19),
    "compas": (1, 2, 7, 8),
    "adult_half": (1, 3, 5, 6, 7, 8, 9, 13),
}
TRAIN = 2000  # rows at most: the peers take minutes with more
MODELS = {
    "knn1": lambda: make_pipeline(MinMaxScaler(), KNeighborsClassifier(1)),
    "knn5": lambda: make_pipeline(MinMaxScaler(), KNeighborsClassifier(5)),
    "logistic": lambda: make_pipeline(MinMaxScaler(), LogisticRegression(max_iter=2000)),
}


@dataclass(frozen=True)
class Split:
    """Encoded rows.

    Attributes
    ----------
    train, test : ndarrays of shapes (n, d) and (m, d)
    labels : ndarray of shape (n,)
    numbers : bool ndarray of shape (d,)
        The columns that are numbers; the others are categories, one-hot.
    """

    train: np.ndarray
    labels: np.ndarray
    test: np.ndarray
    numbers: np.ndarray


def load(name: str, rows: int) -> Split:
    """A split, with so many test rows."""
    folder = Path(os.environ["HOLDFAST_DATA"])
    if name == "wdbc":
        with np.load(folder / "wdbc.npz", allow_pickle=False) as file:
            X, y = file["X"], file["y"]
        order = np.random.default_rng(0).permutation(len(X))
        frame, y, n = pd.DataFrame(X[order]), y[order], 400
    else:
        parts = [name] if name == "adult_half" else [f"{name}_train", f"{name}_test"]
        frames = [pd.read_csv(folder / "knn_linf" / f"{part}.csv.gz", header=None) for part in parts]
        n = 10_040 if name == "adult_half" else len(frames[0])
        whole = pd.concat(frames, ignore_index=True)
        y, frame = whole[0].to_numpy(), whole.drop(columns=0)
        frame.columns = range(frame.shape[1])
    encoded = pd.get_dummies(frame, columns=list(CATEGORIES[name]), dtype=float).astype(float)
    numbers = np.array([not isinstance(column, str) for column in encoded.columns])
    X, y = encoded.to_numpy(), np.unique(y, return_inverse=True)[1]  # NICE takes class k for column k of predict_proba
    return Split(X[: min(n, TRAIN)], y[: min(n, TRAIN)], X[n : n + rows], numbers)
