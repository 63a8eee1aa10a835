"""Exact nearest neighbours of the same class and of the other classes, in one pass over the points."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from holdfast._core.geometry import rank_rows, scan
from holdfast._core.halfspace import squared_distances
from holdfast.base.blocks import Workers, n_threads, single_threaded_blas

_TILE_ROWS, _TILE_COLUMNS = 256, 1024  # one tile of distances: 1 MB a thread, in single precision
_SPARE = 4  # neighbours found beyond those wanted, because tiles of distances round
_COARSE = 1e-3  # median error / median squared norm of a query, above which single precision is not tried
_FEW = 1 << 20  # distances: for so few, single precision saves less time than compiling its kernel takes


def nearest_by_class(
    X: np.ndarray,
    y: np.ndarray,
    n_same: int,
    n_other: int,
    n_jobs: int | None = None,
    queries: tuple[np.ndarray, np.ndarray] | None = None,
    anchors: np.ndarray | None = None,
) -> tuple[np.ndarray, np.ndarray]:
    """The nearest points of each row's own class, and of the other classes: indices (n_queries, n_same or n_other),
    nearest first, ties to the smaller index, -1 where there are no more. ``anchors`` are rows of X to search for, in
    place of all; ``queries`` other points with class codes. No row is its own neighbour.
    """
    (_, same), (_, other) = ranked_by_class(X, y, n_same, n_other, n_jobs, queries, anchors)
    return same, other


def ranked_by_class(
    X: np.ndarray,
    y: np.ndarray,
    n_same: int,
    n_other: int,
    n_jobs: int | None = None,
    queries: tuple[np.ndarray, np.ndarray] | None = None,
    anchors: np.ndarray | None = None,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """:func:`nearest_by_class` with squared distances ``Σ (x − z)²``. A few more than wanted are found in single
    precision (among few points in double); where rounding leaves the order ambiguous the query is searched again in
    double, then by brute force.
    """
    search = _Search(X, y, queries, anchors)
    wanted = (n_same, n_other)
    m = len(search.queries)
    found = [_Neighbours.empty(m, k) for k in wanted]
    rows = np.arange(m)  # queries that are still ambiguous
    few = m * len(X) <= _FEW
    methods: list[tuple[Callable[..., list[_Neighbours]], type | None, int]] = [
        (search.by_tiles, np.float64 if few else np.float32, _SPARE),
        (search.by_tiles, np.float64, 8 * _SPARE),
        (search.brute_force, None, 0),
    ]
    for method, precision, spare in methods[1 if not few and search.single_is_too_coarse() else 0 :]:
        candidates = method(rows, [k + spare for k in wanted], precision, n_jobs)
        for near, new, k in zip(found, candidates, wanted, strict=True):
            near.index[rows], near.distance[rows] = new.index[:, :k], new.distance[:, :k]
        rows = rows[np.any([new.ambiguous(k) for new, k in zip(candidates, wanted, strict=True)], axis=0)]
        if rows.size == 0:
            break
    return [(near.distance, near.index) for near in found]


def nearest(points: np.ndarray, queries: np.ndarray, k: int, n_jobs: int | None = None) -> np.ndarray:
    """The k nearest points of each query by ``Σ (u − z)²``, nearest first, of equals the one that comes first."""
    of_points, of_queries = (np.zeros(len(A), np.int64) for A in (points, queries))  # all of one class
    same, _ = nearest_by_class(points, of_points, k, 1, n_jobs, (queries, of_queries))
    return same


@dataclass
class _Neighbours:
    """Nearest points found for some queries: ``index`` and ``distance`` (their d²) are (n_queries, n_found), sorted."""

    index: np.ndarray  # -1 where there are no more
    distance: np.ndarray
    excluded_min: np.ndarray  # (n_queries,): a lower bound on the d² of every point that is not in the list

    @classmethod
    def empty(cls, m: int, k: int, dtype: type = np.float64) -> "_Neighbours":
        """Empty lists for k neighbours of m queries."""
        return cls(np.full((m, k), -1, np.int32), np.full((m, k), np.inf, dtype), np.full(m, np.inf))

    def ambiguous(self, k: int) -> np.ndarray:
        """True for each query of which an excluded point may be one of the k nearest."""
        return (self.distance[:, k - 1] >= self.excluded_min) & np.isfinite(self.excluded_min)


class _Search:
    """Searches by tiles of ``‖z‖² − 2 xᵀz`` of centred points, in single or double precision, and by brute force.
    Points are in the order of their classes, so that a class is one range of columns, and brought to norms of at most
    1.
    """

    def __init__(self, X: np.ndarray, y: np.ndarray, queries, anchors):
        n, p = X.shape
        self._X = X
        self._order = np.argsort(y, kind="stable").astype(np.int32)
        position = np.empty(n, np.int64)  # of each point among the columns
        position[self._order] = np.arange(n)
        if queries is not None:
            self.queries, labels = queries
            own = np.full(len(self.queries), -1)  # the column of a query's own point, if it is one
        elif anchors is not None:
            self.queries, labels, own = X[anchors], y[anchors], position[anchors]
        else:
            self.queries, labels, own = X, y, position
        first, last = (np.searchsorted(y[self._order], labels, side) for side in ("left", "right"))
        self._ranges = np.stack([first, last, own])
        centre = X.mean(axis=0)
        self._columns = (X if (y[1:] >= y[:-1]).all() else X[self._order]) - centre  # in order already: a copy less
        self._centred = self.queries - centre
        largest = max(max(A.max(initial=0.0), -A.min(initial=0.0)) for A in (self._columns, self._centred))
        self._unit = largest * np.sqrt(p) or 1.0
        self._columns /= self._unit
        self._centred /= self._unit
        self._norms = np.einsum("np,np->n", self._centred, self._centred)  # ‖x‖²

    def single_is_too_coarse(self) -> bool:
        """True if points differ so much in size that single precision would leave most queries ambiguous."""
        errors = self._errors(np.float32)
        return bool(errors.size and np.median(errors) > _COARSE * np.median(self._norms))

    def _errors(self, precision: type) -> np.ndarray:
        """Bound on the error of ``‖z‖² − 2 xᵀz`` in a tile, for each query: (p + 3)ω of ``2 ‖x‖ + 1``, for p + 1
        products of rounded factors (3ω) and p additions (pω), ω half the machine epsilon; 8 for terms in ω², twice for
        ``‖z‖²`` and ``‖x‖²``.
        """
        return 2.0 * (self._columns.shape[1] + 8) * (np.finfo(precision).eps / 2) * (2.0 * np.sqrt(self._norms) + 1.0)

    def by_tiles(self, rows: np.ndarray, counts: list[int], precision: type, n_jobs: int | None) -> list[_Neighbours]:
        """The nearest ``counts`` points of each kind for some queries, by tiles of this precision."""
        (n, p), m = self._columns.shape, len(rows)
        # One product for both summands: (x, 1)·(−2z, ‖z‖²).
        Q, Z = np.ones((m, p + 1), precision), np.empty((n, p + 1), precision)
        Q[:, :p] = _take_rows(self._centred, rows)
        np.multiply(self._columns, -2.0, out=Z[:, :p], casting="same_kind")
        Z[:, p] = np.einsum("np,np->n", self._columns, self._columns)
        found = [_Neighbours.empty(m, k, precision) for k in counts]
        ranges = self._ranges[:, rows]

        def block(queries: slice) -> None:
            lists = [array[queries] for near in found for array in (near.distance, near.index)]
            size = queries.stop - queries.start
            buffer = np.empty(size * min(_TILE_COLUMNS, n), precision)
            for start in range(0, n, _TILE_COLUMNS):
                part = slice(start, min(start + _TILE_COLUMNS, n))
                width = part.stop - start
                tile = np.matmul(Q[queries], Z[part].T, out=buffer[: size * width].reshape(size, width))
                scan(tile, self._order[part], start, *(row[queries] for row in ranges), *lists)

        with single_threaded_blas():
            _in_blocks(block, m, n_jobs)
        least = self._norms[rows] - self._errors(precision)[rows]
        for near in found:
            near.excluded_min = (near.distance[:, -1] + least) * self._unit * self._unit
        return self._ranked(found, rows, n_jobs)

    def brute_force(
        self, rows: np.ndarray, counts: list[int], precision: None, n_jobs: int | None
    ) -> list[_Neighbours]:
        """The same, by ``Σ (x − z)²`` of all points."""
        found = [_Neighbours.empty(len(rows), k) for k in counts]
        ranges, points, queries = self._ranges[:, rows], self._X[self._order], self.queries[rows]

        def block(part: slice) -> None:
            tile = np.empty((1, len(points)))
            for q in range(part.start, part.stop):
                one = slice(q, q + 1)
                squared_distances(points, queries[q], tile[0])
                lists = [array[one] for near in found for array in (near.distance, near.index)]
                scan(tile, self._order, 0, *(row[one] for row in ranges), *lists)

        _in_blocks(block, len(rows), n_jobs)
        return self._ranked(found, rows, n_jobs)

    def _ranked(self, found: list[_Neighbours], rows: np.ndarray, n_jobs: int | None) -> list[_Neighbours]:
        """The neighbours found, with their d², nearest first."""
        queries = _take_rows(self.queries, rows)
        for near in found:
            near.distance = np.empty(near.index.shape)

        def block(part: slice) -> None:
            for near in found:
                rank_rows(self._X, queries[part], near.index[part], near.distance[part])

        _in_blocks(block, len(rows), n_jobs if len(rows) > 4 * _TILE_ROWS else 1)
        return found


def _take_rows(A: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """``A[rows]`` for ascending rows; A itself, not a copy, if these are all rows."""
    return A if len(rows) == len(A) else A[rows]


def _in_blocks(task, m: int, n_jobs: int | None) -> None:
    """Run ``task`` on slices of ``range(m)``, over threads."""
    parts = [slice(start, min(start + _TILE_ROWS, m)) for start in range(0, m, _TILE_ROWS)]
    with Workers(min(n_threads(n_jobs), len(parts))) as workers:
        workers.map(task, parts)
