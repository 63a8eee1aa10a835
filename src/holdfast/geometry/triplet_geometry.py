"""Three numbers per triplet under a metric, and the gradient in the metric from derivatives in these numbers."""

from collections.abc import Callable
from functools import reduce
from typing import TypeVar

import numpy as np
from scipy.linalg.lapack import dpotrf

from holdfast.constraints import Triplets
from holdfast.constraints.indexing import group
from holdfast.geometry.anchor_blocks import AnchorBlock, anchor_blocks
from holdfast.geometry.kernels import scatter, scatter_some, take
from holdfast.geometry.layout import padded, padded_rows
from holdfast.geometry.pair_loop import PairLoop
from holdfast.geometry.products import Product, triangular
from holdfast.numerics.threads import Workers, blocks, n_threads, pieces

Result = TypeVar("Result")

# Nanoseconds an evaluation must take to gain from threads: waking them costs a tenth of a millisecond, several
# times, and what one core has in its cache the other has to fetch. Shorter work is one block.
_WORTH_THREADS = 2_500_000
# Nanoseconds, as measured: of a multiplication in a matrix product, of a feature of a pair (forwards and backwards,
# or one of the two), and of a triplet.
_PRODUCT, _PAIR, _PAIR_ONE_WAY, _TRIPLET = 0.08, 0.4, 0.2, 10.0
_LANES = 8  # groups of blocks with sums of their own, so that threads never write to the same memory


