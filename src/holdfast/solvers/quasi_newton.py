"""Limited-memory BFGS without constraints: the inverse Hessian from past moves, and a weak Wolfe line search."""

from collections.abc import Callable

import numpy as np
from numpy.linalg import norm
from scipy.linalg.lapack import dtrtrs

from holdfast.solvers.base import Function

_FIRST = 0.1  # of the size of x: the first step, when nothing is known of the curvature
_DECREASE, _CURVATURE = 1e-4, 0.9  # c1 and c2 of the Wolfe conditions, the customary values
_TRIALS = 20  # evaluations along a direction, at most: 2^-20 of a step is none


class InverseHessian:
    """``H g = γ (g − Y a) + S c``, with the last ``memory`` moves S of x and Y of the gradient as columns.

    ``R a = Sᵀ g`` and ``Rᵀ c = D a + γ (YᵀY a − Yᵀ g)``, where R is the upper triangle of ``SᵀY``, D its diagonal, and
    ``γ = sᵀy / yᵀy`` of the last move. Nothing is as large as the square of x.

    Parameters
    ----------
    memory : int
    size : int
        Of x.

    References
    ----------
    Byrd, Nocedal and Schnabel, "Representations of quasi-Newton matrices and their use in limited memory methods",
    Mathematical Programming 63, 1994, Eq. 3.1.
    """

    def __init__(self, memory: int, size: int):
        self._S, self._Y = np.zeros((2, memory, size))
        self._SY, self._YY = np.zeros((2, memory, memory))
        self._slots: list[int] = []  # rows of S and Y, oldest move first

    def learn(self, s: np.ndarray, y: np.ndarray) -> None:
        """Store a move; one without positive curvature ``sᵀy`` is left out, so that H stays positive definite."""
        if not s @ y > 1e-12 * (norm(s) * norm(y)):
            return
        full = len(self._slots) == len(self._S)
        slot = self._slots.pop(0) if full else len(self._slots)
        self._slots.append(slot)
        self._S[slot], self._Y[slot] = s, y
        self._SY[:, slot] = self._S @ y  # of SᵀY only the upper triangle is read: older s with newer y
        self._YY[:, slot] = self._YY[slot] = self._Y @ y

    def apply(self, g: np.ndarray) -> np.ndarray | None:
        """``H g``; None if no move is known."""
        if not self._slots:
            return None
        order = np.array(self._slots)
        R, YY = self._SY[np.ix_(order, order)], self._YY[np.ix_(order, order)]
        gamma = R[-1, -1] / YY[-1, -1]
        Yg = (self._Y @ g)[order]
        a = dtrtrs(R, (self._S @ g)[order])[0]
        c = dtrtrs(R, R.diagonal() * a + gamma * (YY @ a - Yg), trans=1)[0]
        used = slice(0, len(order))
        in_slots = np.empty((2, len(order)))
        in_slots[:, order] = a, c
        return gamma * (g - in_slots[0] @ self._Y[used]) + in_slots[1] @ self._S[used]


def descend(evaluate: Function, x: np.ndarray, memory: int, after: Callable[[], bool]) -> None:
    """Step down from x until ``after()``, called after every step, returns True, or no step lowers f.

    Parameters
    ----------
    evaluate : callable
        ``evaluate(x) -> value, gradient``, both arrays flat.
    x : ndarray of shape (size,)
    memory : int
        Past moves from which the curvature is estimated.
    after : callable
    """
    H = InverseHessian(memory, x.size)
    f, g = evaluate(x)
    while np.isfinite(f) and g.any():
        step = H.apply(g)
        if step is None:
            step = (_FIRST * norm(x) or 1.0) * (g / norm(g))
        found = _along(evaluate, x, f, g, -step)
        if found is None:
            return
        x_new, f, g_new = found
        H.learn(x_new - x, g_new - g)
        x, g = x_new, g_new
        if after():
            return


def _along(evaluate: Function, x: np.ndarray, f: float, g: np.ndarray, d: np.ndarray):
    """A point x + t d that fulfils the weak Wolfe conditions, its value and gradient; None if none is found.

    t is too long if f does not fall by ``c1 t |slope|``, too short if the slope there is still below ``c2 slope``. In
    between t is bisected, which works at kinks as well.

    References
    ----------
    Lewis and Overton, "Nonsmooth optimization via quasi-Newton methods", Mathematical Programming 141, 2013.
    """
    slope = g @ d
    if not slope < 0:
        return None
    near, far, t = 0.0, np.inf, 1.0
    lower = None
    for _ in range(_TRIALS):
        x_new = x + t * d
        f_new, g_new = evaluate(x_new)
        if f_new <= f + _DECREASE * t * slope:
            near, lower = t, (x_new, f_new, g_new)
            if g_new @ d >= _CURVATURE * slope:
                break
        else:
            far = t
        t = 2.0 * t if far == np.inf else 0.5 * (near + far)
    return lower
