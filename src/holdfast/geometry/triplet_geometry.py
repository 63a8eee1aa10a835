"""Three numbers per triplet, and the way back: the one seam between losses and matrices."""

import numpy as np
from scipy.linalg.lapack import dpotrf
from scipy.sparse import csr_array, diags_array

from holdfast.constraints import Pairs, Triplets
from holdfast.geometry.kernels import degrees, half_laplacian, pair_forms, pair_squares, scatter
from holdfast.geometry.layout import padded, padded_rows
from holdfast.threads import Workers, balanced, blocks, n_threads, pieces

# Nanoseconds an evaluation must take to gain from threads: waking them costs a tenth of a millisecond, several
# times, and what one core has in its cache the other has to fetch. What takes less is one block.
_WORTH_THREADS = 2_500_000


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

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float64, C order
    triplets : Triplets
    B : ndarray of shape (n_features, n_features) or None
        Inverse shape of the perturbation, positive semi-definite; None is the identity.
    with_slope : bool
        Whether h is wanted; if not, its pairs are never looked at.
    n_jobs : int or None
        Threads; see :func:`holdfast.threads.n_threads`.
    """

    def __init__(self, X, triplets: Triplets, B=None, with_slope: bool = True, n_jobs=None):
        self.triplets, self.B, self.with_slope = triplets, B, with_slope
        n, p = X.shape
        self._X = padded(X - X.mean(axis=0))  # with columns of zeros, as everything below that is as long
        self.X = self._X[:, :p]
        n_pairs = len(triplets.pairs) + (len(triplets.slope_pairs) if with_slope else 0)
        product = 0.08 * n * p * p  # nanoseconds, as measured
        small = 2 * product + 0.4 * n_pairs * p + 10.0 * len(triplets) <= _WORTH_THREADS
        self.workers = Workers(1 if small else n_threads(n_jobs))
        self._rows = blocks(n, 1 if small else pieces(product))

        def loop(pairs: Pairs) -> _PairLoop:
            return _PairLoop(pairs, self.workers, p, 1 if small else pieces(product + 0.2 * len(pairs) * p))

        self._distance = loop(triplets.pairs)
        self._slope = loop(triplets.slope_pairs) if with_slope else None
        self.targets = triplets.ij[triplets.targets]
        self._M = np.eye(p)
        self._C = None if B is None else _square_root(B)
        self._Z = padded_rows(n, p)  # forwards Z, backwards half a Laplacian
        self._Y = padded_rows(n, p) if with_slope else self._Z
        self._YC = self._Y if self._C is None else padded_rows(n, self._C.shape[1])

    # -- forward --------------------------------------------------------------------------------

    def measure(self, M: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """``d²_M`` of every pair and, if wanted, the form of every slope pair, at M."""
        self._M = M
        R, singular = dpotrf(M, lower=0, clean=1)
        if self._slope is not None or singular:
            self._multiply(self._X, M, self._Y)
        if singular:  # or, at a point a solver tries, not even semi-definite
            distance = self._distance.forms(self._X, self._Y)
        else:
            self._multiply(self._X, R.T, self._Z)
            distance = self._distance.squares(self._Z)
        if self._slope is None:
            return distance, None
        if self._C is not None:
            self._multiply(self._Y, self._C, self._YC)
        return distance, self._slope.squares(self._YC)

    def three_numbers(self, M: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """``a, b, h``, each of shape (n_triplets,)."""
        distance, slope = self.measure(M)
        t = self.triplets
        return distance[t.ij], distance[t.il], None if slope is None else slope[t.jl]

    # -- backward: from partials per triplet to weights per pair to gradients ---------------------

    def weights(self, da, db, dh, ds=None) -> tuple[np.ndarray, np.ndarray | None]:
        """Partials per triplet (``ds``: per target pair in S), summed per index pair."""
        t, distance, slope = self.triplets, self._distance, self._slope
        to_targets = [(t.ij, da), (self.targets, ds)]
        jobs = [(distance.weight, to_targets), (distance.weight_il, [(t.il, db)])]
        if slope is not None and dh is not None:
            jobs.append((slope.weight, [(t.jl, dh)]))
        self.workers.map(lambda job: _scatter(*job), jobs)
        distance.weight += distance.weight_il
        return distance.weight, None if slope is None or dh is None else slope.weight

    def gradient_in_metric(self, w: np.ndarray, w_h: np.ndarray | None) -> np.ndarray:
        """``S(w) + S(w_h) M B + B M S(w_h)`` at the M last measured."""
        G = self._sum_of_squares(self._distance, w)
        if self._slope is not None and w_h is not None:
            G_h = self._sum_of_squares(self._slope, w_h) @ self._MB
            G += G_h + G_h.T
        return G

    def scatters(self) -> tuple[np.ndarray, np.ndarray]:
        """The means over R of ``X_ij`` and of ``X_il``."""
        share = np.full(len(self.triplets), 1.0 / len(self.triplets))
        partials = ((share, None, None), (None, share, None))
        similar, dissimilar = (self.gradient_in_metric(*self.weights(*one)) for one in partials)
        return similar, dissimilar

    def gradient_in_points(self, w: np.ndarray, w_h: np.ndarray | None) -> np.ndarray:
        """``2 Lap(w) X M + 2 Lap(w_h) X M B M``: the gradient in the points, at the M last measured."""
        out = 2.0 * (self._distance.laplacian(w) @ self.X) @ self._M
        if self._slope is not None and w_h is not None:
            out += 2.0 * (self._slope.laplacian(w_h) @ self.X) @ self._MB @ self._M
        return out

    def close(self) -> None:
        """End the threads."""
        self.workers.close()

    @property
    def _MB(self) -> np.ndarray:
        return self._M if self.B is None else self._M @ self.B

    def _multiply(self, U: np.ndarray, A: np.ndarray, out: np.ndarray) -> None:
        """``out = U A``, A filled up with zeros."""
        whole = np.zeros((U.shape[1], out.shape[1]))
        whole[: A.shape[0], : A.shape[1]] = A
        self.workers.map(lambda rows: np.dot(U[rows], whole, out=out[rows]), self._rows)

    def _sum_of_squares(self, loop: "_PairLoop", w: np.ndarray) -> np.ndarray:
        """``S(w) = Σ w_ij (x_i − x_j)(x_i − x_j)ᵀ``."""
        X, V, degree = self._X, self._Z, loop.degrees(w)

        def block(rows: slice) -> np.ndarray:
            half_laplacian(loop.indptr, loop.pairs.second, w, degree, X, V, rows.start, rows.stop)
            return X[rows].T @ V[rows]

        p = self.X.shape[1]
        G = sum(self.workers.map(block, loop.blocks))[:p, :p]
        return G + G.T


class _PairLoop:
    """One set of pairs and its loops, cut for the threads at hand; its arrays are re-used."""

    def __init__(self, pairs: Pairs, workers: Workers, width: int, n_blocks: int):
        self.pairs, self._workers = pairs, workers
        self.form, self.weight, self.weight_il = np.empty((3, len(pairs)))
        self.indptr = pairs.indptr
        self._degree = np.empty(pairs.n_samples)
        self._parts = workers.cut(len(pairs))
        # Rows have different numbers of pairs: blocks of equal work.
        self._rows = balanced(self.indptr, 2 * workers.threads if workers.threads > 1 else 1)
        self.blocks = balanced(self.indptr + width // 4 * np.arange(self.indptr.size), n_blocks)

    def forms(self, U: np.ndarray, V: np.ndarray) -> np.ndarray:
        """``(u_i − u_j)·(v_i − v_j)`` of every pair."""
        out = self.form
        pairs = (self.pairs.first, self.pairs.second)
        self._workers.map(lambda s: pair_forms(U, V, *pairs, out, s.start, s.stop), self._parts)
        return out

    def squares(self, Z: np.ndarray) -> np.ndarray:
        """``‖z_i − z_j‖²`` of every pair."""
        out, second = self.form, self.pairs.second
        self._workers.map(lambda s: pair_squares(Z, self.indptr, second, out, s.start, s.stop), self._rows)
        return out

    def degrees(self, weight: np.ndarray) -> np.ndarray:
        """The diagonal of ``Lap(weight)``."""
        degrees(self.pairs.first, self.pairs.second, weight, self._degree)
        return self._degree

    def laplacian(self, weight: np.ndarray) -> csr_array:
        """``Lap(weight)``, sparse."""
        n = self.pairs.n_samples
        upper = csr_array((weight, self.pairs.second, self.indptr), shape=(n, n))
        return diags_array(self.degrees(weight)) - upper - upper.T


def _scatter(out: np.ndarray, parts: list[tuple[np.ndarray, np.ndarray | None]]) -> None:
    """Into ``out``, per pair, the sum of the partials of those that refer to it."""
    out.fill(0.0)
    for reference, partial in parts:
        if partial is not None:
            scatter(reference, partial, out)


def _square_root(B: np.ndarray) -> np.ndarray:
    """C with ``C Cᵀ = B``, as narrow as the rank of B."""
    values, V = np.linalg.eigh(B)
    keep = values > 1e-14 * max(values.max(), 0.0)
    return np.ascontiguousarray(V[:, keep] * np.sqrt(values[keep]))
