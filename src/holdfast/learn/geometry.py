"""Three numbers per triplet under a metric M, and the gradient in M from derivatives in these numbers.

From top to bottom: how rows lie in memory; blocks of anchors that fit the cache of a core; products of the points with
small matrices; loops over index pairs; and :class:`TripletGeometry`, which is all that others use.
"""

from collections.abc import Callable
from functools import reduce
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np
from scipy.linalg.lapack import dpotrf

from holdfast._core.geometry import degrees, half_laplacian, pair_forms, pair_squares, scatter, scatter_some, take
from holdfast.base.blocks import Workers, balanced, blocks, count_blocks, n_threads
from holdfast.learn.supervision import Pairs, Triplets, group

_LINE = 8  # float64 numbers in a cache line of 64 bytes
_NARROW = 4  # rows of at most half a line are not padded: it would double the memory read
_FITS = 2**22  # bytes of rows that fit the cache of a core, or nearly, so that their order does not matter
_CELL = 1000  # rows in a cell, about: their order within it does not matter
# Triplets in a block: six arrays of them (a, b, h and their derivatives), 1.5 MB, fit the cache of a core.
_TRIPLETS_PER_BLOCK = 32768
_SLABS = 4  # slabs of columns that a product with a triangular matrix is cut into
Result = TypeVar("Result")
# Nanoseconds an evaluation must take to gain from threads: waking them costs a tenth of a millisecond, several
# times, and what one core has in its cache the other has to fetch. Shorter work is one block.
_WORTH_THREADS = 2_500_000
# Nanoseconds, as measured: of a multiplication in a matrix product, of a feature of a pair (forwards and backwards,
# or one of the two), and of a triplet.
_PRODUCT, _PAIR, _PAIR_ONE_WAY, _TRIPLET = 0.08, 0.4, 0.2, 10.0
_LANES = 8  # groups of blocks with sums of their own, so that threads never write to the same memory


