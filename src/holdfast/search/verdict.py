"""Score a candidate: the one place that decides which certificate is computed."""

from typing import Any, NamedTuple

import numpy as np

from holdfast.certificates.certify import DEFAULT_BUDGET, certify

WORK = 6000  # units of work a row, on as many rows as there are: on the UCI sets they decide all but 1 row in 100


class Verdict(NamedTuple):
    """Shares of rows: right and certified at the radius, and right."""

    certified: float
    accuracy: float


class Criterion(NamedTuple):
    """The criterion by which a search ranks candidates.

    Attributes
    ----------
    weight : float
        w of ``w · certified + (1 − w) · accuracy``.
    radius : float
        Predictions are to be certified at it.
    threat : Threat or None
    balanced : bool
        Whether every class counts alike, instead of every row.
    budget : int
        The work that a row of the winner, fitted to all rows, may take.
    """

    weight: float
    radius: float
    threat: Any = None
    balanced: bool = False
    budget: int = DEFAULT_BUDGET

    def of_share(self, share: float) -> "Criterion":
        """The criterion for candidates fitted to a share of the rows.

        A search takes work in proportion to the rows. So a candidate whose certificates cannot be afforded on all rows
        is not certified on few of them.
        """
        return self._replace(budget=int(self.budget * share))

    def about(self, X: np.ndarray, y: np.ndarray) -> "ScoredRows":
        """These rows, to be scored by this criterion."""
        return ScoredRows(X, y, row_weights(y, self.balanced), self)


class ScoredRows(NamedTuple):
    """Rows on which candidates are scored.

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
    """Weights that sum to 1: equal for all rows or, if ``balanced``, with equal sums for all classes."""
    if not balanced:
        return np.full(len(y), 1.0 / len(y))
    _, codes, counts = np.unique(y, return_inverse=True, return_counts=True)
    return 1.0 / (len(counts) * counts[codes])


def verdict(classifier, scored: ScoredRows) -> Verdict:
    """Certified accuracy at the radius and accuracy of a fitted classifier; only rows it gets right are certified."""
    right = classifier.predict(scored.X) == scored.y
    return scored.shares(stable_rows(classifier, scored, right), right)


def stable_rows(classifier, scored: ScoredRows, rows: np.ndarray) -> np.ndarray:
    """Mask of those among ``rows``, itself a mask, whose prediction is proven not to change at the radius."""
    out = np.zeros(len(rows), dtype=bool)
    if rows.any():
        criterion = scored.objective
        certificate = certify(
            classifier,
            scored.X[rows],
            threat=criterion.threat,
            at=criterion.radius,
            budget=min(WORK, criterion.budget),
            witness=False,
            n_jobs=1,
        )
        out[rows] = np.equal(certificate.stable, True)
    return out
