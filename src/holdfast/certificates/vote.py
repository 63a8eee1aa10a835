"""A fitted model, as its own ``predict`` and as a vote that follows foldable steps."""

from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from holdfast.base.affine import AffineMap
from holdfast.base.inputs import precisions, with_names
from holdfast.base.neighbors import nearest_by_class
from holdfast.certificates.chain import Chain
from holdfast.certificates.columns import Encoding
from holdfast.certificates.moves import Moves
from holdfast.certificates.pipelines import Front
from holdfast.certificates.questions import NeighborProblem, Problem


@dataclass(frozen=True)
class Voter(ABC):
    """A fitted model whose answer is decided by rows ``a · δ ≥ c``.

    Attributes
    ----------
    model : estimator
        Takes the rows of the user: the object that is certified itself, not what a search or a wrapper has inside.
    chain : Chain
        From an input row to the space of the vote.
    classes : ndarray
        The labels that class codes stand for.
    n_features : int
        Of an encoded row.
    front : Front or None
        Encodes the user's rows; None: the rows are numbers, taken as they are.
    """

    model: Any
    chain: Chain
    classes: np.ndarray
    n_features: int
    front: Front | None = field(default=None, kw_only=True)

    @property
    def encoding(self) -> Encoding:
        """How the user's rows become rows of numbers."""
        return Encoding(self.n_features, self.feature_names) if self.front is None else self.front.encoding

    @property
    def columns(self) -> Encoding:
        """The columns as a threat needs to know them: with those that are encoded and read as numbers too."""
        columns = self.encoding
        twice = frozenset(j for j in columns.categories if self.chain.reads(j))
        return replace(columns, also_numbers=twice) if twice else columns

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
        front = self.front or Front(self.model, (), self.encoding, self.chain)
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
    def problem(self, map_: AffineMap, moves: Moves) -> Problem:
        """The vote, for inputs that ``map_`` takes to the space of the vote."""

    @abstractmethod
    def opponents(self, queries: np.ndarray, codes: np.ndarray, n_jobs: int | None) -> Iterator[np.ndarray]:
        """Places in the space of the vote where another class should win, a few for each query; NaN where none is."""


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

    def problem(self, map_: AffineMap, moves: Moves) -> NeighborProblem:
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


def read_votes_by_distance(model, last: VotesByDistance, steps: Chain, n_features: int, reference) -> NeighborVoter:
    """One of holdfast's classifiers."""
    last.validate()
    points = last.reference_ @ last.components_.T
    chain = steps.then(AffineMap.step(last.components_))
    k = last.voters_per_row()
    return NeighborVoter(model, chain, last.classes_, n_features, points, last.reference_codes_, k, "nearest")
