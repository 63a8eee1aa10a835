"""Scores of a classifier on held-out rows."""

from typing import Protocol, runtime_checkable

import numpy as np
from sklearn.metrics import get_scorer


@runtime_checkable
class TieBreakingScorer(Protocol):
    """A scorer that also returns a second score, which decides between equal first ones."""

    def score_and_tie_break(self, estimator, X, y) -> tuple[float, float]:
        """Both scores of a fitted classifier."""


def score(classifier, X: np.ndarray, y: np.ndarray, scoring) -> tuple[float, float]:
    """The score by "g_mean", by the name of a scorer of scikit-learn, or by a function ``(classifier, X, y)``.

    With it the tie-break of the scorer, 0 if it has none.
    """
    if scoring == "g_mean":
        return g_mean(y, classifier.predict(X)), 0.0
    scorer = scoring if callable(scoring) else get_scorer(scoring)
    if isinstance(scorer, TieBreakingScorer):
        return scorer.score_and_tie_break(classifier, X, y)
    return float(scorer(classifier, X, y)), 0.0


def g_mean(y_true, y_pred) -> float:
    """The geometric mean of the recalls of all classes in ``y_true``.

    Parameters
    ----------
    y_true, y_pred : array-likes of shape (n_samples,)

    Returns
    -------
    float

    Examples
    --------
    >>> round(g_mean([0, 0, 0, 0, 1], [0, 0, 0, 1, 1]) ** 2, 9)
    0.75
    """
    y_true, y_pred = np.asarray(y_true), np.asarray(y_pred)
    recalls = [np.mean(y_pred[y_true == c] == c) for c in np.unique(y_true)]
    return float(np.prod(recalls) ** (1.0 / len(recalls)))
