"""Order-statistic bounds on the smallest move that changes a vote, from the sizes of moves that change single pairs.

``ε_lj`` bounds the moves after which l is no farther than j. ``E[l, q]`` is the (q+1)-th largest ``ε_lj`` over points j
of the predicted class, one row for each point l of another class.
"""

import numpy as np


def order_statistic_bound(E: np.ndarray, labels: np.ndarray, k: int) -> float:
    """``min_q max{(k−q)-th smallest_l E_l^(q), min_c b_q-th smallest_{l in c} E_l^(q)}`` (Lemma B1)."""
    classes = np.unique(labels)
    bounds = []
    for q in range(k // 2 + 1):
        least = max(q, -(-(k - q) // classes.size), 1)
        one_class = min(_smallest(E[labels == c, q], least) for c in classes)
        bounds.append(max(_smallest(E[:, q], k - q), one_class))
    return min(bounds)


def weighted_order_bound(E: np.ndarray, labels: np.ndarray, k: int) -> float:
    """``min_{i ≤ (k+1)/2} min_c i-th smallest_{l in c} E_l^(i−1)``: for weights that fall with distance (Lemma D2)."""
    return min(
        _smallest(E[labels == c, i - 1], i) for i in range(1, (k + 1) // 2 + 1) for c in np.unique(labels)
    )  # fmt: skip


def _smallest(values: np.ndarray, rank: int) -> float:
    """The ``rank``-th smallest value; infinite if there are fewer."""
    return float(np.partition(values, rank - 1)[rank - 1]) if rank <= values.size else np.inf
