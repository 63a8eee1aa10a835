"""Push: impostors should be farther than targets, by a margin of one."""

import numpy as np
from numba import njit

from holdfast.terms.base import Partials, TripletTerm


class Push(TripletTerm):
    """``Σ_R [1 − f]₊``, ``f = b − a``: the hinge of large-margin nearest neighbours.

    References
    ----------
    Weinberger and Saul, "Distance metric learning for large margin nearest neighbor
    classification", JMLR 10, 2009.
    """

    def value_and_partials(self, a, b, h) -> Partials:
        """The hinge sum; ∂a = 1 and ∂b = −1 where f ≤ 1."""
        value, da, db = _push(a, b)
        return value, da, db, None


@njit(nogil=True, cache=True, fastmath={"reassoc", "contract"})  # a sum in any order can run in vectors
def _push(a, b):
    da = np.empty_like(a)
    db = np.empty_like(a)
    total = 0.0
    for t in range(a.size):
        gap = 1.0 - (b[t] - a[t])
        active = 1.0 if gap >= 0.0 else 0.0
        total += gap if gap >= 0.0 else 0.0
        da[t] = active
        db[t] = -active
    return total, da, db
