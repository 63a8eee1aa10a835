"""Primal-dual hybrid gradient: hinges plus a norm, to a proven distance from the minimum."""

from typing import NamedTuple

import numpy as np

from holdfast.learn.objective import Objective
from holdfast.learn.solvers.base import Callback, Run, Solution, Solver, StopReason
from holdfast.learn.spaces import Space
from holdfast.learn.terms import Gauge, Push

_EVERY = 40  # steps between two evaluations of the gap, each of which costs about as much as two steps
# Share of the objective at M = 0. Below it nearly all hinges are met, and tol is relative to it, not to the objective.
_SMALL = 0.01
_ENOUGH = 0.4  # restart when the gap has fallen to this share of the gap at the last restart
_LONGEST = 0.36  # restart in any case after this share of all steps: the usual constant of restarted methods


class HingeProblem:
    """``min over M ⪰ 0 of share · Σ_R [1 − f(M)]₊ + weight · g(M)``, f = d²(i, l) − d²(i, j). Its dual: ``max Σ_R y``
    over ``0 ≤ y ≤ share`` with ``g°(S(y)) ≤ weight``, ``S(y) = Σ_R y (X_il − X_ij)``, g° the polar of the gauge g.
    Every y, times ``weight / g°(S(y))`` if that is below 1, gives a lower bound of the minimum.
    """

    def __init__(self, objective):
        terms = {type(term): (weight, term) for weight, term in getattr(objective, "terms", ())}
        gauges = [pair for pair in terms.values() if isinstance(pair[1], Gauge)]
        if not isinstance(objective, Objective) or len(terms) != 2 or Push not in terms or not gauges:
            raise TypeError(
                "PrimalDual minimises hinges plus a norm such as SpectralNorm, over rows in memory and without a "
                "perturbation loss; use another solver for other objectives."
            )
        (self.weight, self.gauge), triplets = gauges[0], objective.triplets
        self.at_zero = terms[Push][0]  # the objective at M = 0
        self.share = self.at_zero / len(triplets)
        self._ij, self._il = triplets.ij, triplets.il
        X, pairs = objective.geometry.X, triplets.pairs
        self._D = X[pairs.first] - X[pairs.second]

    def forms(self, M: np.ndarray) -> np.ndarray:
        """f of every triplet."""
        d = np.einsum("rp,rp->r", self._D @ M, self._D)
        return d[self._il] - d[self._ij]

    def scatter(self, y: np.ndarray) -> np.ndarray:
        """``S(y)``, the adjoint of :meth:`forms`."""
        n = len(self._D)
        weights = np.bincount(self._il, y, n) - np.bincount(self._ij, y, n)
        used = np.flatnonzero(weights)
        D = self._D[used]
        return (D.T * weights[used]) @ D

    def primal(self, M: np.ndarray, f: np.ndarray) -> float:
        """The objective at M, whose forms are f."""
        return self.share * float(np.maximum(1.0 - f, 0.0).sum()) + self.weight * self.gauge.value_and_grad(M)[0]

    def dual(self, y: np.ndarray, S: np.ndarray) -> float:
        """The lower bound that y gives, whose scatter is S."""
        polar = self.gauge.polar(S)
        return float(y.sum()) * (1.0 if polar <= self.weight else self.weight / polar)

    def prox(self, M: np.ndarray, t: float) -> np.ndarray:
        """``argmin over Z ⪰ 0 of ½ ‖Z − M‖² + t · weight · g(Z)``."""
        return self.gauge.prox(M, t * self.weight)

    def norm(self) -> float:
        """The operator norm of :meth:`forms`, from above up to the error of 20 steps of the power method."""
        M, size = np.eye(self._D.shape[1]), 0.0
        for _ in range(20):
            M = self.scatter(self.forms(M))
            size = float(np.linalg.norm(M))
            if not size > 0.0:
                return 0.0
            M /= size
        return 1.02 * np.sqrt(size)  # a step that is too long by a percent would not converge


class _Point(NamedTuple):
    """A metric M with its forms f, and multipliers y with their scatter S."""

    M: np.ndarray
    f: np.ndarray
    y: np.ndarray
    S: np.ndarray


