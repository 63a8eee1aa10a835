"""SquaredFrobenius: keep the metric near a multiple of the Euclidean one."""

import numpy as np

from holdfast.parameters import check_number
from holdfast.terms.base import MatrixTerm


class SquaredFrobenius(MatrixTerm):
    """``½ ‖M/scale − I‖²_F``.

    It is strongly convex, so that the objective has one minimiser, and it spreads M over many directions where a
    trace would leave few of them.

    Parameters
    ----------
    scale : float, default=1.0
        Of the metric that is not penalised, ``scale · I``.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.terms import SquaredFrobenius
    >>> value, gradient = SquaredFrobenius().value_and_grad(np.diag([1.0, 3.0]))
    >>> value, gradient.diagonal().tolist()
    (2.0, [0.0, 2.0])
    """

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    def value_and_grad(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """Half the squared norm; gradient ``(M/scale − I)/scale``."""
        D = M / self.scale - np.eye(M.shape[0])
        return 0.5 * float(np.vdot(D, D)), D / self.scale

    def check(self) -> None:
        """Refuse a scale that is not positive."""
        check_number("SquaredFrobenius", "scale", self.scale, above=0)