def padded_rows(n: int, width: int) -> np.ndarray:
    """Zeros of shape (n, width), aligned to a cache line; rows wider than half a line are padded to whole lines.

    >>> rows = padded_rows(5, 23)
    >>> rows.shape, rows.ctypes.data % 64
    ((5, 24), 0)
    """
    width = width if width <= _NARROW else -(-width // _LINE) * _LINE
    memory = np.zeros(n * width + _LINE)
    start = -(memory.ctypes.data // memory.itemsize) % _LINE
    return memory[start : start + n * width].reshape(n, width)


def padded(A: np.ndarray) -> np.ndarray:
    """A copy of A with columns of zeros added, so that its rows are whole cache lines."""
    out = padded_rows(*A.shape)
    out[:, : A.shape[1]] = A
    return out


def cache_friendly_order(X: np.ndarray) -> np.ndarray | None:
    """An order of the rows in which neighbouring points mostly lie close in memory: halved at the median along one
    principal axis after the other, down to cells of about a thousand. None if all fit the cache.

    >>> X = np.random.default_rng(0).normal(size=(40_000, 20))
    >>> order = cache_friendly_order(X)
    >>> bool(np.abs(np.diff(X[order], axis=0)).mean() < np.abs(np.diff(X, axis=0)).mean())
    True
    >>> cache_friendly_order(X[:1000]) is None
    True
    """
    n, p = X.shape
    if X.nbytes <= _FITS:
        return None
    depth = min(int(np.log2(n / _CELL)), p) if n > _CELL else 0
    centred = X - X.mean(axis=0)
    _, V = np.linalg.eigh(centred.T @ centred)
    cell = np.zeros(n, np.int64)
    for values in (centred @ V[:, : -depth - 1 : -1]).T:
        order = np.lexsort((values, cell))
        cells = cell[order]
        first, last = (np.searchsorted(cells, cells, side) for side in ("left", "right"))
        cell[order] = 2 * cells + (2 * (np.arange(n) - first) >= last - first)
    return np.argsort(cell, kind="stable")


class AnchorBlock(NamedTuple):
    """A range of anchors, with the ranges of the pairs, triplets and members of S that belong to them."""

    anchors: slice
    pairs: slice
    triplets: slice
    targets: slice


def anchor_blocks(triplets: Triplets) -> list[AnchorBlock]:
    """Cut the anchors into blocks with nearly equal numbers of triplets, at most about 32,768 each."""
    rows = balanced(triplets.indptr, -(-len(triplets) // _TRIPLETS_PER_BLOCK))
    edges = np.array([0] + [part.stop for part in rows])
    of_triplets = triplets.indptr[edges]
    of_targets = np.searchsorted(triplets.targets, of_triplets)
    cuts = np.column_stack([edges, triplets.pairs.indptr[edges], of_triplets, of_targets]).tolist()
    return [AnchorBlock(*map(slice, start, stop)) for start, stop in pairwise(cuts)]


def _times(U: np.ndarray, A: np.ndarray, out: np.ndarray) -> tuple[np.ndarray, ...]:
    """The product ``out = U A``, to be computed: U, A padded with zeros to the widths of U and out, and out."""
    padded_A = np.zeros((U.shape[1], out.shape[1]))
    padded_A[: A.shape[0], : A.shape[1]] = A
    return U, padded_A, out


def _times_triangle(U: np.ndarray, R: np.ndarray, out: np.ndarray) -> list[tuple[np.ndarray, ...]]:
    """The product ``out = U Rᵀ`` with an upper triangle R, in slabs of columns that begin at multiples of 8; a slab
    needs no column of U before its own.
    """
    width = out.shape[1]
    starts = sorted({width * slab // (8 * _SLABS) * 8 for slab in range(_SLABS)})
    return [_times(U[:, a:], R[a:b, a:].T, out[:, a:b]) for a, b in pairwise([*starts, width])]


class PairLoop:
    """Arrays for ``Z ↦ ‖z_i − z_j‖²`` and ``w ↦ Σ w_ij (x_i − x_j)(x_i − x_j)ᵀ = Xᵀ Lap(w) X`` over one set of pairs.
    Lap(w) is their graph Laplacian, with degrees, sums of weights, on its diagonal; ``lanes`` are ranges of pairs with
    degrees of their own, so that threads never write to the same memory.
    """

    def __init__(self, pairs: Pairs, width: int, n_blocks: int, lanes: list[slice]):
        self.pairs, self.lanes = pairs, lanes
        self.form, self.weight = np.empty((2, len(pairs)))  # squared lengths last computed; w, which the caller fills
        # Ranges of points. A point costs its pairs, plus its own row, which is weighed as width/4 pairs.
        self.blocks = balanced(pairs.indptr + width // 4 * np.arange(pairs.indptr.size), n_blocks)
        self.degrees = np.empty((len(lanes), pairs.n_samples))
        self.degree = self.degrees[0]

    def add_degrees(self, lane: int) -> None:
        """Sum, for every point, the weights of its pairs in one lane."""
        part = self.lanes[lane]
        degrees(self.pairs.first, self.pairs.second, self.weight, self.degrees[lane], part.start, part.stop)

    def half_sum(self, X: np.ndarray, buffer: np.ndarray, rows: slice) -> np.ndarray:
        """The share of the points ``rows`` in H, where ``H + Hᵀ = Xᵀ Lap(weight) X``; ``buffer`` is overwritten."""
        pairs = self.pairs
        half_laplacian(pairs.indptr, pairs.second, self.weight, self.degree, X, buffer, rows.start, rows.stop)
        return X[rows].T @ buffer[rows]


def sums_of_squares(workers: Workers, X: np.ndarray, p: int, loops, buffers) -> list[np.ndarray]:
    """``S(w) = Σ w_ij (x_i − x_j)(x_i − x_j)ᵀ`` over the pairs of each loop, whose lanes have their degrees; (p, p)."""
    for loop in loops:
        loop.degree = loop.degrees.sum(axis=0)
    jobs = [(loop, V, rows) for loop, V in zip(loops, buffers, strict=True) for rows in loop.blocks]
    halves = workers.map(lambda job: job[0].half_sum(X, job[1], job[2]), jobs)
    sums = []
    for loop in loops:
        half = reduce(np.add, halves[: len(loop.blocks)])[:p, :p]
        halves = halves[len(loop.blocks) :]
        sums.append(half + half.T)
    return sums


def scatters(X: np.ndarray, triplets: Triplets, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The means over R of ``X_ij`` and of ``X_il``, where ``X_ij = (x_i − x_j)(x_i − x_j)ᵀ``, of centred points."""
    (n, p), t = X.shape, triplets
    cut = _Cut(n, p, t, len(t.pairs))
    loop, X = cut.loop(t.pairs, cut.spans), padded(X)
    buffer, share = padded_rows(n, p), np.full(len(t), 1.0 / len(t))
    found = []
    with Workers(1 if cut.small else n_threads(n_jobs)) as workers:
        for positions in (t.ij, t.il):
            loop.weight[:] = 0.0
            scatter(positions, share, 1.0, loop.weight)
            workers.map(loop.add_degrees, range(len(loop.lanes)))
            found += sums_of_squares(workers, X, p, [loop], [buffer])
    return found[0], found[1]


class _Cut:
    """How the work on n points and their triplets is cut; it depends on the problem alone, not on threads."""

    def __init__(self, n: int, p: int, triplets: Triplets, n_pairs: int):
        self.p, self.product = p, _PRODUCT * n * p * p
        self.small = 2 * self.product + _PAIR * n_pairs * p + _TRIPLET * len(triplets) <= _WORTH_THREADS
        self.n_lanes = 1 if self.small else _LANES
        anchors = anchor_blocks(triplets)
        self.lanes = [anchors[lane] for lane in blocks(len(anchors), min(self.n_lanes, len(anchors)))]
        self.spans = [slice(lane[0].pairs.start, lane[-1].pairs.stop) for lane in self.lanes]  # of the pairs of lanes

    def loop(self, pairs: Pairs, lanes: list[slice]) -> PairLoop:
        """The loop over some pairs."""
        work = self.product + _PAIR_ONE_WAY * len(pairs) * self.p
        return PairLoop(pairs, self.p, 1 if self.small else count_blocks(work), lanes)


class TripletGeometry:
    """``a = d²_M(x_i, x_j)``, ``b = d²_M(x_i, x_l)``, ``h = (x_j − x_l)ᵀ M B M (x_j − x_l)``, and the gradient in M.

    With ``M = RᵀR`` and ``B = C Cᵀ`` each is ``‖z_i − z_j‖²`` of a de-duplicated pair, ``Z = X Rᵀ`` for a and b, and
    ``X M C`` for h. Backwards, derivatives are summed per pair into weights w (w_h for h), and the gradient is
    ``S(w) + S(w_h) M B + B M S(w_h)`` with ``S(w) = Σ w_ij (x_i − x_j)(x_i − x_j)ᵀ = Xᵀ Lap(w) X``: no array is both
    as long as the pairs and as wide as the points.

    An evaluation is ``measure(M)``, ``sweep(task)``, ``gradient_in_metric()``: a task reads the ``numbers`` of a block
    of anchors and hands their derivatives to ``collect``, while both are in the cache.
    """

    def __init__(self, X, triplets: Triplets, B=None, with_slope: bool = True, n_jobs=None):
        self.triplets, self.B = triplets, B
        n, p = X.shape
        self._X = padded(X - X.mean(axis=0))  # rows padded with zeros to whole cache lines, as in _Z, _Y, _YC below
        self.X = self._X[:, :p]
        cut = _Cut(n, p, triplets, len(triplets.pairs) + (len(triplets.slope_pairs) if with_slope else 0))
        self.workers = Workers(1 if cut.small else n_threads(n_jobs))
        self._rows = blocks(n, 1 if cut.small else count_blocks(cut.product))
        self.targets = triplets.ij[triplets.targets]  # S, as positions among the pairs
        self._lanes = cut.lanes
        self.blocks = [block for lane in cut.lanes for block in lane]
        self._distance, self._slope = cut.loop(triplets.pairs, cut.spans), None
        if with_slope:
            self._slope = cut.loop(triplets.slope_pairs, blocks(len(triplets.slope_pairs), cut.n_lanes))
            self._dh = np.zeros(len(triplets))
            # For each lane of slope pairs, the triplets that refer to a pair in it.
            sizes = [span.stop - span.start for span in self._slope.lanes]
            self._referring = group(np.repeat(np.arange(cut.n_lanes, dtype=np.int32), sizes)[triplets.jl], cut.n_lanes)
        self._M, self._definite = np.eye(p), True
        self._C = None if B is None else _square_root(B)
        # Forwards X Rᵀ, X M and X M C; backwards _Z and _Y are buffers of the sums of squares.
        self._Z = padded_rows(n, p)
        self._Y = padded_rows(n, p) if with_slope else self._Z
        self._YC = self._Y if self._C is None else padded_rows(n, self._C.shape[1])

    # -- forward --------------------------------------------------------------------------------

    def measure(self, M: np.ndarray) -> None:
        """Set M; precompute the products ``X Rᵀ``, ``X M`` and ``X M C``, and h of all slope pairs."""
        R, singular = dpotrf(M, lower=0, clean=1)
        self._M, self._definite = M, not singular  # a trial point of a solver need not be positive definite
        products = []
        if self._slope is not None or singular:
            products.append(_times(self._X, M, self._Y))
        if self._slope is not None and self._C is not None:
            products.append(_times(self._Y, self._C, self._YC))
        if not singular:
            products += _times_triangle(self._X, R, self._Z)

        def multiply(rows: slice) -> None:
            for U, A, out in products:
                np.matmul(U[rows], A, out=out[rows])

        self.workers.map(multiply, self._rows)
        if self._slope is not None:
            pairs, form = self._slope.pairs, self._slope.form

            def square(rows: slice) -> None:
                pair_squares(self._YC, pairs.indptr, pairs.second, form, rows.start, rows.stop)

            self.workers.map(square, self._slope.blocks)

    def distances(self, block: AnchorBlock) -> np.ndarray:
        """Compute ``d²_M`` of the pairs of a block; returns the array of all pairs."""
        form, pairs = self._distance.form, self._distance.pairs
        if self._definite:
            pair_squares(self._Z, pairs.indptr, pairs.second, form, block.anchors.start, block.anchors.stop)
        else:
            pair_forms(self._X, self._Y, pairs.first, pairs.second, form, block.pairs.start, block.pairs.stop)
        return form

    def numbers(self, block: AnchorBlock) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
        """``a, b, h`` of the triplets of a block (h is None without slope), and a of its members (i, j) of S."""
        distance, t = self.distances(block), self.triplets
        a, b = _taken(distance, t.ij, block.triplets), _taken(distance, t.il, block.triplets)
        h = None if self._slope is None else _taken(self._slope.form, t.jl, block.triplets)
        return a, b, h, _taken(distance, self.targets, block.targets)

    def three_numbers(self, M: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """``a, b, h``, each of shape (n_triplets,)."""
        self.measure(M)
        a, b, h, _ = zip(*self.workers.map(self.numbers, self.blocks), strict=True)
        return np.concatenate(a), np.concatenate(b), None if self._slope is None else np.concatenate(h)

    def largest_distance(self, M: np.ndarray) -> float:
        """The largest ``d²_M`` of a pair (i, j) or (i, l)."""
        self.measure(M)
        return max(float(self.distances(block)[block.pairs].max(initial=0.0)) for block in self.blocks)

    # -- backward: from partials per triplet to weights per pair to gradients ---------------------

    def sweep(self, task: Callable[[AnchorBlock], Result]) -> list[Result]:
        """``task(block)`` for every block; the derivatives collected before are cleared first."""

        def run_lane(lane: int) -> list[Result]:
            results = []
            for block in self._lanes[lane]:
                self._distance.weight[block.pairs] = 0.0
                if self._slope is not None:
                    self._dh[block.triplets] = 0.0
                results.append(task(block))
            self._distance.add_degrees(lane)
            return results

        return [result for lane in self.workers.map(run_lane, range(len(self._lanes))) for result in lane]

    def collect(self, block: AnchorBlock, factor: float, da=None, db=None, dh=None, ds=None) -> None:
        """Add ``factor`` times the derivatives by a, b, h per triplet of a block, and by a per member of S (``ds``)."""
        t, weight = self.triplets, self._distance.weight
        if da is not None:
            scatter(t.ij[block.triplets], da, factor, weight)
        if db is not None:
            scatter(t.il[block.triplets], db, factor, weight)
        if ds is not None:
            scatter(self.targets[block.targets], ds, factor, weight)
        if dh is not None:
            self._dh[block.triplets] += factor * dh

    def gradient_in_metric(self) -> np.ndarray:
        """``S(w) + S(w_h) M B + B M S(w_h)`` of the derivatives collected, at the M last measured."""
        p, slope = len(self._M), self._slope
        if slope is None:
            return sums_of_squares(self.workers, self._X, p, [self._distance], [self._Z])[0]
        starts, order = self._referring

        def run_lane(lane: int) -> None:  # the derivatives by h, per slope pair and per point
            slope.weight[slope.lanes[lane]] = 0.0
            scatter_some(order, self.triplets.jl, self._dh, slope.weight, starts[lane], starts[lane + 1])
            slope.add_degrees(lane)

        self.workers.map(run_lane, range(len(slope.lanes)))
        G, S_h = sums_of_squares(self.workers, self._X, p, [self._distance, slope], [self._Z, self._Y])
        G_h = S_h @ (self._M if self.B is None else self._M @ self.B)
        G += G_h + G_h.T
        return G

    def close(self) -> None:
        """End the threads."""
        self.workers.close()

    @property
    def degree(self) -> np.ndarray:
        """Sum, for every point, of the weights of its pairs (i, j) and (i, l) in the gradient last computed."""
        return self._distance.degree


def _taken(values: np.ndarray, positions: np.ndarray, part: slice) -> np.ndarray:
    """``values[positions[part]]``, without the GIL."""
    out = np.empty(part.stop - part.start)
    take(values, positions, out, part.start, part.stop)
    return out


def _square_root(B: np.ndarray) -> np.ndarray:
    """C with ``C Cᵀ = B``, as narrow as the rank of B."""
    values, V = np.linalg.eigh(B)
    keep = values > 1e-14 * max(values.max(), 0.0)
    return np.ascontiguousarray(V[:, keep] * np.sqrt(values[keep]))
