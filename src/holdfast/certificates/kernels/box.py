"""A box on the moved inputs ``δ = to_input · z``: ``−down ≤ δ ≤ up``."""

from holdfast.certificates.kernels.vectors import dot
from holdfast.numerics.compile import NONE, inner


@inner
def violated_side(to_input, z, down, up):
    """The coordinate of δ farthest outside the box, as (side ±1, index); index -1 if δ lies inside.

    1e-13 of the move is left to rounding: a witness is clipped to the box before it is checked.
    """
    side, edge, worst = 0.0, NONE, 0.0
    for i in range(up.size):
        move = dot(to_input[i], z)
        over = max(move - up[i], -move - down[i])
        if over > worst + 1e-13 * (abs(move) + 1e-300):
            worst, edge = over, i
            side = 1.0 if move > up[i] else -1.0
    return side, edge
