"""Pull: targets should be near."""

import numpy as np

from holdfast.terms.base import Partials, TripletTerm


class Pull(TripletTerm):
    """``Σ_S a``: the squared distances from points to their targets.

    References
    ----------
    Weinberger and Saul, "Distance metric learning for large margin nearest neighbor
    classification", JMLR 10, 2009.
    """

    over = "S"

    def value_and_partials(self, a, b, h) -> Partials:
        """The sum of a; ∂a = 1."""
        return float(a.sum()), np.ones_like(a), None, None
