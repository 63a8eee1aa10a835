"""Score a candidate: the one place that decides which certificate is computed."""

from typing import Any, NamedTuple

import numpy as np

from holdfast.certificates.certify import certify

NODES = 300  # a row, of the search for a verdict: on the UCI sets all but 1 row in 100 is decided by so many


class Verdict(NamedTuple):
    """Shares of rows: right and certified at the radius, and right."""

    certified: float
    accuracy: float


class Criterion(NamedTuple):
    """The criterion by which a search ranks candidates.

    Attributes
    ----------
    weight : float
        w: of ``w · certified + (1 − w) · accuracy``.
    radius : float
        At which answers are to be certified.
    threat : Threat or None
    balanced : bool
        Count classes alike, in place of rows.
    """

    weight: float
    radius: float
    threat: Any = None
    balanced: bool = False

    def about(self, X: np.ndarray, y: np.ndarray) -> "ScoredRows":
        """The question about these rows."""
        return ScoredRows(X, y, row_weights(y, self.balanced), self)


class ScoredRows(NamedTuple):
    """Rows that a candidate is asked about.

    Attributes
    ----------
    X, y : ndarrays
        Rows and their labels.
    weights : ndarray of shape (n_rows,)
        How much each row counts in a share; they sum to 1.
    objective : Criterion
    """

    X: np.ndarray
    y: np.ndarray
    weights: np.ndarray
    objective: Criterion

    def shares(self, certified: np.ndarray, right: np.ndarray) -> Verdict:
        """The shares of rows that are right and certified (two masks), and right."""
        return Verdict(float(self.weights[certified & right].sum()), float(self.weights[right].sum()))


def row_weights(y: np.ndarray, balanced: bool) -> np.ndarray:
    """Weights that sum to 1, of rows alike, or of classes alike."""
    if not balanced:
        return np.full(len(y), 1.0 / len(y))
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    return 1.0 / (len(counts) * counts[codes])


def verdict(classifier, question: ScoredRows) -> Verdict:
    """Certified accuracy at the radius and accuracy of a fitted classifier; what it gets wrong is not certified."""
    right = classifier.predict(question.X) == question.y
    return question.shares(stable_rows(classifier, question, right), right)


def stable_rows(classifier, question: ScoredRows, rows: np.ndarray) -> np.ndarray:
    """A mask: those of the rows (a mask too) whose answer is proven not to change at the radius."""
    out = np.zeros(len(rows), dtype=bool)
    if rows.any():
        asked = question.objective
        certificate = certify(
            classifier, question.X[rows], threat=asked.threat, at=asked.radius, budget=NODES, witness=False, n_jobs=1
        )
        out[rows] = np.equal(certificate.stable, True)
    return out
