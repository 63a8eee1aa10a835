"""CappedTrace: penalise all but the largest eigenvalues of the metric."""

import numpy as np

from holdfast.parameters import check_count
from holdfast.terms.base import MatrixTerm


class CappedTrace(MatrixTerm):
    """``Σ_{k > rank} λ_k(M)``: the sum of all but the ``rank`` largest eigenvalues.

    It is zero exactly where the rank of M is at most ``rank``. Like a trace norm it favours a low rank, but
    it does not shrink the largest eigenvalues. Not convex.

    Parameters
    ----------
    rank : int or None
        Number of eigenvalues that are not penalised; None is four fifths of them, rounded up.

    References
    ----------
    Huo, Nie and Huang, "Robust and effective metric learning using capped trace norm", KDD 2016.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.terms import CappedTrace
    >>> CappedTrace(rank=1).value_and_grad(np.diag([3.0, 1.0, 0.5]))[0]
    1.5
    """

    def __init__(self, rank: int | None = None):
        self.rank = rank

    def value_and_grad(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The sum; gradient ``V_s V_sᵀ`` over the eigenvectors of the p − rank smallest."""
        n_small = len(M) - self.rank_among(len(M))
        values, V = np.linalg.eigh(M)
        small = V[:, :n_small]
        return float(values[:n_small].sum()), small @ small.T

    def rank_among(self, n_features: int) -> int:
        """How many of so many eigenvalues are not penalised."""
        rank = -(-4 * n_features // 5) if self.rank is None else self.rank
        if rank > n_features:
            raise ValueError(f"CappedTrace: rank={rank} exceeds the number of features, which is {n_features}.")
        return rank

    def check(self) -> None:
        """Refuse a rank that is not a positive integer."""
        if self.rank is not None:
            check_count("CappedTrace", "rank", self.rank)
