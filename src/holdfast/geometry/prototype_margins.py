"""The adversarial margin of a nearest-prototype vote, and its gradient in the prototypes."""

import numpy as np
from scipy.spatial.distance import cdist

from holdfast.numerics.compile import ZERO, entry

_DUAL = {2.0: "euclidean", np.inf: "cityblock", 1.0: "chebyshev"}  # norm of the moves: its dual, as scipy names it
# Prototypes of two classes that coincide are treated as this far apart, as a share of the longest row or of the largest
# distance between prototypes: margins and gradients stay finite, and squared distances are exact to about 1e-16 only.
_MIN_GAP = 1e-9
_CANCELS = 1e-8  # a squared distance below this share of the largest squared length has lost half of its digits
_BLOCK = 4_000_000  # distances computed at once: 32 MB


class PrototypeMargins:
    """``m_i = min_l max_j (d²(x_i, a_l) − d²(x_i, a_j)) / (2 ‖a_l − a_j‖*)``, j of the class of i, l of the others.

    The fraction is the signed distance from ``x_i`` to the border of l and j, the points that are as near to ``a_l`` as
    to ``a_j``. A move shorter than ``m_i > 0`` leaves every rival prototype l farther than some prototype j of the
    row's class, so the prediction does not change (Lemma B1 for one neighbour). ``m_i < 0`` exactly where the
    prediction is wrong. With one prototype per class ``m_i`` is the exact radius; with more it is a lower bound.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    codes : int ndarray of shape (n_samples,)
        Class codes of the rows.
    labels : int ndarray of shape (n_prototypes,)
        Class codes of the prototypes; two classes or more.
    norm : {2, inf, 1}
        The norm of the moves; ``‖·‖*`` is its dual.
    """

    def __init__(self, X: np.ndarray, codes: np.ndarray, labels: np.ndarray, norm: float = 2.0):
        self.X, self.codes, self.labels = X, codes, labels
        self._dual = _DUAL[float(norm)]
        self._squares = np.einsum("np,np->n", X, X)
        self._min_gap = _MIN_GAP * (float(np.sqrt(self._squares.max())) or 1.0)
        self._margins = np.empty(len(X))
        self._rivals, self._targets = np.empty((2, len(X)), dtype=np.int64)

    def measure(self, A: np.ndarray) -> np.ndarray:
        """The margins for prototypes A, of shape (n_samples,); the next call overwrites them."""
        lengths = _distances(A) if self._dual == "euclidean" else cdist(A, A, self._dual)
        self._A, self._lengths = A, np.maximum(lengths, max(_MIN_GAP * lengths.max(), self._min_gap))
        squares, n_rows = np.einsum("mp,mp->m", A, A), max(1, _BLOCK // len(A))
        for start in range(0, len(self.X), n_rows):
            part = slice(start, start + n_rows)
            D = self._squares[part, None] - 2.0 * (self.X[part] @ A.T) + squares
            nearest_borders(
                D, self._lengths, self.codes[part], self.labels,
                self._margins[part], self._rivals[part], self._targets[part],
            )  # fmt: skip
        return self._margins

    def pull_back(self, weights: np.ndarray) -> np.ndarray:
        """``Σ_i weights_i ∂m_i/∂A`` at the prototypes measured last, an array of the shape of A.

        With ``s = ‖a_l − a_j‖*``: ``∂m/∂a_l = (a_l − x)/s − m/s · ∂s/∂a_l``, ``∂m/∂a_j = (x − a_j)/s − m/s · ∂s/∂a_j``.
        """
        scaled = weights / self._lengths[self._rivals, self._targets]  # weights_i / s_i
        G, pair_sums = np.zeros_like(self._A), np.zeros_like(self._lengths)
        add_borders(self.X, self._A, scaled, self._margins, self._rivals, self._targets, G, pair_sums)
        if self._dual == "euclidean":  # Σ_lj pair_sums_lj (a_l − a_j)/s_lj off the row of l, and on that of j
            shares = pair_sums / self._lengths
            shares += shares.T
            return G + (shares @ self._A - shares.sum(axis=1)[:, None] * self._A)
        l, j = np.nonzero(pair_sums)
        through_length = pair_sums[l, j, None] * self._length_gradients(l, j)
        np.subtract.at(G, l, through_length)
        np.add.at(G, j, through_length)
        return G

    def _length_gradients(self, l: np.ndarray, j: np.ndarray) -> np.ndarray:
        """``∂‖v‖*/∂v`` at the differences ``v = a_l − a_j``, where the dual norm is L1 or L∞."""
        v = self._A[l] - self._A[j]
        if self._dual == "cityblock":
            return np.sign(v)
        rows, largest = np.arange(len(v)), np.abs(v).argmax(axis=1)
        out = np.zeros_like(v)
        out[rows, largest] = np.sign(v[rows, largest])
        return out


def _distances(A: np.ndarray) -> np.ndarray:
    """``‖a_l − a_j‖`` of all pairs of rows: by products, and again by differences where these cancel."""
    squares = np.einsum("mp,mp->m", A, A)
    found = squares[:, None] - 2.0 * (A @ A.T) + squares
    l, j = np.nonzero(found < _CANCELS * squares.max())
    v = A[l] - A[j]
    found[l, j] = np.einsum("np,np->n", v, v)
    return np.sqrt(found)


@entry
def nearest_borders(D, lengths, codes, labels, margins, rivals, targets):
    """For each row, the border between two prototypes that determines its margin.

    For each rival the nearest prototype of the row's class is tried first. A rival is skipped as soon as its largest
    border so far is no smaller than the margin found so far, so for most rivals a single border is computed.

    Parameters
    ----------
    D : ndarray of shape (n, m)
        Squared distances of rows to prototypes.
    lengths : ndarray of shape (m, m)
        ``‖a_l − a_j‖*``, symmetric, none zero.
    codes, labels : int ndarrays of shapes (n,) and (m,)
        Class codes of rows and prototypes.
    margins : ndarray of shape (n,)
        Out: m.
    rivals, targets : int ndarrays of shape (n,)
        Out: l and j.
    """
    for i in range(D.shape[0]):
        own, rival = ZERO - 1, ZERO - 1
        for k in range(D.shape[1]):
            if labels[k] == codes[i]:
                if own < 0 or D[i, k] < D[i, own]:
                    own = k
            elif rival < 0 or D[i, k] < D[i, rival]:
                rival = k
        smallest, at_l, at_j = np.inf, rival, own
        for step in range(D.shape[1] + 1):
            l = rival if step == 0 else step - 1
            if labels[l] == codes[i] or (step > 0 and l == rival):
                continue
            largest, of_l = (D[i, l] - D[i, own]) / (2.0 * lengths[own, l]), own
            for j in range(D.shape[1]):
                if largest >= smallest:
                    break
                if labels[j] == codes[i]:
                    border = (D[i, l] - D[i, j]) / (2.0 * lengths[l, j])
                    if border > largest:
                        largest, of_l = border, j
            if largest < smallest:
                smallest, at_l, at_j = largest, l, of_l
        margins[i], rivals[i], targets[i] = smallest, at_l, at_j


@entry
def add_borders(X, A, scaled, margins, rivals, targets, G, pair_sums):
    """``G_l += Σ_i u_i (a_l − x_i)``, ``G_j −= Σ_i u_i (a_j − x_i)``, ``pair_sums_lj += Σ_i u_i m_i``; u is ``scaled``.

    Parameters
    ----------
    X, A : ndarrays of shapes (n, p) and (m, p)
        Rows and prototypes.
    scaled, margins : ndarrays of shape (n,)
        u and m.
    rivals, targets : int ndarrays of shape (n,)
        l and j of each row.
    G, pair_sums : ndarrays of shapes (m, p) and (m, m)
        Out: the sums are added to their values.
    """
    for i in range(X.shape[0]):
        l, j = rivals[i], targets[i]
        pair_sums[l, j] += scaled[i] * margins[i]
        for f in range(X.shape[1]):
            G[l, f] += scaled[i] * (A[l, f] - X[i, f])
            G[j, f] -= scaled[i] * (A[j, f] - X[i, f])
