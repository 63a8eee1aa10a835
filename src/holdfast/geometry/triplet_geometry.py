"""Three numbers per triplet, and the way back: the one seam between losses and matrices."""

import numpy as np
from scipy.linalg.lapack import dpotrf

from holdfast.constraints import Pairs, Triplets
from holdfast.geometry.kernels import gather, laplacian_rows, pair_forms, pair_squares, scatter
from holdfast.threads import Workers, blocks, n_threads

# Nanoseconds an evaluation must take to gain from threads: waking them costs a tenth of a millisecond, several
# times, and what one core has in its cache the other has to fetch.
_WORTH_THREADS = 8_000_000


class TripletGeometry:
    """``a, b, h`` of all triplets under a metric, and the gradients that partials in them stand for.

    For a triplet (i, j, l)::

        a = d²_M(x_i, x_j)
        b = d²_M(x_i, x_l)
        h = (x_j − x_l)ᵀ M B M (x_j − x_l)

    With ``Y = X M`` each is a form ``(u_i − u_j)·(v_i − v_j)`` of a de-duplicated index pair: (X, Y) for
    a and b, (Y, Y B) for h. Backwards, partials are summed per pair into weights, and

        Σ ∂a X_ij + ∂b X_il + ∂h (X_jl M B + B M X_jl) = sym Xᵀ (Lap(w) X + 2 Lap(w_h) Y B),

    so that nothing longer than the pairs is as wide as the points. Arrays are kept and written anew by
    every call: large ones cost more to allocate than to fill.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float64, C order
    triplets : Triplets
    B : ndarray of shape (n_features, n_features) or None
        Inverse shape of the perturbation; None is the identity.
    with_slope : bool
        Whether h is wanted; if not, its pairs are never looked at.
    n_jobs : int or None
        Threads; see :func:`holdfast.threads.n_threads`.
    """

    def __init__(self, X, triplets: Triplets, B=None, with_slope: bool = True, n_jobs=None):
        self.X, self.triplets, self.B, self.with_slope = X, triplets, B, with_slope
        n, p = X.shape
        n_pairs = len(triplets.pairs) + (len(triplets.slope_pairs) if with_slope else 0)
        work = 0.1 * n * p * p + 1.0 * n_pairs * p + 15.0 * len(triplets)  # nanoseconds, as measured
        self.workers = Workers(n_threads(n_jobs) if work > _WORTH_THREADS else 1)
        self._distance = _PairLoop(triplets.pairs, self.workers)
        self._slope = _PairLoop(triplets.slope_pairs, self.workers) if with_slope else None
        self.targets = triplets.ij[triplets.targets]
        self._rows = blocks(n)
        self._Y = np.empty((n, p))
        self._YB = self._Y if B is None else np.empty((n, p))
        self._V = np.empty((n, p))

    # -- forward --------------------------------------------------------------------------------

    def measure(self, M: np.ndarray) -> tuple[np.ndarray, np.ndarray | None]:
        """``d²_M`` of every pair and, if wanted, the form of every slope pair, at M."""
        if self._slope is None:
            # With M = RᵀR and Z = X Rᵀ a distance reads two rows, not four.
            R, failed = dpotrf(M, lower=0, clean=1)
            if failed == 0:
                self._multiply(self.X, R.T, self._Y)
                return self._distance.squares(self._Y), None
        self._multiply(self.X, M, self._Y)
        distance = self._distance.forms(self.X, self._Y)
        if self._slope is None:
            return distance, None
        if self.B is not None:
            self._multiply(self._Y, self.B, self._YB)
        return distance, self._slope.forms(self._Y, self._YB)

    def three_numbers(self, M: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray | None]:
        """``a, b, h``, each of shape (n_triplets,)."""
        distance, slope = self.measure(M)
        t = self.triplets
        return distance[t.ij], distance[t.il], None if slope is None else slope[t.jl]

    # -- backward: from partials per triplet to weights per pair to gradients ---------------------

    def weights(self, da, db, dh, ds=None) -> tuple[np.ndarray, np.ndarray | None]:
        """Partials per triplet (``ds``: per target pair in S), summed per index pair."""
        w = self._distance.weight
        w.fill(0.0)
        self._distance.add(w, self.triplets.ij, da)
        self._distance.add(w, self.triplets.il, db)
        self._distance.add(w, self.targets, ds)
        if self._slope is None or dh is None:
            return w, None
        w_h = self._slope.weight
        w_h.fill(0.0)
        self._slope.add(w_h, self.triplets.jl, dh)
        return w, w_h

    def gradient_in_metric(self, w: np.ndarray, w_h: np.ndarray | None) -> np.ndarray:
        """``sym Xᵀ (Lap(w) X + 2 Lap(w_h) Y B)`` at the M last measured."""
        X, V = self.X, self._V

        def block(rows: slice) -> np.ndarray:
            V[rows] = 0.0
            self._distance.laplacian_block(w, X, V, 1.0, rows)
            if self._slope is not None and w_h is not None:
                self._slope.laplacian_block(w_h, self._YB, V, 2.0, rows)
            return X[rows].T @ V[rows]

        G = sum(self.workers.map(block, self._rows), np.zeros((X.shape[1], X.shape[1])))
        return (G + G.T) / 2

    def gradient_in_points(self, w: np.ndarray, w_h: np.ndarray | None, M: np.ndarray) -> np.ndarray:
        """``2 Lap(w) Y + 2 Lap(w_h) Y B M``: the gradient in the points, at the M last measured."""
        out = np.zeros_like(self.X)
        if self._slope is None:
            self._multiply(self.X, M, self._Y)
        self.workers.map(lambda rows: self._distance.laplacian_block(w, self._Y, out, 2.0, rows), self._rows)
        if self._slope is not None and w_h is not None:
            slope = np.zeros_like(self.X)
            add = self._slope.laplacian_block
            self.workers.map(lambda rows: add(w_h, self._YB, slope, 2.0, rows), self._rows)
            out += slope @ M
        return out

    def close(self) -> None:
        """End the threads."""
        self.workers.close()

    def _multiply(self, U: np.ndarray, A: np.ndarray, out: np.ndarray) -> None:
        self.workers.map(lambda rows: np.dot(U[rows], A, out=out[rows]), self._rows)


