"""What rounding can do to a comparison of distances, and the radius that is left after it.

Let ``S`` bound the magnitudes behind a query: ``‖u‖``, every ``‖u_j‖``, and the terms that cancel when u is
computed from an input. After a move of length R they are at most ``S + g R`` (``g`` is ``Chart.growth``).
With ``m`` additions in the longest sum (over the r coordinates of a distance or the d inputs of a
coordinate), each sum has relative error at most ``γ = m ω / (1 − m ω)``, ``ω = 2⁻⁵³``, of the sum of the
absolute values. So for the difference of two squared distances ``f_lj``, in units of ``γ (S + gR)²``:

==========================================================================  ====
``‖u‖² − 2uᵀz + ‖z‖²`` (or ``Σ(u−z)²``), for l and for j, ``(‖u‖+‖z‖)²`` each     8
the moved query as computed, moved by ``γ(S + gR)``: ``2‖u_l − u_j‖`` times that  4
the reference points as computed, once each                                     8
our own ``f_lj``, in product form: ``‖u_l − u_j‖ ‖u_l + u_j − 2u‖``                8
==========================================================================  ====

28 in all; ``kappa`` takes 64, which leaves room for a few affine steps before the metric. A float64
evaluation of any of these kinds can call l nearer than j only where ``f_lj ≤ kappa (S + gR)²``. Every
certificate is of the form "``a · δ ≥ c`` is needed", so with rounding ``a · δ ≥ c − ½ kappa (S + gR)²`` is, and
the radius that is left is the root of ``½κg² R² + (‖a‖* + κSg) R − (c − ½κS²) = 0``.

References
----------
Higham, "Accuracy and stability of numerical algorithms", 2nd ed., chapter 3.
"""

import numpy as np
from numba import njit

_UNIT = 2.0**-53


def kappa(n_coordinates: int, n_inputs: int) -> float:
    """``64 m ω``, m the length of the longest sum and a few more."""
    return 64.0 * (max(n_coordinates, n_inputs) + 8) * _UNIT


@njit(nogil=True, cache=True)
def safe_radius(c, a, rounding):
    """The largest R for which ``a R ≤ c − ½κ(S + gR)²``: below it, no rounding reaches the halfspace.

    Parameters
    ----------
    c, a : float
        The halfspace ``a · δ ≥ c``, as ``c`` and the dual norm of a.
    rounding : ndarray (κ, S, g, w)
        As above; ``w`` is a bound on the error of a, in the same units.

    Returns
    -------
    float
        0 where c is not clearly positive, infinity where nothing can move (a = g = 0).
    """
    k, S, g, w = rounding[0], rounding[1], rounding[2], rounding[3]
    C = c - 0.5 * k * S * S
    if not C > 0.0:
        return 0.0
    A = 0.5 * k * g * g
    B = a * (1.0 + 1e-14) + k * S * g + w
    below = B + np.sqrt(B * B + 4.0 * A * C)
    if below == 0.0:
        return np.inf
    return 2.0 * C / below * (1.0 - 1e-15)


def query_rounding(problem, queries: np.ndarray, inputs: np.ndarray | None) -> np.ndarray:
    """``(κ, S, g, w)`` of each query; the inputs, if given, enter S through ``‖ |T| |x| ‖``."""
    chart, T = problem.chart, problem.T
    S = np.maximum(problem.largest, np.linalg.norm(queries, axis=1)) + problem.scale
    if inputs is not None:
        S = S + np.linalg.norm(np.abs(inputs) @ np.abs(T).T, axis=1)
    out = np.empty((queries.shape[0], 4))
    out[:, 0] = kappa(*T.shape)
    out[:, 1] = S * (1 + 1e-12)
    out[:, 2] = chart.growth
    out[:, 3] = 2 * chart.wobble * S
    return out
