"""Three numbers per triplet, and the way back: the one seam between losses and matrices."""

from collections.abc import Callable
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from scipy.linalg.lapack import dpotrf

from holdfast.constraints import Triplets
from holdfast.constraints.indexing import group
from holdfast.geometry.kernels import scatter, scatter_some, take
from holdfast.geometry.layout import padded, padded_rows
from holdfast.geometry.pair_loop import PairLoop
from holdfast.geometry.products import Product, triangular
from holdfast.threads import Workers, balanced, blocks, n_threads, pieces

# Nanoseconds an evaluation must take to gain from threads: waking them costs a tenth of a millisecond, several
# times, and what one core has in its cache the other has to fetch. What takes less is one block.
_WORTH_THREADS = 2_500_000
_FIT_CACHE = 32768  # triplets whose arrays fit the cache of a core
_LANES = 8  # of anchors, and of slope pairs: each has sums of its own, so that none waits for another


class Part(NamedTuple):
    """Some anchors with all that stands under them: ranges of points, pairs, triplets, and of S."""

    anchors: slice
    pairs: slice
    triplets: slice
    targets: slice


class TripletGeometry:
    """``a, b, h`` of all triplets under a metric, and the gradients that partials in them stand for.

    For a triplet (i, j, l)::

        a = d²_M(x_i, x_j)
        b = d²_M(x_i, x_l)
        h = (x_j − x_l)ᵀ M B M (x_j − x_l)

    With ``M = RᵀR`` and ``B = C Cᵀ`` each is the squared length ``‖z_i − z_j‖²`` of a de-duplicated index pair:
    ``Z = X Rᵀ`` for a and b, ``Z = X M C`` for h. Backwards, partials are summed per pair into weights, and

        Σ ∂a X_ij + ∂b X_il + ∂h (X_jl M B + B M X_jl) = S(w) + S(w_h) M B + B M S(w_h),

    where ``S(w) = Xᵀ Lap(w) X`` is the sum of ``w_ij (x_i − x_j)(x_i − x_j)ᵀ`` over pairs: nothing longer than the
    pairs is as wide as the points. Points are centred first, since only differences count. Arrays are kept and
    written anew by every call: large ones cost more to allocate than to fill.

    ``measure(M)`` comes first. Then ``sweep`` goes through the anchors, part by part: a part is given its ``numbers``,
    and has the partials it makes of them ``collect``-ed, while all of it is in the cache. Last comes a gradient.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float64, C order
    triplets : Triplets
    B : ndarray of shape (n_features, n_features) or None
        Inverse shape of the perturbation, positive semi-definite; None is the identity.
    with_slope : bool
        Whether h is wanted; if not, its pairs are never looked at.
    n_jobs : int or None
        Threads; see :func:`holdfast.threads.n_threads`. No result depends on it: how the work is cut, and with it
        the order of sums, depends on the problem alone.
    """

    def __init__(self, X, triplets: Triplets, B=None, with_slope: bool = True, n_jobs=None):
        self.triplets, self.B = triplets, B
        n, p = X.shape
        self._X = padded(X - X.mean(axis=0))  # with columns of zeros, as everything below that is as long
        self.X = self._X[:, :p]
        n_pairs = len(triplets.pairs) + (len(triplets.slope_pairs) if with_slope else 0)
        product = 0.08 * n * p * p  # nanoseconds, as measured
        small = 2 * product + 0.4 * n_pairs * p + 10.0 * len(triplets) <= _WORTH_THREADS
        self.workers = Workers(1 if small else n_threads(n_jobs))
        self._rows = blocks(n, 1 if small else pieces(product))

        def loop(pairs, lanes: list[slice]) -> PairLoop:
            return PairLoop(pairs, p, 1 if small else pieces(product + 0.2 * len(pairs) * p), lanes)

        self.targets = triplets.ij[triplets.targets]
        self.parts = _parts(triplets)
        n_lanes = 1 if small else _LANES
        self._lanes = [self.parts[lane] for lane in blocks(len(self.parts), min(n_lanes, len(self.parts)))]
        spans = [slice(lane[0].pairs.start, lane[-1].pairs.stop) for lane in self._lanes]
        self._distance, self._slope = loop(triplets.pairs, spans), None
        if with_slope:
            self._slope = loop(triplets.slope_pairs, blocks(len(triplets.slope_pairs), n_lanes))
            self._dh = np.zeros(len(triplets))
            # Of each lane of slope pairs, the triplets that refer to it.
            sizes = [span.stop - span.start for span in self._slope.lanes]
            self._referring = group(np.repeat(np.arange(n_lanes, dtype=np.int8), sizes)[triplets.jl], n_lanes)
        self._loops = [loop for loop in (self._distance, self._slope) if loop is not None]
        self._M, self._definite = np.eye(p), True
        self._C = None if B is None else _square_root(B)
        self._Z = padded_rows(n, p)  # forwards Z, backwards half a Laplacian
        self._Y = padded_rows(n, p) if with_slope else self._Z
        self._YC = self._Y if self._C is None else padded_rows(n, self._C.shape[1])

    # -- forward --------------------------------------------------------------------------------

    def measure(self, M: np.ndarray) -> None:
        """Turn to M: all that the numbers are made of."""
        R, singular = dpotrf(M, lower=0, clean=1)
        self._M, self._definite = M, not singular  # at a point a solver tries, M may not even be semi-definite
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

    def distances(self, part: Part) -> np.ndarray:
        """``d²_M`` of the pairs of a part, in an array that has room for all pairs."""
        if self._definite:
            return self._distance.squares(self._Z, part.anchors)
        return self._distance.forms(self._X, self._Y, part.pairs)

    def numbers(self, part: Part) -> tuple[np.ndarray, np.ndarray, np.ndarray | None, np.ndarray]:
        """``a, b, h`` of the triplets of a part (None for h unless wanted), and a of its distinct pairs (i, j)."""
        distance, t = self.distances(part), self.triplets

        def of_triplets(values: np.ndarray, places: np.ndarray) -> np.ndarray:
            return take(values, places, part.triplets.start, part.triplets.stop)

        h = None if self._slope is None else of_triplets(self._slope.form, t.jl)
        a_of_S = take(distance, self.targets, part.targets.start, part.targets.stop)
        return of_triplets(distance, t.ij), of_triplets(distance, t.il), h, a_of_S

    def three_numbers(self, M: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """``a, b, h``, each of shape (n_triplets,)."""
        self.measure(M)
        a, b, h, _ = zip(*self.workers.map(self.numbers, self.parts), strict=True)
        return np.concatenate(a), np.concatenate(b), None if self._slope is None else np.concatenate(h)

    def largest_distance(self, M: np.ndarray) -> float:
        """The largest ``d²_M`` of a pair (i, j) or (i, l)."""
        self.measure(M)
        return max(float(self.distances(part)[part.pairs].max(initial=0.0)) for part in self.parts)

    # -- backward: from partials per triplet to weights per pair to gradients ---------------------

    def sweep(self, task: Callable[[Part], Any]) -> list:
        """``task(part)`` of every part; what the tasks collect takes the place of what was there."""

        def along(lane: int) -> list:
            found = []
            for part in self._lanes[lane]:
                self._distance.weight[part.pairs] = 0.0
                if self._slope is not None:
                    self._dh[part.triplets] = 0.0
                found.append(task(part))
            self._distance.count(lane)
            return found

        return [found for lane in self.workers.map(along, list(range(len(self._lanes)))) for found in lane]

    def collect(self, part: Part, factor: float, da=None, db=None, dh=None, ds=None) -> None:
        """Add partials, times a factor: of each triplet of a part, ``ds`` of each distinct pair (i, j)."""
        t, weight = self.triplets, self._distance.weight
        if da is not None:
            scatter(t.ij[part.triplets], da, factor, weight)
        if db is not None:
            scatter(t.il[part.triplets], db, factor, weight)
        if ds is not None:
            scatter(self.targets[part.targets], ds, factor, weight)
        if dh is not None:
            self._dh[part.triplets] += factor * dh

    def collect_all(self, da=None, db=None, dh=None) -> None:
        """Collect partials of all triplets."""
        given = (da, db, dh)
        self.sweep(lambda part: self.collect(part, 1.0, *(None if d is None else d[part.triplets] for d in given)))

    def gradient_in_metric(self) -> np.ndarray:
        """``S(w) + S(w_h) M B + B M S(w_h)`` of what was collected, at the M last measured."""
        self._weigh()
        G, *of_slopes = self._sums_of_squares(self._loops)
        for S_h in of_slopes:
            G_h = S_h @ self._MB
            G += G_h + G_h.T
        return G

    def gradient_in_points(self) -> np.ndarray:
        """``2 Lap(w) X M + 2 Lap(w_h) X M B M``: the gradient in the points, at the M last measured."""
        self._weigh()
        out = 2.0 * (self._distance.laplacian() @ self.X) @ self._M
        if self._slope is not None:
            out += 2.0 * (self._slope.laplacian() @ self.X) @ self._MB @ self._M
        return out

    def scatters(self) -> tuple[np.ndarray, np.ndarray]:
        """The means over R of ``X_ij`` and of ``X_il``."""
        share = np.full(len(self.triplets), 1.0 / len(self.triplets))
        found = []
        for partials in ((share, None), (None, share)):
            self.collect_all(*partials)
            self._distance.add_up()
            found.append(self._sums_of_squares([self._distance])[0])
        return found[0], found[1]

    def close(self) -> None:
        """End the threads."""
        self.workers.close()

    @property
    def degree(self) -> np.ndarray:
        """Of every point, the sum of the weights of its pairs (i, j) and (i, l), in the gradient last made."""
        return self._distance.degree

    @property
    def _MB(self) -> np.ndarray:
        return self._M if self.B is None else self._M @ self.B

    def _weigh(self) -> None:
        """Weights per slope pair, and all degrees, from what was collected."""
        if (slope := self._slope) is not None:
            starts, order = self._referring

            def weigh(lane: int) -> None:
                slope.weight[slope.lanes[lane]] = 0.0
                scatter_some(order, self.triplets.jl, self._dh, slope.weight, starts[lane], starts[lane + 1])
                slope.count(lane)

            self.workers.map(weigh, list(range(len(slope.lanes))))
        for loop in self._loops:
            loop.add_up()

    def _sums_of_squares(self, loops: list[PairLoop]) -> list[np.ndarray]:
        """``S(w) = Σ w_ij (x_i − x_j)(x_i − x_j)ᵀ`` over the pairs of each loop."""
        room = (self._Z, self._Y)
        jobs = [(loop, V, rows) for loop, V in zip(loops, room, strict=False) for rows in loop.blocks]
        found = iter(self.workers.map(lambda job: job[0].half_sum(self._X, job[1], job[2]), jobs))
        p = self.X.shape[1]
        halves = [sum(next(found) for _ in loop.blocks)[:p, :p] for loop in loops]
        return [half + half.T for half in halves]


def _parts(triplets: Triplets) -> list[Part]:
    """All anchors, cut so that the triplets of a part fit the cache."""
    rows = balanced(triplets.indptr, -(-len(triplets) // _FIT_CACHE))
    edges = np.array([0] + [part.stop for part in rows])
    of_triplets = triplets.indptr[edges]
    cuts = (edges, triplets.pairs.indptr[edges], of_triplets, np.searchsorted(triplets.targets, of_triplets))
    return [Part(*(slice(*ends) for ends in part)) for part in zip(*(pairwise(c.tolist()) for c in cuts), strict=True)]


def _square_root(B: np.ndarray) -> np.ndarray:
    """C with ``C Cᵀ = B``, as narrow as the rank of B."""
    values, V = np.linalg.eigh(B)
    keep = values > 1e-14 * max(values.max(), 0.0)
    return np.ascontiguousarray(V[:, keep] * np.sqrt(values[keep]))
