"""Coordinates for a perturbation: where its norm is simple and its effect on a query is linear."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Chart:
    """``Tδ = G z`` and ``δ = back · z``: the moves δ of a norm, seen as vectors z.

    A halfspace "l is no farther than j" is ``(v_l − v_j) · z ≥ f_lj / 2`` with the rows ``v = Gᵀu``, and
    the dual length of ``v_l − v_j`` is that of ``a_lj = Tᵀ(u_l − u_j)``: for the quadratic norms
    ``‖v_l − v_j‖² = (u_l − u_j)ᵀ K (u_l − u_j)``, ``K = T A0⁻¹ Tᵀ``, in rank(T) coordinates.

    Attributes
    ----------
    G : ndarray of shape (r, s)
    back : ndarray of shape (n_free, s)
    dual : int
        Which length the dual norm is: 0 Euclidean, 1 sum, 2 maximum.
    stretch : float
        ``t`` with ``‖a_lj‖* ≤ t ‖u_l − u_j‖₂``, as small as is known.
    growth : float
        ``‖ |T| |δ| ‖₂ ≤ growth · ‖δ‖``: how fast the numbers behind a query grow, for rounding errors.
    wobble : float
        Bound on the error of ``Gᵀ`` as a map, beyond ordinary rounding.
    """

    G: np.ndarray
    back: np.ndarray
    dual: int
    stretch: float
    growth: float
    wobble: float
