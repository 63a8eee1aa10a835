"""Unweighted votes of the nearest points: holdfast's classifiers (neighbours and prototypes)."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np

from holdfast.affine import Affine
from holdfast.base.neighbors import nearest_by_class
from holdfast.certificates.folding import Fold
from holdfast.certificates.moves import Moves
from holdfast.certificates.problems import NeighborProblem
from holdfast.certificates.voting.base import Voter

_OPPONENTS = 5  # points of other classes a row is walked towards
_SMALLEST, _LARGEST = 1e-140, 1e150  # sizes whose squares float64 holds, sums and errors included


@runtime_checkable
class VotesByDistance(Protocol):
    """A fitted classifier that lets the nearest of its reference points vote, under ``components_``."""

    components_: np.ndarray
    reference_: np.ndarray
    reference_codes_: np.ndarray
    classes_: np.ndarray

    def voters_per_row(self) -> int:
        """k."""

    def validate(self) -> None:
        """Raise ``ValueError`` unless shapes, ranges and counts of these attributes agree."""

    def predict(self, X) -> np.ndarray:
        """The class that wins the vote, for each row."""

    def _vote(self, X) -> np.ndarray:
        """The same function as ``predict``; in a subclass that overrides ``predict`` the two differ."""


@dataclass(frozen=True)
class NeighborVoter(Voter):
    """The k nearest of some points vote.

    Attributes
    ----------
    points, codes : ndarrays of shapes (n, r) and (n,)
        The points in the space of the vote, and their class codes.
    n_neighbors : int
    ties : str
        Which class wins equal votes; see NeighborProblem.
    shared : bool
        Whether these are the points of the model itself, and not the reference rows mapped here.
    scale : float
        ``max ‖ |W| |x_j| ‖`` over reference rows x_j that were mapped here, whose rounding the model's own may
        not share.
    """

    points: np.ndarray
    codes: np.ndarray
    n_neighbors: int
    ties: str
    shared: bool = True
    scale: float = 0.0

    def problem(self, map_: Affine, moves: Moves) -> NeighborProblem:
        """The vote, for inputs that ``map_`` takes to the points."""
        largest = float(np.abs(self.points).max(initial=0.0))
        if not (largest == 0.0 or _SMALLEST < largest < _LARGEST):
            raise ValueError(
                f"The model compares squares of distances between points of size {largest:.3g}, which over- or "
                "underflow: this cannot be certified. Put a scaler before the model, or give the data other units."
            )
        return NeighborProblem(
            points=self.points,
            labels=self.codes,
            T=map_.W,
            n_neighbors=self.n_neighbors,
            moves=moves,
            n_classes=len(self.classes),
            ties=self.ties,
            scale=map_.scale + self.scale,
            absolute=map_.absolute,
            n_steps=map_.n_steps,
            n_terms=map_.n_terms,
            shared=self.shared,
        )

    def opponents(self, queries: np.ndarray, codes: np.ndarray, n_jobs: int | None) -> Iterator[np.ndarray]:
        """The nearest points of other classes, and the place twice as far away as the nearest."""
        return nearest_opponents(self.points, self.codes, queries, codes, n_jobs)


def nearest_opponents(points, labels, queries: np.ndarray, codes: np.ndarray, n_jobs) -> Iterator[np.ndarray]:
    """The nearest points of other classes, and the place twice as far away as the nearest; NaN where there is none."""
    _, other = nearest_by_class(points, labels, 1, _OPPONENTS, n_jobs, (queries, codes))
    for column, reach in [*((c, 1.0) for c in other.T), (other[:, 0], 2.0)]:
        place = queries + reach * (points[np.maximum(column, 0)] - queries)
        place[column < 0] = np.nan
        yield place


def votes_by_distance(last) -> bool:
    """True if the nearest points decide, and no subclass has replaced ``predict``."""
    return isinstance(last, VotesByDistance) and getattr(type(last), "_vote", None) is type(last).predict


def read_votes_by_distance(model, last: VotesByDistance, steps: Fold, n_features: int, reference) -> NeighborVoter:
    """One of holdfast's classifiers."""
    last.validate()
    points = last.reference_ @ last.components_.T
    chain = steps.then(Affine.step(last.components_))
    k = last.voters_per_row()
    return NeighborVoter(model, chain, last.classes_, n_features, points, last.reference_codes_, k, "nearest")