class PrimalDual(Solver):
    """``M ← prox(M + τ S(y))``, ``y ← clip(y + σ (1 − 2 f(M) + f(M_before)))``, restarted from averages.

    For :class:`HingeProblem`: hinges of triplets plus a norm of M. Such an objective has kinks wherever eigenvalues are
    equal, and its minimum is at one; gradient steps stop short of it (on sonar, with a spectral norm, L-BFGS ends 13 %
    above the minimum). Here the norm is never differentiated. Multipliers y of the triplets give a lower bound, and the
    run ends when the objective is proven to be within ``tol`` of the minimum, relatively, wherever it started. It takes
    thousands of steps, more where features differ in scale or are nearly collinear: standardise them.

    ``τσ`` is the inverse square of the operator norm of f; ``τ/σ`` starts at ``(‖M‖/‖y‖)²`` and is set again at every
    restart.

    Parameters
    ----------
    max_iter : int
        Of the steps, not of the recorded iterations: one in 40 is recorded.
    tol : float

    References
    ----------
    Chambolle and Pock, "A first-order primal-dual algorithm for convex problems with applications to imaging", Journal
    of Mathematical Imaging and Vision 40, 2011. Applegate, Hinder, Lu and Lubin, "Faster first-order primal-dual
    methods for linear programming using restarts and sharpness", Mathematical Programming 201, 2023.
    """

    requires = ("project",)

    def __init__(self, max_iter: int = 5000, tol: float = 1e-3):
        self.max_iter = max_iter
        self.tol = tol

    def minimize(self, fun, space: Space, x0: np.ndarray, callback: Callback | None = None) -> Solution:
        """The lowest point found from x0, and the lower bound of the minimum."""
        problem = fun if isinstance(fun, HingeProblem) else HingeProblem(fun)
        run = Run(self, fun, callback)
        norm, at = problem.norm(), self._first(problem, self.require(space).project(x0))
        best, x, bound = problem.primal(at.M, at.f), at.M, problem.dual(at.y, at.S)
        stopped = StopReason.CALLBACK if run.record(best, 0.0, x) else None
        if not norm > 0.0 or not at.y.any():  # no triplet says anything, or none is violated at M = 0
            return run.finish(x, best, stopped or StopReason.NO_STEP, lower_bound=bound)
        ratio = (float(np.linalg.norm(at.M)) or 1.0 / norm) / float(np.linalg.norm(at.y))
        base, gap_at_base = at, best - bound
        total, n = [np.zeros_like(part) for part in at], 0
        for step in range(1, self.max_iter + 1):
            at = _next(problem, at, ratio / norm, 1.0 / (ratio * norm))
            for part, summand in zip(total, at, strict=True):
                part += summand
            n += 1
            if step % _EVERY and step < self.max_iter:
                continue
            run.n_evaluations = step
            average = _Point(*(part / n for part in total))
            evaluated = [(problem.primal(p.M, p.f), problem.dual(p.y, p.S), p) for p in (at, average)]
            bound = max(bound, *(lower for _, lower, _ in evaluated))
            value, _, lowest = min(evaluated, key=lambda triple: triple[0])
            if value < best:
                best, x = value, lowest.M
            if run.record(best, ratio, x):
                stopped = StopReason.CALLBACK
            elif best - bound <= self.tol * max(best, _SMALL * problem.at_zero):
                stopped = StopReason.SMALL_GAP
            if stopped:
                break
            upper, lower, better = min(evaluated, key=lambda triple: triple[0] - triple[1])
            if upper - lower <= _ENOUGH * gap_at_base or (n >= _LONGEST * step and n >= 10 * _EVERY):
                moved, turned = np.linalg.norm(better.M - base.M), np.linalg.norm(better.y - base.y)
                if moved > 0 and turned > 0:
                    ratio = float(np.sqrt(ratio * moved / turned))
                at = base = better
                gap_at_base, total, n = min(gap_at_base, upper - lower), [np.zeros_like(part) for part in at], 0
        return run.finish(x, best, stopped, lower_bound=bound)

    def _first(self, problem: HingeProblem, M: np.ndarray) -> _Point:
        """M, and the multipliers of its violated triplets, short enough for the dual."""
        f = problem.forms(M)
        y = np.where(f < 1.0, problem.share, 0.0)
        S = problem.scatter(y)
        shorter = min(1.0, problem.weight / (problem.gauge.polar(S) or 1.0))
        return _Point(M, f, shorter * y, shorter * S)


def _next(problem: HingeProblem, at: _Point, tau: float, sigma: float) -> _Point:
    M = problem.prox(at.M + tau * at.S, tau)
    f = problem.forms(M)
    y = np.clip(at.y + sigma * (1.0 - 2.0 * f + at.f), 0.0, problem.share)
    return _Point(M, f, y, problem.scatter(y))