class TripletGeometry:
    """``a, b, h`` of all triplets under a metric M, and the gradient in M from the derivatives by them.

    For a triplet (i, j, l)::

        a = d²_M(x_i, x_j)
        b = d²_M(x_i, x_l)
        h = (x_j − x_l)ᵀ M B M (x_j − x_l)

    With ``M = RᵀR`` and ``B = C Cᵀ`` each is the squared length ``‖z_i − z_j‖²`` of a de-duplicated index pair:
    ``Z = X Rᵀ`` for a and b, ``Z = X M C`` for h. Backwards, the partial derivatives are summed per pair into weights w
    (w_h for h), and the gradient is

        Σ ∂a X_ij + ∂b X_il + ∂h (X_jl M B + B M X_jl) = S(w) + S(w_h) M B + B M S(w_h),

    where ``X_ij = (x_i − x_j)(x_i − x_j)ᵀ`` and ``S(w) = Xᵀ Lap(w) X`` is the sum of ``w_ij X_ij`` over pairs, so that
    no array is both as long as the pairs and as wide as the points. Points are centred first, since only differences
    count. Arrays are kept and overwritten by every call: large ones cost more to allocate than to fill.

    An evaluation is three calls: ``measure(M)``; then ``sweep(task)``, which runs a task on every block of anchors;
    then ``gradient_in_metric()``. The task reads the ``numbers`` of its block and hands their derivatives to
    ``collect``, while both are in the cache.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float64, C order
    triplets : Triplets
    B : ndarray of shape (n_features, n_features) or None
        Inverse shape of the perturbation, positive semi-definite; None is the identity.
    with_slope : bool
        Compute h; without it, the pairs {j, l} are never made.
    n_jobs : int or None
        Threads; see :func:`~holdfast.numerics.threads.n_threads`. No result depends on it: how the work is cut, and
        with it the order of sums, depends on the problem alone.

    Attributes
    ----------
    X : ndarray of shape (n_samples, n_features)
        The points, centred.
    triplets : Triplets
    blocks : list of AnchorBlock
        The anchors, cut so that the triplets of a block fit the cache.
    """

    def __init__(self, X, triplets: Triplets, B=None, with_slope: bool = True, n_jobs=None):
        self.triplets, self.B = triplets, B
        n, p = X.shape
        self._X = padded(X - X.mean(axis=0))  # rows padded with zeros to whole cache lines, as in _Z, _Y, _YC below
        self.X = self._X[:, :p]
        n_pairs = len(triplets.pairs) + (len(triplets.slope_pairs) if with_slope else 0)
        product = _PRODUCT * n * p * p
        small = 2 * product + _PAIR * n_pairs * p + _TRIPLET * len(triplets) <= _WORTH_THREADS
        self.workers = Workers(1 if small else n_threads(n_jobs))
        self._rows = blocks(n, 1 if small else pieces(product))

        def loop(pairs, lanes: list[slice]) -> PairLoop:
            return PairLoop(pairs, p, 1 if small else pieces(product + _PAIR_ONE_WAY * len(pairs) * p), lanes)

        self.targets = triplets.ij[triplets.targets]  # S, as places among the pairs
        self.blocks = anchor_blocks(triplets)
        n_lanes = 1 if small else _LANES
        self._lanes = [self.blocks[lane] for lane in blocks(len(self.blocks), min(n_lanes, len(self.blocks)))]
        spans = [slice(lane[0].pairs.start, lane[-1].pairs.stop) for lane in self._lanes]
        self._distance, self._slope = loop(triplets.pairs, spans), None
        if with_slope:
            self._slope = loop(triplets.slope_pairs, blocks(len(triplets.slope_pairs), n_lanes))
            self._dh = np.zeros(len(triplets))
            # For each lane of slope pairs, the triplets that refer to a pair in it.
            sizes = [span.stop - span.start for span in self._slope.lanes]
            self._referring = group(np.repeat(np.arange(n_lanes, dtype=np.int32), sizes)[triplets.jl], n_lanes)
        self._loops = [loop for loop in (self._distance, self._slope) if loop is not None]
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
            products.append(Product(self._X, M, self._Y))
        if self._slope is not None and self._C is not None:
            products.append(Product(self._Y, self._C, self._YC))
        if not singular:
            products += triangular(self._X, R, self._Z)

        def multiply(rows: slice) -> None:
            for product in products:
                product(rows)

        self.workers.map(multiply, self._rows)
        if (slope := self._slope) is not None:
            self.workers.map(lambda rows: slope.squares(self._YC, rows), slope.blocks)

    def distances(self, block: AnchorBlock) -> np.ndarray:
        """Compute ``d²_M`` of the pairs of a block; returns the array of all pairs."""
        if self._definite:
            return self._distance.squares(self._Z, block.anchors)
        return self._distance.forms(self._X, self._Y, block.pairs)

    def numbers(self, block: AnchorBlock) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
        """``a, b, h`` of the triplets of a block (h is None without slope), and a of its members (i, j) of S."""
        distance, t = self.distances(block), self.triplets

        def per_triplet(values: np.ndarray, places: np.ndarray) -> np.ndarray:
            return take(values, places, block.triplets.start, block.triplets.stop)

        h = None if self._slope is None else per_triplet(self._slope.form, t.jl)
        a_of_S = take(distance, self.targets, block.targets.start, block.targets.stop)
        return per_triplet(distance, t.ij), per_triplet(distance, t.il), h, a_of_S

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
            self._distance.accumulate_degrees(lane)
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

    def collect_all(self, da=None, db=None, dh=None) -> None:
        """Clear, then collect the derivatives of all triplets, arrays of shape (n_triplets,)."""
        partials = (da, db, dh)
        self.sweep(
            lambda block: self.collect(block, 1.0, *(None if d is None else d[block.triplets] for d in partials))
        )

    def gradient_in_metric(self) -> np.ndarray:
        """``S(w) + S(w_h) M B + B M S(w_h)`` of the derivatives collected, at the M last measured."""
        self._accumulate_weights()
        G, *of_slopes = self._sums_of_squares(self._loops)  # S(w), and S(w_h) if there is h
        for S_h in of_slopes:
            G_h = S_h @ self._MB
            G += G_h + G_h.T
        return G

    def scatters(self) -> tuple[np.ndarray, np.ndarray]:
        """The means over R of ``X_ij`` and of ``X_il``."""
        share = np.full(len(self.triplets), 1.0 / len(self.triplets))
        found = []
        for partials in ((share, None), (None, share)):
            self.collect_all(*partials)
            self._distance.sum_degrees()
            found.append(self._sums_of_squares([self._distance])[0])
        return found[0], found[1]

    def close(self) -> None:
        """End the threads."""
        self.workers.close()

    @property
    def degree(self) -> np.ndarray:
        """Sum, for every point, of the weights of its pairs (i, j) and (i, l) in the gradient last computed."""
        return self._distance.degree

    @property
    def _MB(self) -> np.ndarray:
        return self._M if self.B is None else self._M @ self.B

    def _accumulate_weights(self) -> None:
        """Sum the derivatives by h per slope pair, and the weights per point, for the Laplacians."""
        if (slope := self._slope) is not None:
            starts, order = self._referring

            def run_lane(lane: int) -> None:
                slope.weight[slope.lanes[lane]] = 0.0
                scatter_some(order, self.triplets.jl, self._dh, slope.weight, starts[lane], starts[lane + 1])
                slope.accumulate_degrees(lane)

            self.workers.map(run_lane, range(len(slope.lanes)))
        for loop in self._loops:
            loop.sum_degrees()

    def _sums_of_squares(self, loops: list[PairLoop]) -> list[np.ndarray]:
        """``S(w) = Σ w_ij (x_i − x_j)(x_i − x_j)ᵀ`` over the pairs of each loop."""
        buffers = (self._Z, self._Y)
        jobs = [(loop, V, rows) for loop, V in zip(loops, buffers, strict=False) for rows in loop.blocks]
        found = iter(self.workers.map(lambda job: job[0].half_sum(self._X, job[1], job[2]), jobs))
        p = self.X.shape[1]
        halves = [reduce(np.add, (next(found) for _ in loop.blocks))[:p, :p] for loop in loops]
        return [half + half.T for half in halves]


def _square_root(B: np.ndarray) -> np.ndarray:
    """C with ``C Cᵀ = B``, as narrow as the rank of B."""
    values, V = np.linalg.eigh(B)
    keep = values > 1e-14 * max(values.max(), 0.0)
    return np.ascontiguousarray(V[:, keep] * np.sqrt(values[keep]))