class _PairLoop:
    """One set of pairs and its three loops, cut for the threads at hand; its arrays are re-used."""

    def __init__(self, pairs: Pairs, workers: Workers):
        self.pairs, self._workers = pairs, workers
        self.form, self.weight = np.empty(len(pairs)), np.empty(len(pairs))
        self._parts = workers.cut(len(pairs))
        self._users: dict[int, tuple] = {}  # by reference: who refers to each pair

    def forms(self, U: np.ndarray, V: np.ndarray) -> np.ndarray:
        """``(u_i − u_j)·(v_i − v_j)`` of every pair."""
        out = self.form
        pairs = (self.pairs.first, self.pairs.second)
        self._workers.map(lambda s: pair_forms(U, V, *pairs, out, s.start, s.stop), self._parts)
        return out

    def squares(self, Z: np.ndarray) -> np.ndarray:
        """``‖z_i − z_j‖²`` of every pair."""
        out = self.form
        pairs = (self.pairs.first, self.pairs.second)
        self._workers.map(lambda s: pair_squares(Z, *pairs, out, s.start, s.stop), self._parts)
        return out

    def add(self, out: np.ndarray, reference: np.ndarray, partial: np.ndarray | None) -> None:
        """Add to every pair the partials of those that refer to it."""
        if partial is None:
            return
        if self._workers.threads == 1:
            scatter(reference, partial, out)
            return
        if id(reference) not in self._users:
            self._users[id(reference)] = (reference, self.pairs.users(reference))
        users = self._users[id(reference)][1]
        self._workers.map(lambda s: gather(*users, partial, out, s.start, s.stop), self._parts)

    def laplacian_block(self, weight, U, out, factor: float, rows: slice) -> None:
        """Add ``factor · Lap(weight) U`` to some rows."""
        laplacian_rows(*self.pairs.adjacency, weight, U, out, factor, rows.start, rows.stop)
