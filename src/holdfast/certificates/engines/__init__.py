"""Engines: algorithms that bound the smallest move that changes a vote.

:data:`ENGINES` is the registry that :func:`choose` reads; an engine is a function here and one entry there.
"""

from dataclasses import replace

import numpy as np

from holdfast.certificates.engines.base import Engine as Engine
from holdfast.certificates.engines.distances import distance_ranges as distance_ranges
from holdfast.certificates.engines.linear import closed_form as closed_form
from holdfast.certificates.engines.neighbors import exact_1nn as exact_1nn
from holdfast.certificates.engines.neighbors import exact_knn as exact_knn
from holdfast.certificates.engines.neighbors import from_nearby
from holdfast.certificates.engines.neighbors import knn_lower as knn_lower
from holdfast.certificates.questions import Bounds, Budget, NeighborProblem, Problem

# In order of preference: the first that handles a problem is used.
ENGINES: list[Engine] = [closed_form, exact_1nn, exact_knn, knn_lower, distance_ranges]


def choose(problem: Problem, fast: bool = False) -> Engine:
    """Choose the first engine of :data:`ENGINES` that handles the problem.

    Parameters
    ----------
    problem : Problem
    fast : bool, default=False
        Whether to take only engines that do not search.
    """
    for engine in ENGINES:
        if engine.handles(problem) and (engine.fast or not fast):
            return engine
    raise TypeError(f"No engine handles a {type(problem).__name__} in the norm {problem.norm.name!r}.")


def solve(
    problem: Problem,
    queries: np.ndarray,
    prediction: np.ndarray,
    inputs: np.ndarray | None,
    *,
    fast: bool,
    budget: Budget,
    n_jobs: int | None,
    memory: float,
) -> Bounds:
    """Bounds by the engine that :func:`choose` finds, from the nearest reference points where these are enough."""
    engine = choose(problem, fast)
    problem, alpha, beta = problem.to_sound_range()
    queries = alpha * queries
    if budget.at is not None:
        budget = replace(budget, at=budget.at / beta)  # spent stays the array of the caller
    if isinstance(problem, NeighborProblem):
        bounds = from_nearby(engine, problem, queries, prediction, inputs, n_jobs, memory, budget)
    else:
        bounds = engine(problem, queries, prediction, inputs=inputs, n_jobs=n_jobs, budget=budget)
    return Bounds(_times(beta, bounds.lower), beta * bounds.upper, bounds.delta)


def _times(beta: float, lower: np.ndarray) -> np.ndarray:
    """``beta · lower``, rounded down where it leaves the range of normal numbers."""
    with np.errstate(over="ignore"):
        out = beta * lower
    limits = np.finfo(np.float64)
    out = np.where(np.isinf(out) & np.isfinite(lower), limits.max, out)
    return np.where(out < limits.tiny, np.nextafter(out, 0.0), out)
