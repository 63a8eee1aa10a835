"""Plausible answers: within the range of the data, and no farther from it than its rows are from each other."""

from dataclasses import dataclass, replace

import numpy as np
from sklearn.neighbors import NearestNeighbors
from sklearn.utils import check_array

from holdfast.certificates.folding import Encoding
from holdfast.certificates.moves import Moves
from holdfast.certificates.voting import NeighborVoter, Voter
from holdfast.certificates.voting.registry import inner_model

_SHARE = 0.95  # of the reference rows that are themselves this near to another one


@dataclass(frozen=True)
class NearData:
    """No farther from the nearest reference row than 95 % of these rows are from the nearest other one.

    Attributes
    ----------
    place : callable
        Rows as points between which the distance is Euclidean: that of the model, or that of the moves.
    search : NearestNeighbors
        Over the places of the reference rows.
    limit : float
    """

    place: object
    search: NearestNeighbors
    limit: float

    def accepts(self, points: np.ndarray) -> np.ndarray:
        """True for each point that is near enough."""
        if not len(points):
            return np.zeros(0, bool)
        return self.search.kneighbors(self.place(points), 1)[0][:, 0] <= self.limit  # type: ignore[operator]


def reference_rows(voter: Voter, reference) -> np.ndarray | None:
    """The rows of ``reference`` as the model takes them; else those it keeps, if no step comes before it."""
    if reference is not None:
        return voter.check_rows(reference[0])
    kept = getattr(inner_model(voter.model), "reference_", None)  # of holdfast's classifiers without steps before them
    return None if kept is None else check_array(kept, dtype=np.float64)


def near_data(voter: Voter, moves: Moves, rows: np.ndarray) -> NearData:
    """The limit of distance for some reference rows.

    The distance is the model's own if it votes by distance. A linear model has none: then it is that of the moves if
    these are Euclidean, and else the Euclidean distance in the units of the moves.
    """
    unit = 1.0 if moves.unit is None else moves.unit
    by_distance = isinstance(voter, NeighborVoter)

    def place(points: np.ndarray) -> np.ndarray:
        return voter.fold(points) if by_distance else points / unit

    places = place(rows)
    search = NearestNeighbors(n_neighbors=min(2, len(places))).fit(places)
    own = search.kneighbors(places)[0][:, -1]  # the nearest is the row itself, or one that equals it
    return NearData(place, search, float(np.quantile(own, _SHARE)))


def within_data(moves: Moves, rows: np.ndarray, encoding: Encoding) -> Moves:
    """The moves, confined to the range that each feature has in the reference rows; a row outside may stay there."""
    low, high = rows.min(axis=0), rows.max(axis=0)
    for j in encoding.gaps:  # rows have the number 0 in a gap
        known = rows[rows[:, encoding.gap(j)] == 0, j]
        low[j], high[j] = known.min(initial=np.inf), known.max(initial=-np.inf)
    if moves.lower is not None:
        low = np.maximum(low, moves.lower)
    if moves.upper is not None:
        high = np.minimum(high, moves.upper)
    return replace(moves, lower=low, upper=high)
