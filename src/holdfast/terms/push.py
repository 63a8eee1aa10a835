"""Push: impostors should be farther than targets by a margin of one."""

import numpy as np

from holdfast.numerics.compile import entry
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
        da, db = np.empty_like(a), np.empty_like(a)
        return _push(a, b, da, db), da, db, None


@entry(fastmath={"reassoc", "contract"})  # a sum in any order can run in vectors
def _push(a, b, da, db):
    total = 0.0
    for t in range(a.size):
        gap = 1.0 - (b[t] - a[t])
        active = 1.0 if gap >= 0.0 else 0.0
        total += gap if gap >= 0.0 else 0.0
        da[t] = active
        db[t] = -active
    return total
