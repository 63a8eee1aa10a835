"""The verdicts on every number of voters and every margin to prune under one metric, from one pass over a fold."""

from collections.abc import Sequence
from typing import Any

import numpy as np
from scipy.spatial.distance import cdist

from holdfast.certificates.certify import as_threat
from holdfast.certificates.problems import NeighborProblem
from holdfast.certificates.problems.neighbors import winners
from holdfast.certificates.threat_encoding import read_for
from holdfast.certificates.training_rows import fitted_threat
from holdfast.certificates.voting import voter_for
from holdfast.models import CertifiedKNeighborsClassifier
from holdfast.models.pruning import prune
from holdfast.search.verdict import ScoredRows, Verdict, stable_rows, verdict
from holdfast.search.vote_counts import count_rivals, surely_kept

_WORST = Verdict(0.0, 0.0)
_PROMISE = 0.4  # about this share of the rows that are right, and that the bound leaves open, turns out to be certified
_BLOCK = 4_000_000  # squared distances computed at once: 32 MB


def neighbor_verdicts(
    learner, X: np.ndarray, y: np.ndarray, heads: Sequence[dict[str, Any]], scored: ScoredRows, n_searched: int
) -> list[Verdict]:
    """The verdict on each head under a fitted metric; a head that cannot be fitted scores 0.

    Distances, votes and the fast lower bound are found once for all heads. Rows that are right, and that the bound
    leaves open, are searched, but only for the ``n_searched`` heads with the highest estimated objective; for the
    other heads the bound alone gives the certified share.

    Parameters
    ----------
    learner : fitted metric learner
    X, y : ndarrays
        Training rows and labels.
    heads : sequence of dict
        ``n_neighbors`` and ``prune``.
    scored : ScoredRows
    n_searched : int
    """
    codes = np.unique(y, return_inverse=True)[1]
    margins = sorted({head["prune"] for head in heads})
    kept = {margin: _kept(X, codes, learner.components_, margin) for margin in margins}
    fits = [len(kept[head["prune"]]) >= head["n_neighbors"] for head in heads]
    problem = _problem(CertifiedKNeighborsClassifier(learner, 1, n_jobs=1).fit(X, y), scored)

    def classifier(head) -> CertifiedKNeighborsClassifier:
        rows = kept[head["prune"]]
        return CertifiedKNeighborsClassifier(learner, head["n_neighbors"], n_jobs=1).fit(X[rows], y[rows])

    if problem is None:  # moves whose halfspaces are cut by a box: no bound here serves all heads
        return [verdict(classifier(head), scored) if fit else _WORST for head, fit in zip(heads, fits, strict=True)]
    masks = np.zeros((len(margins), len(X)), dtype=bool)
    for mask, margin in zip(masks, margins, strict=True):
        mask[kept[margin]] = True
    votes = _votes(problem, masks, [head["n_neighbors"] for head in heads], learner.components_, np.unique(y), scored)
    verdicts: list[Verdict] = []
    masks_of_heads = []
    for head, fit in zip(heads, fits, strict=True):
        p, k = margins.index(head["prune"]), head["n_neighbors"]
        right, sure = (votes[k][0][:, p], votes[k][1][:, p]) if fit else (np.zeros(len(scored.y), bool),) * 2
        masks_of_heads.append((right, sure))
        verdicts.append(scored.shares(sure, right))
    share = scored.objective.weight * (1.0 - _PROMISE)  # of the objective that the bound decides
    promise = [share * v.certified + (1.0 - share) * v.accuracy for v in verdicts]
    for h in sorted(range(len(heads)), key=lambda h: (-promise[h], h))[:n_searched]:
        right, sure = masks_of_heads[h]
        if fits[h]:
            verdicts[h] = scored.shares(sure | stable_rows(classifier(heads[h]), scored, right & ~sure), right)
    return verdicts


def _kept(X: np.ndarray, codes: np.ndarray, L: np.ndarray, margin: float) -> np.ndarray:
    """The rows that remain after pruning by a margin; none if too many rows are in conflict."""
    try:
        return prune(X, codes, L, margin)
    except ValueError:
        return np.zeros(0, dtype=np.int64)


def _problem(classifier, scored: ScoredRows) -> NeighborProblem | None:
    """The vote of all training rows, for the moves of the threat; None unless these are all moves of some features."""
    threat = as_threat(scored.objective.threat, 2, None, None, None)
    voter = voter_for(classifier)
    reading = read_for(fitted_threat(threat, classifier, None, voter.feature_names), voter)
    moves = reading.moves
    limited = moves.confined or moves.relations is not None or moves.integer is not None
    if limited or reading.categories is not None or threat.classes is not None:
        return None
    problem = voter.problem(voter.fold.before, moves)
    assert isinstance(problem, NeighborProblem)
    return problem


def _votes(
    problem: NeighborProblem, kept: np.ndarray, neighbors, L: np.ndarray, classes: np.ndarray, scored: ScoredRows
):
    """For each number of voters, two masks of shape (m, n_sets): right; and right, with no move that changes it."""
    largest, C = max(neighbors), problem.n_classes
    truth = np.searchsorted(classes, scored.y)
    truth[classes[np.minimum(truth, C - 1)] != scored.y] = -1  # a class that no training row has
    queries, m, n = scored.X @ L.T, len(scored.y), len(problem.points)
    out: dict[int, tuple[list, list]] = {k: ([], []) for k in neighbors}
    step = max(1, _BLOCK // n)
    for start in range(0, m, step):
        part = slice(start, min(start + step, m))
        D = cdist(queries[part], problem.points, "sqeuclidean")
        near = np.full((len(D), len(kept), largest), -1, dtype=np.int64)
        counts = np.zeros((len(D), len(kept), C, largest // 2 + 1), dtype=np.int64)
        count_rivals(
            D, np.argsort(D, axis=1, kind="stable"), problem.slopes, problem.labels, truth[part], kept,
            2.0 * scored.objective.radius, problem.coordinates.lipschitz, problem.moves.norm.code,
            np.empty(max(128, largest + 2), dtype=np.int64), near, counts,
        )  # fmt: skip
        for k, (right, sure) in out.items():
            voted = near[:, :, :k].reshape(-1, k)
            answers = winners(np.maximum(voted, 0), C).reshape(len(D), -1)
            right.append((answers == truth[part, None]) & (near[:, :, k - 1] >= 0))
            sure.append(right[-1] & surely_kept(counts, k))
    return {k: (np.concatenate(right), np.concatenate(sure)) for k, (right, sure) in out.items()}
