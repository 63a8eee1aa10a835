"""Distances of rows from the data, and their nearest training rows."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from holdfast.base.neighbors import nearest
from holdfast.models.base import VotingClassifier

_MAX_LEFT_OUT = 2_000  # training rows whose own distances are the yardstick
_USUAL = 0.999  # share of the training rows that are nearer to the others than the yardstick


@dataclass(frozen=True, eq=False)
class DataDistance:
    """``d(x) = min_j ‖(x − x_j)/s‖``, against the same of the training rows, each left out once.

    Attributes
    ----------
    distance : ndarray of shape (n_rows,)
        To the nearest training row, in standard deviations.
    usual : float
        What 99.9 % of the training rows have at most.
    """

    distance: np.ndarray
    usual: float

    @property
    def far(self) -> np.ndarray:
        """True for rows that are farther from the data than its own rows are from each other."""
        return self.distance > self.usual


def data_distance(train: np.ndarray, rows: np.ndarray, n_jobs: int | None = None) -> DataDistance:
    """The distances of rows to training rows, both in standard deviations."""
    picked = np.linspace(0, len(train) - 1, min(len(train), _MAX_LEFT_OUT)).astype(int)
    pairs = nearest(train, train[picked], min(2, len(train)), n_jobs)
    others = np.where(pairs[:, 0] == picked, pairs[:, -1], pairs[:, 0])
    left_out = np.linalg.norm(train[picked] - train[others], axis=1)
    distances = np.linalg.norm(rows - train[nearest(train, rows, 1, n_jobs)[:, 0]], axis=1)
    return DataDistance(distances, float(np.quantile(left_out, _USUAL, method="higher")))


def saved_data_distance(model, matrix: np.ndarray) -> DataDistance | None:
    """The same for a saved model that keeps its training rows behind a scaler; None if it does not."""
    if not (isinstance(model, Pipeline) and len(model) == 2 and isinstance(model[0], StandardScaler)):
        return None
    voter = model[-1]
    if not isinstance(voter, VotingClassifier) or voter.voters_per_row() > len(voter.reference_):
        return None
    scaled = (matrix - model[0].mean_) / model[0].scale_
    return data_distance(voter.reference_, scaled)


def voting_rows(model, matrix: np.ndarray) -> np.ndarray | None:
    """Positions, among the training rows, of the neighbours that vote on each row; None if no neighbours do."""
    last = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(last, VotingClassifier):
        return None
    rows = matrix
    if isinstance(model, Pipeline):
        for _, step in model.steps[:-1]:
            rows = step.transform(rows)
    L = last.components_
    return nearest(last.reference_ @ L.T, np.asarray(rows) @ L.T, last.voters_per_row(), last.n_jobs)


def column_ranges(X: np.ndarray) -> np.ndarray:
    """Largest minus smallest value of each column, gaps left out; 0 of a column that is empty."""
    there = np.isfinite(X)
    width = np.where(there, X, -np.inf).max(axis=0) - np.where(there, X, np.inf).min(axis=0)
    return np.where(there.any(axis=0), width, 0.0)


def filled(train: np.ndarray, rows: np.ndarray, words: Mapping[int, list]) -> tuple[np.ndarray, np.ndarray]:
    """Training rows and others with medians in place of gaps, and codes of words as indicators: 1 if they differ."""
    both = np.vstack([train, rows])
    gaps = np.isnan(both)
    if not gaps.any() and not words:
        return train, rows
    middle = [np.median(column[~gap]) if not gap.all() else 0.0 for column, gap in zip(both.T, gaps.T, strict=True)]
    both = np.where(gaps, middle, both)
    parts = [np.delete(both, list(words), axis=1)]
    parts += [(both[:, [k]] == np.arange(len(known))) * np.sqrt(0.5) for k, known in words.items()]
    together = np.hstack(parts)
    return together[: len(train)], together[len(train) :]


def extent(X: np.ndarray, scale: np.ndarray, frozen: np.ndarray) -> float:
    """The diagonal of the box around the rows, over what may move, in standard deviations: no two rows are farther."""
    movable = ~np.asarray(frozen, dtype=bool)
    reach = column_ranges(X) / scale
    return float(np.linalg.norm(reach[movable])) if movable.any() else 0.0
