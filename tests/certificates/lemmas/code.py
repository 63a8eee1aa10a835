"""The kernel functions that the tests of the lemmas call: the one place to change when a module is renamed."""

import numpy as np
from numba import njit

from holdfast._core.active_set import (
    FACET,
    add_constraint,
    certified,
    certified_along,
    certified_sum,
    empty_active_set,
    facet_row,
    reload,
    violated_facet,
)
from holdfast._core.halfspace import Rounding, box_distance, safe_radius, slack_within
from holdfast._core.nearest import _out_of_reach, _ruled_out
from holdfast._core.relaxation import length_of_two as _length_of_two
from holdfast.base.blocks import round_to_bits, tree_sum
from holdfast.base.neighbors import _Search as NeighborSearch
from holdfast.base.neighbors import nearest
from holdfast.certificates.engines.neighbors import _horizon as horizon
from holdfast.certificates.questions import error_units, kappa, query_rounding, rounding_of

__all__ = [
    "NeighborSearch",
    "Rounding",
    "along_after_one_row",
    "box_distance",
    "certified_by_sum",
    "certified_radius",
    "empty_active_set",
    "error_units",
    "facet_of",
    "horizon",
    "kappa",
    "length_of_two",
    "nearest",
    "out_of_reach",
    "query_rounding",
    "round_to_bits",
    "rounding_of",
    "ruled_out",
    "safe_radius",
    "tree_sum",
]

# Which dual length stands for which norm of the move.
DUAL = {"l2": 0, "linf": 1, "l1": 2}


def certified_radius(A: np.ndarray, c: np.ndarray, multipliers: np.ndarray, rounding: Rounding) -> float:
    """What the solver certifies for the rows ``A z ≥ c`` from any multipliers."""
    active = empty_active_set(A.shape[1])
    rows = len(c)
    active.A[:rows], active.multipliers[:rows], active.levels[:rows] = A, multipliers, c
    active.n_active[0] = rows
    return _reload_and_certify(active, rounding)


@njit
def _reload_and_certify(active, rounding):
    reload(active)
    return certified(active, rounding)


def certified_by_sum(A: np.ndarray, c: np.ndarray, weights: np.ndarray, ball: int, sigma: float, rounding: Rounding):
    """What any weights of the rows ``A δ ≥ c`` certify in L1 or L∞; one row is a facet, which is left out."""
    rows, d = A.shape
    active = empty_active_set(d + 1)
    active.A[:rows, :d], active.multipliers[:rows], active.levels[:rows] = A / sigma, weights, c
    active.A[rows], active.multipliers[rows], active.tags[rows, 0] = 1.0, 7.0, FACET
    active.n_active[0] = rows + 1
    return _sum(active, ball, sigma, rounding, np.zeros(d + 1))


@njit
def _sum(active, ball, sigma, rounding, out):
    return certified_sum(active, active.multipliers, 1.0, 0.0, out.copy(), 0.0, ball, sigma, rounding, out)


@njit
def length_of_two(along, climb, steep, c):
    """The length of moves that two rows ask for."""
    return _length_of_two(along, climb, steep, c)


@njit
def facet_of(z, ball, sigma):
    """The facet that ``z = (σδ, T)`` passes, by its own row and by its name; its name."""
    out, named = np.zeros(z.size), np.zeros(z.size)
    code = violated_facet(z, ball, sigma, out)
    if code >= 0:
        facet_row(code, ball, sigma, named)
    return code, out, named


@njit
def along_after_one_row(a, level, active, rounding, reach):
    """How far every solution goes along z once the row ``a · z ≥ level`` is active."""
    add_constraint(a, level, np.int64(0), np.int64(0), active, rounding)
    return certified_along(active, rounding, reach)


@njit
def out_of_reach(lipschitz, nearest, rounding, best):
    """The squared distance from which on an impostor is ruled out by it."""
    return _out_of_reach(lipschitz, nearest, slack_within(rounding, best), best)


@njit
def ruled_out(V, D, rounding, best):
    """Whether point 0 is ruled out by one of the others, which are targets in the order of their distances."""
    return _ruled_out(V, np.int64(0), np.arange(1, D.size), D.size - 1, D, slack_within(rounding, best), best)
