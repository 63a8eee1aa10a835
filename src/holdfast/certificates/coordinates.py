"""Coordinates of a move in which its norm is simple and its effect on a query is linear."""

from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class MoveCoordinates:
    """``Tδ = G z`` and ``δ = to_input · z``: the moves δ of a norm, written as vectors z.

    A halfspace "l is no farther than j" is ``(v_l − v_j) · z ≥ f_lj / 2`` with the rows ``v = Gᵀu``, and
    the dual length of ``v_l − v_j`` is that of ``a_lj = Tᵀ(u_l − u_j)``: for the quadratic norms
    ``‖v_l − v_j‖² = (u_l − u_j)ᵀ K (u_l − u_j)``, ``K = T A0⁻¹ Tᵀ``, in rank(T) coordinates.

    Attributes
    ----------
    G : ndarray of shape (r, s)
    to_input : ndarray of shape (n_free, s)
    lipschitz : float
        ``t`` with ``‖a_lj‖* ≤ t ‖u_l − u_j‖₂``, as small as is known, the error of the map included.
    growth : float
        ``‖ |T| |δ| ‖₂ ≤ growth · ‖δ‖``: how fast the numbers behind a query grow, for rounding errors.
    map_error : float
        Bound on the error of ``Gᵀ`` as a map, beyond ordinary rounding.
    """

    G: np.ndarray
    to_input: np.ndarray
    lipschitz: float
    growth: float
    map_error: float
