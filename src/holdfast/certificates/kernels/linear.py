"""Distances to one halfspace for each row, inside its box."""

import numpy as np

from holdfast.certificates.kernels.halfspace import box_distance, box_move, move_length
from holdfast.numerics.compile import entry


@entry
def boxed_rows(A, missing, aim, growth, norm_code, down, up, radius, step):
    """``radius[t]``: distance to ``A[t] · δ ≥ missing[t]`` inside the box of row t; ``step[t]``: move to ``aim[t]``.

    ``missing`` is the level less its rounding error for no move; ``growth`` the error for each unit of a move. The
    radius without the box is a lower bound already; NaN moves mean that the box does not reach.
    """
    room = np.empty(A.shape[1])
    for t in range(A.shape[0]):
        for i in range(room.size):
            room[i] = max(down[t, i], up[t, i])
        diameter = move_length(room, norm_code)
        reach = diameter
        if diameter == np.inf:  # as far as the distance before rounding; else far enough to be of use
            reach = 1.001 * box_distance(A[t], missing[t], norm_code, down[t], up[t])
            reach = reach if reach < np.inf else 1e3 * radius[t]
        inside = box_distance(A[t], missing[t] - growth[t] * reach, norm_code, down[t], up[t])
        radius[t] = max(radius[t], inside if diameter < np.inf else min(inside, reach))
        if not box_move(A[t], aim[t], norm_code, down[t], up[t], step[t]):
            for i in range(room.size):
                step[t, i] = np.nan
