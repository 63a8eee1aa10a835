"""Votes behind an L2 normalisation ``z → z / ‖z‖``: distances to the rows ``a · z ≥ c ‖z‖``."""

from collections.abc import Callable
from dataclasses import replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from holdfast.affine import Affine
from holdfast.certificates.folding.cones import SHORTEST, Cones
from holdfast.certificates.folding.joint_cones import JointCones
from holdfast.certificates.moves import Moves
from holdfast.certificates.order_bounds import order_statistic_bound
from holdfast.certificates.problems import LinearProblem, NeighborProblem, Problem
from holdfast.certificates.rounding import UNIT_ROUNDOFF, kappa
from holdfast.numerics.sums import product_by_rows
from holdfast.numerics.threads import single_threaded_blas

if TYPE_CHECKING:
    from holdfast.certificates.folding.fold import Fold

_TARGETS = 32  # nearest points of the predicted class that are used, or twice as many as an order statistic needs
_REFINED = 64  # points of other classes (2k more) whose cones get the tighter, slower bound
_JOINED = 24  # points of other classes whose cones are taken together
_MOST_EXCUSED = 1  # targets that may be excused then: votes of up to three neighbours
_COARSE = 1e-4  # rounding of a squared distance on the sphere from which on cones are used: they lose fewer digits
_LENGTHS = 64.0  # roundings of a sum by which squared lengths of points may differ from 1 and still count as 1


def unit_rows(Z: np.ndarray) -> np.ndarray:
    """Rows scaled to unit length as scikit-learn does: a row of length (nearly) 0 stays as it is."""
    length = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(length < SHORTEST, 1.0, length)


def left_out(fold: "Fold", points: np.ndarray) -> "Fold":
    """The fold without its normalisation, where the vote does not need it; else as it is (Lemma S1).

    Directly before a Euclidean vote of points of length 1, ``z / ‖z‖`` and z rank the points alike. Lengths that differ
    from 1 by rounding cost as much of the budget as so many more steps.
    """
    after = fold.after
    if after is None or not np.array_equal(after.W, np.eye(len(after.W))) or after.w0.any():
        return fold
    squares = np.einsum("nr,nr->n", points, points)
    unit = (points.shape[1] + 8) * UNIT_ROUNDOFF
    apart = float(np.abs(squares - 1.0).max()) * 2.0 / unit
    if (
        apart > _LENGTHS
        or kappa(fold.before.W.shape[0], fold.before.W.shape[1], n_terms=fold.before.n_terms) * fold.before.scale**2
        > _COARSE
    ):
        return fold
    more = after.n_steps + 2 + int(np.ceil(apart / 3.0))  # a step is worth three units (Lemma F2)
    return replace(fold, before=replace(fold.before, n_steps=fold.before.n_steps + more), after=None)


def radii_before_normalizer(
    problem: Problem, fold: "Fold", moves: Moves, rows: np.ndarray, codes: np.ndarray, fast: bool = False
):
    """Certified radii (m,) of votes after a normalisation, in the units of rows (Lemmas S2 to S4, B1).

    Parameters
    ----------
    problem : NeighborProblem or LinearProblem
        The vote on unit vectors.
    fold : Fold
        With its normalisation.
    moves : Moves
        Moves of rows. A box is ignored, which is sound.
    rows : ndarray of shape (m, d)
    codes : int ndarray of shape (m,)
        Predictions.
    fast : bool
        Whether to leave out rows taken together (Lemma S4).

    Returns
    -------
    radii : ndarray of shape (m,)
    ways : ndarray of shape (m, d)
        Moves to look for witnesses along, not checked; NaN where there is none.
    """
    assert fold.after is not None
    cone = Cones(fold.before, moves)
    neighbors = partial(_neighbor_radius, fast=fast)
    rule: Callable[..., float] = neighbors if isinstance(problem, NeighborProblem) else _linear_radius
    Z, U = fold.before(rows), fold(rows)
    size = np.linalg.norm(product_by_rows(np.abs(rows), fold.before.absolute), axis=1) + fold.before.scale
    out, ways = np.zeros(len(rows)), np.full(rows.shape, np.nan)
    with single_threaded_blas():  # small matrices
        for t, (z, u, y) in enumerate(zip(Z, U, codes, strict=True)):
            length = float(np.linalg.norm(z))
            if 1e-150 < length < 1e150 and problem.vote(u[None])[0] == y:  # else a square may over- or underflow
                cone.at(z, length, float(size[t]))
                out[t] = rule(problem, fold.after, cone, u, int(y))
                if cone.way is not None:
                    ways[t] = moves.spread(cone.way[None], rows.shape[1])[0]
    return out, ways


