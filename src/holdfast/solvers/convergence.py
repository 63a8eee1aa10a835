"""Tests of convergence, on the trace of a run."""

from itertools import pairwise


def small_decrease(trace: list[float], tol: float, patience: int) -> bool:
    """True if the objective fell by less than ``tol`` of itself over the last ``patience`` iterations."""
    if len(trace) <= patience:
        return False
    return trace[-patience - 1] - trace[-1] <= tol * abs(trace[-1])


def small_changes(trace: list[float], tol: float, n_changes: int) -> bool:
    """True if each of the last ``n_changes`` changes of the objective, up or down, is below ``tol`` of it."""
    if len(trace) <= n_changes:
        return False
    last, limit = trace[-n_changes - 1 :], tol * abs(trace[-1])
    return all(abs(after - before) < limit for before, after in pairwise(last))
