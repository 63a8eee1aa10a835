"""The search for targets and impostors: for which points, and exact or approximate."""

import numpy as np
from sklearn.base import BaseEstimator
from sklearn.utils import check_random_state

from holdfast.constraints.search import ranked_by_class
from holdfast.parameters import check_count, check_number

_METHODS = ("exact", "approximate")


class NeighborSearch(BaseEstimator):
    """The points that become anchors, and the method that finds their neighbours.

    ``LMNN(neighbors=NeighborSearch(...))``; the strings ``"exact"`` and ``"approximate"`` stand for
    ``NeighborSearch("exact")`` and ``NeighborSearch("approximate")``. An exact search costs
    ``anchors × points × features``, in blocks: memory does not grow with that product.

    Parameters
    ----------
    method : {"exact", "approximate"}, default="exact"
        "approximate" searches only the cells of points nearest to an anchor, with faiss
        (``pip install "holdfast[approximate]"``).
    n_anchors : int or None, default=None
        Number of points that become anchors i of triplets: a random sample, stratified by class, with at least
        one of every class. Their targets and impostors are searched for among *all* points. None takes every
        point.
    effort : float, default=0.1
        For "approximate": the fraction of the cells that is searched for each anchor, in (0, 1]. A larger one
        finds more of the true neighbours and takes longer; 1 finds all, up to rounding to single precision.
    random_state : int, RandomState or None, default=None
        Draws the anchors, and seeds the k-means of the cells, for which None is 0.

    References
    ----------
    Douze et al., "The faiss library", 2024, for the approximate search.

    Examples
    --------
    >>> from sklearn.datasets import load_digits
    >>> from holdfast import LMNN
    >>> from holdfast.constraints import NeighborSearch, knn_triplets
    >>> X, y = load_digits(return_X_y=True)
    >>> len(knn_triplets(X, y, n_neighbors=3, n_impostors=10, neighbors=NeighborSearch(n_anchors=200, random_state=0)))
    6000
    """

    def __init__(self, method: str = "exact", n_anchors: int | None = None, effort: float = 0.1, random_state=None):
        self.method = method
        self.n_anchors = n_anchors
        self.effort = effort
        self.random_state = random_state

    def check(self) -> None:
        """Raise ``ValueError`` if a parameter is out of range."""
        if self.method not in _METHODS:
            raise ValueError(f"NeighborSearch: method must be 'exact' or 'approximate'; got {self.method!r}.")
        if self.n_anchors is not None:
            check_count("NeighborSearch", "n_anchors", self.n_anchors)
        check_number("NeighborSearch", "effort", self.effort, above=0)
        if self.effort > 1:
            raise ValueError(f"NeighborSearch: effort is a fraction, at most 1; got {self.effort!r}.")

    def anchors(self, y: np.ndarray) -> np.ndarray:
        """The points that become anchors, by growing index; points alone in their class are left out.

        Parameters
        ----------
        y : int ndarray of shape (n_samples,)
            Class codes.
        """
        sizes = np.bincount(y)
        able = np.flatnonzero(sizes[y] > 1)
        if self.n_anchors is None or self.n_anchors >= able.size:
            return able
        rng = check_random_state(self.random_state)
        shuffled = able[rng.permutation(able.size)]
        # From every class the first of its shuffled members: its share, rounded down, but at least one. The
        # places left by rounding are filled from the rest, in shuffled order.
        shares = np.maximum(1, np.floor(self.n_anchors * sizes / able.size).astype(int))
        order = np.argsort(y[shuffled], kind="stable")
        codes = y[shuffled[order]]
        rank = np.arange(order.size) - np.searchsorted(codes, codes)  # of each within its class
        first = rank < shares[codes]
        chosen, rest = shuffled[order[first]], shuffled[np.sort(order[~first])]
        return np.sort(np.concatenate([chosen, rest[: max(0, self.n_anchors - chosen.size)]]))

    def nearest(
        self, X: np.ndarray, y: np.ndarray, n_same: int, n_other: int, anchors: np.ndarray, n_jobs: int | None = None
    ) -> tuple[np.ndarray, np.ndarray]:
        """Targets and impostors of the anchors; as :func:`~holdfast.constraints.search.nearest_by_class`."""
        if self.method == "exact":
            (_, same), (_, other) = ranked_by_class(X, y, n_same, n_other, n_jobs, anchors=anchors)
            return same, other
        from holdfast.constraints.approximate import approximate_nearest_by_class

        seed = 0 if self.random_state is None else int(check_random_state(self.random_state).randint(2**31 - 1))
        return approximate_nearest_by_class(X, y, n_same, n_other, anchors, self.effort, seed, n_jobs)


def as_search(neighbors) -> NeighborSearch:
    """The checked NeighborSearch that a ``neighbors=`` parameter stands for."""
    if isinstance(neighbors, str) and neighbors in _METHODS:
        return NeighborSearch(neighbors)
    if not isinstance(neighbors, NeighborSearch):
        raise ValueError(
            "neighbors must be 'exact', 'approximate' or a holdfast.constraints.NeighborSearch, for example "
            f"NeighborSearch(n_anchors=100_000, random_state=0); got {neighbors!r}."
        )
    neighbors.check()
    return neighbors