def linearised(problem, fold: "Fold", moves: Moves, row: np.ndarray, at: np.ndarray):
    """The vote with the normalisation replaced by its tangent at the row ``at``, and the query of ``row``.

    It is used to look for witnesses. The tangent is ``ẑ + (I − ẑẑᵀ)(z' − z)/‖z‖``.
    """
    assert fold.after is not None
    z = fold.before(at[None])[0]
    length = max(float(np.linalg.norm(z)), SHORTEST)
    across = fold.before.W - np.outer(z / length, z @ fold.before.W / length)
    T = fold.after.W @ across / length
    return replace(problem, T=T, absolute=np.abs(T), moves=moves), fold(at[None])[0] + T @ (row - at)


def _linear_radius(problem: LinearProblem, after: Affine, cone: Cones, u: np.ndarray, y: int) -> float:
    """The least distance to a cone ``(w_c − w_y) · û ≥ b_y − b_c`` over the other classes c."""
    others = np.delete(np.arange(problem.n_classes), y)
    unit = kappa(problem.T.shape[0], problem.T.shape[1], problem.n_steps + 2, n_terms=problem.n_terms)
    sizes = unit * (np.linalg.norm(problem.absolute, axis=1) + problem.cancellation + np.abs(after.w0))
    A, c = problem.T[others] - problem.T[y], after.w0[y] - after.w0[others]
    return float(cone.distances(A, c, 4.0 * (sizes[others] + sizes[y]), refine=True).min())


def _neighbor_radius(problem: NeighborProblem, after: Affine, cone: Cones, u: np.ndarray, y: int, fast: bool) -> float:
    """The order-statistic bound of Lemma B1, with distances to cones for distances to halfspaces.

    Of the points l that decide it, the cones of several targets are taken together.
    """
    k, labels, points = problem.n_neighbors, problem.labels, problem.points
    Q = k // 2 + 1
    targets, others = np.flatnonzero(labels == y), np.flatnonzero(labels != y)
    if not others.size:
        return np.inf
    near = np.argsort(np.sum((points[targets] - u) ** 2, axis=1), kind="stable")
    targets = targets[near[: max(_TARGETS, 2 * Q)]]
    S = problem.largest + np.linalg.norm(problem.absolute) + np.linalg.norm(after.w0) + problem.scale
    unit = kappa(problem.T.shape[0], problem.T.shape[1], problem.n_steps + 1, problem.shared, problem.n_terms)

    def cones(impostors: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Slopes and levels of all pairs of an impostor and a target, one after the other."""
        step = points[impostors][:, None] - points[targets]
        middle = 0.5 * (points[impostors][:, None] + points[targets]) - after.w0
        return (step @ problem.T).reshape(-1, problem.T.shape[1]), np.einsum("ljr,ljr->lj", step, middle).ravel()

    def orders(impostors: np.ndarray, refine: bool) -> np.ndarray:
        """``E_l^(q)`` for q = 0 … Q − 1, one row for each l."""
        A, c = cones(impostors)
        distances = cone.distances(A, c, np.full(len(c), 0.5 * unit * S * S), refine).reshape(len(impostors), -1)
        padded = np.hstack([distances, np.zeros((len(impostors), max(0, Q - targets.size)))])
        return -np.sort(-padded, axis=1)[:, :Q]

    E = np.vstack([orders(part, False) for part in np.array_split(others, 1 + others.size // 256)])
    least = np.argsort(E[:, -1], kind="stable")[: _REFINED + 2 * k]  # the points that decide the bound
    E[least] = np.maximum(E[least], orders(others[least], True))
    if fast or Q > _MOST_EXCUSED + 1:
        return order_statistic_bound(E, labels[others], k)
    joint, left = JointCones(cone, float(unit * S * S)), np.ones(len(others), bool)
    for _ in range(_JOINED):
        bound = order_statistic_bound(E, labels[others], k)
        deciding = np.flatnonzero(left & (E[:, -1] <= bound))
        if not deciding.size or not np.isfinite(bound):
            break
        l = deciding[np.argmin(E[deciding, -1])]
        left[l] = False
        E[l] = np.maximum(E[l], joint.orders(*cones(others[l : l + 1]), Q))
    cone.way = joint.way if np.isfinite(joint.shortest) else None
    return order_statistic_bound(E, labels[others], k)
