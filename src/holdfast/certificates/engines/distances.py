"""Votes that depend on distances themselves: bounds by intervals of every distance."""

from dataclasses import replace

import numpy as np

from holdfast.certificates.engines.base import Engine
from holdfast.certificates.engines.neighbors import exact_1nn, exact_knn
from holdfast.certificates.questions import (
    Bounds,
    Budget,
    DistanceProblem,
    NeighborProblem,
    Problem,
    kappa,
    lengths,
    order_statistic_bound,
    weighted_order_bound,
)

_COARSE, _FINE = 60, 16  # halvings: with Lipschitz constants alone, and with the range of every coordinate
_PASS, _FEWEST = 4, 8  # the work of a slow halving for each number in the points; halvings whatever the budget
_TARGETS = 32  # nearest points of the predicted class that are used, or twice as many as an order statistic needs
_REFINED = 64  # points of other classes (2k more) whose pairs get the tighter, slower bound
_ROOTS = 24  # halvings for a pair
_SHARE, _ROUGH = (
    40,
    400,
)  # of the budget, one part in so many goes into the search for moves to look for witnesses along:
# the second where all points within a radius vote, of which the nearest k are only a likeness


def _distance_ranges(
    problem: DistanceProblem,
    queries: np.ndarray,
    prediction: np.ndarray,
    *,
    inputs: np.ndarray | None,
    n_jobs: int | None,
    budget: Budget,
) -> Bounds:
    """The larger of two sizes that are certified for each query: by ranges (Lemma D1) and by pairs (Lemmas D2, D3)."""
    reach = _Reach(problem)
    lower = np.zeros(len(queries))
    room = problem.room(inputs, len(queries)) if reach.boxed else (None, None)
    fine = int(np.clip(budget.operations // (_PASS * problem.points.size), _FEWEST, _FINE))
    for t, (u, y) in enumerate(zip(queries, prediction, strict=True)):
        down, up = (None if side is None else side[t] for side in room)
        row = _Query(problem, reach, u, int(y), None if inputs is None else inputs[t], down, up)
        lower[t] = row.radius(fine)
    wrong = problem.vote(queries) != prediction
    lower[wrong] = 0.0
    return Bounds(lower, np.full(len(queries), np.inf), _unchecked_moves(problem, queries, inputs, n_jobs, budget))


def _unchecked_moves(problem: DistanceProblem, queries, inputs, n_jobs, budget: Budget) -> np.ndarray:
    """Moves to look for witnesses along, not checked: they change the unweighted Euclidean vote of k points."""
    k = problem.n_neighbors or min(_TARGETS, int(np.sum(problem.labels == problem.labels[0])))
    plain = NeighborProblem(
        problem.points, problem.labels, problem.T, k, problem.moves, problem.n_classes, "lowest", problem.scale,
        problem.absolute, problem.n_steps, problem.n_terms, shared=False,
    )  # fmt: skip
    engine = exact_1nn if exact_1nn.handles(plain) else exact_knn
    if not engine.handles(plain):
        return np.full((len(queries), problem.T.shape[1]), np.nan)
    few = replace(
        budget, work=budget.work // (_SHARE if problem.n_neighbors else _ROUGH), at=None, spent=None, ended=None
    )
    return engine(plain, queries, plain.vote(queries), inputs=inputs, n_jobs=n_jobs, budget=few).delta


class _Reach:
    """How far moves of size 1 carry a query: in the p-norm, and in every coordinate."""

    def __init__(self, problem: DistanceProblem):
        self.T, absolute = problem.moves.in_units(problem.T), problem.moves.in_units(problem.absolute)
        self.norm = problem.moves.free_norm
        p, r = problem.p, problem.T.shape[0]
        coordinates = self.norm.coordinates(self.T, absolute, reduce=True)
        self.growth = coordinates.growth
        self.spread = r ** max(0.0, 1.0 / p - 0.5)  # ‖v‖_p ≤ spread ‖v‖₂
        rows = self.norm.dual_lengths(self.T) + self.norm.dual_error(self.T)
        self.single = rows * (1.0 + 1e-12)  # |(Tδ)_c| ≤ single_c ‖δ‖
        columns = self.norm.absolute_lengths(lengths(self.T.T, p)[None]) if self.T.shape[1] else np.zeros(1)
        whole = self.spread * coordinates.lipschitz
        self.whole = min(float(columns[0]), float(lengths(self.single, p)), whole) * (1.0 + 1e-12)
        self.boxed = problem.moves.boxed
        self.positive, self.negative = np.maximum(self.T, 0.0), np.maximum(-self.T, 0.0)
        self.largest = problem.magnitude()
        self.kappa = kappa(problem.T.shape[0], problem.T.shape[1], problem.n_steps, False, problem.n_terms)


class _Query:
    """One query: the sizes at which its vote is certified."""

    def __init__(self, problem: DistanceProblem, reach: _Reach, u, y: int, x, down, up):
        self.problem, self.reach, self.u, self.y, self.down, self.up = problem, reach, u, y, down, up
        self.d = problem.distances(u)
        self.size = max(reach.largest, float(np.linalg.norm(u))) + problem.scale
        if x is not None:
            self.size += float(np.linalg.norm(problem.absolute @ np.abs(x)))
        self.size *= 1.0 + 1e-12
        # Distances that differ by this many errors have weights whose sums are ordered alike, however they are rounded.
        self.strictness = 2.0 + problem.n_neighbors / 16.0 if problem.weighted else 1.0

    def radius(self, fine: int) -> float:
        """The largest size found that is certified, by so many of the slow halvings."""
        whole = self.reach.whole
        if whole == 0.0:
            return np.inf if self.problem.holds(*self.ranges(0.0, False), self.y) else 0.0
        most = np.inf
        if self.down is not None:
            most = float(self.reach.norm.lengths(np.maximum(self.down, self.up)[None])[0])
            if np.isfinite(most) and self.problem.holds(*self.ranges(most, True), self.y):
                return np.inf
        far = min(2.0 * (float(self.d.max()) + self.problem.within) / whole, most)  # beyond, nothing is certified here
        pairs = self.from_pairs(far) if self.problem.n_neighbors else 0.0
        low = self.bisect(0.0, far, _COARSE, coordinates=False)
        low = self.bisect(max(low, pairs), far, fine, coordinates=True)
        return max(low, pairs)

    def bisect(self, low: float, far: float, steps: int, coordinates: bool) -> float:
        """The largest size tried between ``low`` and ``far`` at which the vote holds."""
        high = far
        size = low * 1.02 if coordinates and low > 0 else 0.5 * (low + far)
        for _ in range(steps):
            if not low < size < high:
                break
            if self.problem.holds(*self.ranges(size, coordinates), self.y):
                low, size = size, min(size * 1.5, 0.5 * (size + high)) if coordinates else 0.5 * (size + high)
            else:
                high, size = size, 0.5 * (low + size)
            if high <= low * (1.0 + 1e-4):
                break
        return low

    def error(self, size: float) -> float:
        """Rounding of a squared Euclidean distance, or of any other distance, after moves up to ``size`` (Lemma D3)."""
        far = self.size + self.reach.growth * size
        if self.problem.p == 2:
            return 2.0 * self.reach.kappa * far * far
        least = (len(self.u) * np.finfo(float).tiny) ** (1.0 / self.problem.p) if np.isfinite(self.problem.p) else 0.0
        return 8.0 * self.reach.spread * self.reach.kappa * far + least

    def interval(self, size: float) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest value of every coordinate of the query after moves up to ``size``."""
        down = up = size * self.reach.single
        if self.down is not None:
            a, b = np.minimum(self.down, size), np.minimum(self.up, size)
            down = np.minimum(down, (self.reach.positive @ a + self.reach.negative @ b) * (1.0 + 1e-12))
            up = np.minimum(up, (self.reach.positive @ b + self.reach.negative @ a) * (1.0 + 1e-12))
        return self.u - down, self.u + up

    def ranges(self, size: float, coordinates: bool) -> tuple[np.ndarray, np.ndarray]:
        """The least and the largest distance of every point after moves up to ``size``, as the model computes them."""
        way = self.reach.whole * size
        least, most = np.maximum(self.d - way, 0.0), self.d + way
        if coordinates:
            low, high = self.interval(size)
            points = self.problem.points
            below, above = low - points, points - high
            least = np.maximum(least, lengths(np.maximum(np.maximum(below, above), 0.0), self.problem.p))
            most = np.minimum(most, lengths(np.maximum(high - points, points - low), self.problem.p))
        error = self.error(size)
        if self.problem.p == 2:
            return np.sqrt(np.maximum(least**2 - error, 0.0)), np.sqrt(most**2 + error)
        return np.maximum(least - error, 0.0), most + error

    def from_pairs(self, far: float) -> float:
        """The order-statistic bound of Lemma B1 or D2 over pairs, for moves up to ``far``."""
        k, labels, p = self.problem.n_neighbors, self.problem.labels, self.problem.p
        Q = k // 2 + 1
        targets, others = np.flatnonzero(labels == self.y), np.flatnonzero(labels != self.y)
        if not others.size:
            return np.inf
        if not targets.size:
            return 0.0
        targets = targets[np.argsort(self.d[targets], kind="stable")[: max(_TARGETS, 2 * Q)]]
        error = self.error(far) * self.strictness

        def orders(pairs: np.ndarray) -> np.ndarray:
            padded = np.hstack([pairs, np.zeros((len(pairs), max(0, Q - targets.size)))])
            return -np.sort(-padded, axis=1)[:, :Q]

        far_l, near_j = self.d[others][:, None], self.d[targets][None]
        with np.errstate(divide="ignore", invalid="ignore"):
            lost = error / (far_l + near_j) if p == 2 else 2.0 * error
            pairs = np.nan_to_num(np.maximum((far_l - near_j - lost) / (2.0 * self.reach.whole), 0.0)) * (1.0 - 1e-12)
        E = orders(pairs)
        least = np.argsort(E[:, -1], kind="stable")[: _REFINED + 2 * k]  # the points that decide the bound
        tighter = _plane_pairs if p == 2 else _bent_pairs
        E[least] = np.maximum(E[least], orders(np.maximum(pairs[least], tighter(self, others[least], targets, far))))
        bound = weighted_order_bound if self.problem.weighted else order_statistic_bound
        return min(bound(np.minimum(E, far), labels[others], k), far)


def _plane_pairs(row: _Query, others: np.ndarray, targets: np.ndarray, far: float) -> np.ndarray:
    """Euclidean: the distance to the halfspace in which l is no farther than j, ``(f − error) / 2‖a‖*`` (Lemma R3)."""
    points, norm = row.problem.points, row.reach.norm
    step = points[others][:, None] - points[targets]
    level = np.einsum("ljr,ljr->lj", step, points[others][:, None] + points[targets] - 2.0 * row.u)
    slopes = (step @ row.reach.T).reshape(level.size, -1)
    dual = (norm.dual_lengths(slopes) * (1.0 + 1e-12) + norm.dual_error(slopes)).reshape(level.shape)
    left = np.maximum(level - row.error(far) * row.strictness, 0.0)
    return np.divide(left, 2.0 * dual, out=np.where(left > 0, np.inf, 0.0), where=dual > 0) * (1.0 - 1e-12)


def _bent_pairs(row: _Query, others: np.ndarray, targets: np.ndarray, far: float) -> np.ndarray:
    """Other metrics: ``Σ_c |v_c − l_c|^p − |v_c − j_c|^p`` falls in every coordinate towards l (Lemma D3).

    So in the box of all queries in reach it is least at the corner towards l; its first zero is found by halving. For
    p = 1 it falls by at most 2 for each unit of a coordinate that lies on the near side of l.
    """
    p, reach = row.problem.p, row.reach
    out = np.zeros((len(others), len(targets)))
    if np.isinf(p):
        return out
    l, j = row.problem.points[others][:, None], row.problem.points[targets][None]
    way = np.sign(l - j)
    error = row.error(far) * row.strictness
    if p == 1:
        slope = 2.0 * ((way != 0) & ((l - row.u) * way > 0)).astype(float)
        level = row.d[others][:, None] - row.d[targets] - 2.0 * error
        dual = reach.norm.absolute_lengths((slope @ np.abs(reach.T)).reshape(level.size, -1)).reshape(level.shape)
        with np.errstate(divide="ignore", invalid="ignore"):
            out = np.where(level > 0, np.where(dual > 0, level / (dual * (1.0 + 1e-12)), np.inf), 0.0)
    low, high = np.zeros(out.shape), np.full(out.shape, far)
    # A difference m of p-th powers is one of at least m / (p D^(p−1)) of the distances, all of which are below D.
    widest = row.d.max() + reach.whole * far + error
    allowed = 2.0 * error * p * widest ** (p - 1.0)
    toward_l = way > 0
    for _ in range(_ROOTS):
        size = 0.5 * (low + high)
        corner = row.u + np.where(toward_l, 1.0, -1.0) * reach.single * size[..., None]
        if row.down is not None:
            corner = _within(row, corner, size, toward_l)
        gap = np.sum(np.abs(corner - l) ** p - np.abs(corner - j) ** p, axis=-1)
        holds = gap > allowed
        low, high = np.where(holds, size, low), np.where(holds, high, size)
    return np.maximum(out, low * (1.0 - 1e-12))


def _within(row: _Query, corner: np.ndarray, size: np.ndarray, toward_l: np.ndarray) -> np.ndarray:
    """The corner, no farther than the box lets the query go."""
    room = np.minimum(row.down, size[..., None]), np.minimum(row.up, size[..., None])
    down = (room[0] @ row.reach.positive.T + room[1] @ row.reach.negative.T) * (1.0 + 1e-12)
    up = (room[1] @ row.reach.positive.T + room[0] @ row.reach.negative.T) * (1.0 + 1e-12)
    return np.where(toward_l, np.minimum(corner, row.u + up), np.maximum(corner, row.u - down))


def _handles(problem: Problem) -> bool:
    return isinstance(problem, DistanceProblem)


distance_ranges = Engine("distance_ranges", _distance_ranges, _handles, tight=False, fast=True)
