"""The first place on a segment where a vote changes."""

import numpy as np

from holdfast.certificates.kernels.sorted_list import insert
from holdfast.certificates.kernels.voting import winner
from holdfast.numerics.compile import ZERO, entry

_HALVINGS = 45  # of a segment: below the rounding of its length


@entry
def first_change(P, labels, U, E, voters, codes, k, n_classes, lowest_wins, out):
    """The least t found at which the vote among a row's voters is not for its code; NaN if at 1 it still is.

    Voters are sorted by index; one that is named twice votes once.
    """
    m, width = voters.shape
    at_u, at_e = np.empty(width), np.empty(width)
    keys, chosen, tally = np.empty(k), np.empty(k, np.int64), np.empty(n_classes, np.int64)
    for row in range(m):
        for i in range(width):
            p = voters[row, i]
            at_u[i] = 0.0
            at_e[i] = 0.0
            for r in range(P.shape[1]):
                at_u[i] += (U[row, r] - P[p, r]) ** 2
                at_e[i] += (E[row, r] - P[p, r]) ** 2
        low, high, t = 0.0, 1.0, 1.0
        out[row] = np.nan
        for _ in range(_HALVINGS + 1):
            count = ZERO
            for i in range(width):
                if i == 0 or voters[row, i] != voters[row, i - 1]:
                    key = (1.0 - t) * at_u[i] + t * at_e[i]
                    count = insert(key, voters[row, i], keys, chosen, count)
            if winner(labels, chosen, count, tally, lowest_wins) != codes[row]:
                high = t
                out[row] = t
            elif t == 1.0:
                break
            else:
                low = t
            t = 0.5 * (low + high)
