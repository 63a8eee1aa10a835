"""A box on the moved inputs ``δ = to_input · z``: ``−down ≤ δ ≤ up``."""

from holdfast.certificates.kernels.vectors import add_scaled, dot
from holdfast.numerics.compile import NONE, inner

ROUNDED = 1e-14  # of the length of a move: what rounding may add to one of its coordinates


@inner
def violated_side(to_input, z, down, up, spare):
    """The coordinate of δ farthest outside the box, as (side ±1, index); index -1 if δ lies inside.

    1e-13 of the move, and ``spare``, are left to rounding: a witness is clipped to the box before it is checked.
    """
    side, edge, worst = 0.0, NONE, spare
    for i in range(up.size):
        move = dot(to_input[i], z)
        over = max(move - up[i], -move - down[i])
        if over > worst + 1e-13 * (abs(move) + 1e-300):
            worst, edge = over, i
            side = 1.0 if move > up[i] else -1.0
    return side, edge


@inner
def clip_to_box(to_input, z, down, up):
    """Take z to the nearest sides of the box that δ lies outside of, one after the other.

    Exact where every coordinate of z is one of δ, which is so for all norms but ellipsoids.
    """
    for i in range(up.size):
        move = dot(to_input[i], z)
        over = move - up[i] if move > up[i] else move + down[i]
        if move > up[i] or move < -down[i]:
            add_scaled(z, -over / dot(to_input[i], to_input[i]), to_input[i])
