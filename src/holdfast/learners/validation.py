"""Early stopping: the loss on triplets of rows that were held out says when to stop."""

from dataclasses import replace

import numpy as np

from holdfast.backends import Terms
from holdfast.learn import Triplets, TripletTerm
from holdfast.learn.objective import Objective
from holdfast.learn.solvers import Solution, StopReason
from holdfast.parameters import check_number

AUTO_FRACTION = 0.2  # held out by "auto"; chosen by measurement, see benchmarks/yang/FINDINGS.md
AUTO_ROWS = 50  # with fewer rows "auto" holds none out: ten of them say little
_PATIENCE = 10  # iterations without a lower loss after which a fit ends, as n_iter_no_change in scikit-learn


class Validation:
    """``Σ weight · mean(term)`` over the triplets of held-out anchors, after every iteration; it keeps the best.

    A fit can go on lowering its own loss by stretching a few directions, which no held-out row confirms
    (``benchmarks/yang/FINDINGS.md``).

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    triplets : Triplets
        Of the held-out anchors, see :func:`divide`.
    terms : list of (weight, term)
        Of the objective; those over triplets of the fit are used, neither pull nor regularisers.
    B : ndarray or None
        As for :class:`~holdfast.learn.objective.Objective`.
    n_jobs : int or None

    Attributes
    ----------
    losses : list of float
        After every iteration.
    """

    def __init__(self, X, triplets: Triplets, terms: Terms, B, n_jobs: int | None):
        over_R = [(weight, term) for weight, term in terms if isinstance(term, TripletTerm) and term.over == "R"]
        self._objective = Objective(X, triplets, over_R, B, n_jobs)
        self.losses: list[float] = []
        self._best, self._best_x = 0, np.empty(0)  # the iteration of the lowest loss, and its parameters

    def __call__(self, M: np.ndarray, x: np.ndarray) -> bool:
        """Note the loss of M, for which the parameters x stand; True if the fit should end."""
        self.losses.append(self._objective(M)[0])
        last = len(self.losses) - 1
        if last == 0 or self.losses[last] < self.losses[self._best]:
            self._best, self._best_x = last, x.copy()
        return last - self._best >= _PATIENCE

    def choose(self, solution: Solution, stopped: bool) -> Solution:
        """The solution at the iteration of the lowest loss; ``stopped`` says that the validation ended the run."""
        found = replace(solution, x=self._best_x, value=solution.trace[self._best])
        if not stopped:
            return found
        reason = StopReason.VALIDATION
        return replace(found, reason=reason, message=reason.sentence(patience=_PATIENCE))

    def __enter__(self) -> "Validation":
        return self

    def __exit__(self, *exc) -> None:
        self._objective.close()


def check_fraction(owner: str, fraction) -> None:
    """Raise ``ValueError`` unless this is None, "auto" or a number in (0, 1)."""
    if isinstance(fraction, str) and fraction != "auto":
        raise ValueError(f"{owner}: validation_fraction must be None, 'auto' or a number; got {fraction!r}.")
    if fraction is not None and not isinstance(fraction, str):
        check_number(owner, "validation_fraction", fraction, above=0, below=1)


def divide(X: np.ndarray, triplets: Triplets, fraction: float) -> tuple[Triplets, Triplets]:
    """The triplets to fit, and those to validate on.

    Rows are held out, not triplets: no triplet of the fit names one of them, and the other two points of a validation
    triplet are rows of the fit.
    """
    out = held_out(X, fraction)
    inside = ~out[triplets.j] & ~out[triplets.l]
    return triplets.take(inside & ~out[triplets.i]), triplets.take(inside & out[triplets.i])


def held_out(X: np.ndarray, fraction: float) -> np.ndarray:
    """Mask of rows to hold out: evenly spaced in the lexicographic order of the rows.

    So the choice does not depend on the order in which the rows are given, and needs no random numbers.

    Examples
    --------
    >>> held_out(np.array([[3.0], [1.0], [4.0], [2.0]]), 0.5).tolist()
    [True, True, False, False]
    """
    n = len(X)
    so_far = np.floor(fraction * np.arange(n + 1) + 0.5)
    mask = np.zeros(n, dtype=bool)
    mask[np.lexsort(X.T[::-1])[np.diff(so_far) > 0]] = True
    return mask
