"""The number of training labels that may be wrong before a vote can change."""

import numpy as np

from holdfast.base.neighbors import nearest
from holdfast.certificates.readers import neighbor_voter_for
from holdfast.certificates.vote import NeighborVoter

# Squared distances that differ by less than this share of the squared magnitudes behind them count as equal: another
# implementation, or another order of summation, may rank them otherwise. Far above what rounding can do (1e-16 times
# the number of features), so that it need not be counted operation by operation.
_EQUAL = 1e-9


def poisoning_tolerance(model, X, *, reference=None, n_jobs: int | None = None) -> np.ndarray:
    """``⌈(n_y − n_c) / 2⌉ − 1``: labels that may be flipped, anywhere, without changing the prediction.

    ``n_y`` is the number of votes for the predicted class and ``n_c`` for the runner-up. A flip of a
    neighbour's label moves one vote, so the lead shrinks by two at most; while it is positive the vote
    stands whatever the tie rule.

    Where points are equally far, which of them are among the k nearest is up to the implementation. The lead is
    the least over all choices: points that are nearer for certain vote, and of the equally far ones as few as
    possible for the predicted class and as many as possible for a rival. Squared distances count as equal if they
    differ by less than 1e-9 of the squared magnitudes behind them, which rounding could not separate for certain.

    It is about the *vote*: the metric and the steps before it are taken as they are. If the labels in
    question also shaped them (a learner fitted on the same data, rows dropped by ``prune``), a flip could move them,
    and the number is no guarantee for the refitted model. It is a guarantee for the Euclidean distance, for a metric
    fixed beforehand, and for one learned on other, trusted data.

    Parameters
    ----------
    model, X, reference, n_jobs
        As for :func:`holdfast.certify`.

    Returns
    -------
    int ndarray of shape (n_rows,)

    Examples
    --------
    >>> from holdfast import CertifiedKNeighborsClassifier
    >>> from holdfast.certificates import poisoning_tolerance
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [9.0]], ["a", "a", "a", "a", "b"]
    >>> clf = CertifiedKNeighborsClassifier(n_neighbors=5).fit(X, y)
    >>> poisoning_tolerance(clf, [[1.0]])      # 4 votes to 1: one flip leaves 3 to 2
    array([1])
    """
    voter = neighbor_voter_for(model, reference)
    rows = voter.check_rows(X)
    certain, tied = _votes(voter, rows, n_jobs)
    lead = _least_lead(certain, tied, voter.n_neighbors)
    return np.maximum((lead + 1) // 2 - 1, 0)


def _votes(voter: NeighborVoter, rows: np.ndarray, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    """For each row and class: the points that are among the k nearest for certain, and those that may be.

    More and more neighbours are searched for, until the last one is farther than the k-th for certain.
    """
    k, n = voter.n_neighbors, len(voter.points)
    certain, tied = (np.zeros((len(rows), len(voter.classes)), dtype=np.int64) for _ in range(2))
    queries, equal = voter.chain.image(rows), _indistinguishable(voter, rows)
    todo, count = np.arange(len(rows)), min(n, 2 * k + 8)
    while todo.size:
        near = nearest(voter.points, queries[todo], count, n_jobs)
        distance = _squared_distances(voter.points, queries[todo], near)
        kth = np.partition(distance, k - 1, axis=1)[:, k - 1 : k]
        margin = equal[todo][:, None]
        complete = np.ones(todo.size, dtype=bool) if count == n else (distance > kth + margin).any(axis=1)
        nearer, same = distance < kth - margin, np.abs(distance - kth) <= margin
        for votes, counted in ((certain, nearer), (tied, same)):
            for c in range(len(voter.classes)):
                votes[todo, c] = (counted & (voter.codes[near] == c)).sum(axis=1)
        todo, count = todo[~complete], min(n, 4 * count)
    return certain, tied


def _squared_distances(points: np.ndarray, queries: np.ndarray, near: np.ndarray) -> np.ndarray:
    """``Σ (u − z)²`` of each query and its neighbours, one neighbour of all queries at a time."""
    return np.column_stack([np.sum((queries - points[column]) ** 2, axis=1) for column in near.T])


def _indistinguishable(voter: NeighborVoter, rows: np.ndarray) -> np.ndarray:
    """The difference of squared distances, for each row, up to which rounding may decide which is smaller."""
    size = voter.chain.magnitude(rows) + np.linalg.norm(voter.points, axis=1).max() + voter.scale
    # At a jump of a monotone map the model's own query may be elsewhere (Lemma M3): |d² − d'²| ≤ (2d + b)b.
    blur = np.linalg.norm(voter.chain.blur(rows), axis=1)
    return _EQUAL * size**2 + 4.0 * blur * (size + blur)


def _least_lead(certain: np.ndarray, tied: np.ndarray, k: int) -> np.ndarray:
    """The least lead of the class that leads, over all ways to fill up the k votes from the tied points.

    A rival c gets all it can, ``a = min(m, t_c)`` of the m votes to fill; other classes come next, and only what is
    then left goes to the leader. At most one class has a positive lead under every choice, and it is predicted.
    """
    open_votes = k - certain.sum(axis=1)
    n_classes, total = certain.shape[1], tied.sum(axis=1)
    lead = np.full(len(certain), np.iinfo(np.int64).min)
    for leader in range(n_classes):
        least = np.full(len(certain), k)  # without a rival: all votes
        for rival in range(n_classes):
            if rival == leader:
                continue
            gained = np.minimum(open_votes, tied[:, rival])
            others = total - tied[:, rival] - tied[:, leader]
            forced = np.maximum(open_votes - gained - others, 0)
            least = np.minimum(least, certain[:, leader] + forced - certain[:, rival] - gained)
        lead = np.maximum(lead, least)
    return lead
