"""One pass over the rows of a fold that serves every number of voters and every margin to prune."""

import numpy as np

from holdfast.certificates.kernels.halfspace import dual_length
from holdfast.numerics.compile import ZERO, entry


@entry
def count_rivals(D, order, slopes, codes, truth, kept, reach, lipschitz, norm_code, targets, near, counts):
    """Count at each query the voters, and the rivals that a move of a given size can bring among the nearest.

    Rows ``i`` are queries, ``p`` sets of reference rows that are kept, ``l`` reference rows of another class than the
    true one. ``n_l`` is the number of targets j that l cannot come nearer than: ``D_l − D_j > 2 r ‖v_l − v_j‖*``.

    Parameters
    ----------
    D, order : ndarrays of shape (m, n)
        Squared distances, and reference rows by them, nearest first.
    slopes : ndarray of shape (n, s)
        ``v``.
    codes, truth : int ndarrays of shapes (n,) and (m,)
        Class codes of the reference rows, true ones of the queries.
    kept : bool ndarray of shape (n_sets, n)
    reach : float
        ``2 r``.
    lipschitz : float
        t with ``‖v_l − v_j‖* ≤ t ‖u_l − u_j‖₂``.
    norm_code : int
        Which dual length.
    targets : int ndarray of shape (n_targets,)
        Work space; as many of the nearest targets are looked at.
    near : int ndarray of shape (m, n_sets, k)
        Out: class codes of the k nearest kept rows; −1 where there are fewer.
    counts : int ndarray of shape (m, n_sets, n_classes, Q + 1)
        Out, zero before: how many ``l`` of a class have ``n_l = q``.
    """
    m, n = D.shape
    Q = counts.shape[3] - 1
    for i in range(m):
        for p in range(kept.shape[0]):
            n_targets, n_near = ZERO, ZERO
            for position in range(n):
                j = order[i, position]
                if not kept[p, j]:
                    continue
                if n_near < near.shape[2]:
                    near[i, p, n_near] = codes[j]
                    n_near += 1
                if codes[j] == truth[i] and n_targets < targets.shape[0]:
                    targets[n_targets] = j
                    n_targets += 1
            # A rival beyond this distance cannot come nearer than any of the first Q + 1 targets (l − j of lengths).
            farthest = np.inf
            if n_targets > Q:
                farthest = np.sqrt(D[i, targets[Q]]) + reach * lipschitz
            for position in range(n):
                l = order[i, position]
                if not kept[p, l] or codes[l] == truth[i]:
                    continue
                if np.sqrt(D[i, l]) > farthest:
                    break
                unbeaten = ZERO
                for t in range(n_targets):
                    j = targets[t]
                    gap = D[i, l] - D[i, j]
                    if gap <= 0.0:  # nor any farther target
                        break
                    if gap > reach * dual_length(slopes, l, j, norm_code):
                        unbeaten += 1
                        if unbeaten > Q:
                            break
                if unbeaten <= Q:
                    counts[i, p, codes[l], unbeaten] += 1


def surely_kept(counts: np.ndarray, k: int) -> np.ndarray:
    """True where no move of the size changes a vote of k for the true class, by Lemma B1: bool of shape (m, n_sets).

    A change needs a q with at least ``k − q`` rivals that have ``n_l ≤ q``, and ``b_q`` or more of them in one class.
    """
    q = np.arange(k // 2 + 1)
    rivals = max(1, counts.shape[2] - 1)
    at_most = counts.cumsum(axis=3)[..., : k // 2 + 1]
    of_one = np.maximum(np.maximum(q, -(-(k - q) // rivals)), 1)
    lost = (at_most.sum(axis=2) >= k - q) & (at_most.max(axis=2) >= of_one)
    return ~lost.any(axis=2)
