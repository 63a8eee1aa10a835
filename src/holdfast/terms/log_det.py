"""LogDet: keep the metric near the identity, and positive definite."""

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri

from holdfast.terms.base import MatrixTerm


class LogDet(MatrixTerm):
    """``tr M − log det M − p``: the log-determinant divergence from M to the identity.

    It is zero at the identity and infinite where M is singular, so a minimum is always positive definite.

    References
    ----------
    Davis, Kulis, Jain, Sra and Dhillon, "Information-theoretic metric learning", ICML 2007.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.terms import LogDet
    >>> value, gradient = LogDet().value_and_grad(np.diag([1.0, 2.0]))
    >>> round(value, 6), gradient.diagonal().round(6).tolist()
    (0.306853, [0.0, 0.5])
    """

    def value_and_grad(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The divergence; gradient ``I − M⁻¹``. Infinite, with gradient I, where M is singular."""
        p = M.shape[0]
        identity = np.eye(p)
        C, failed = dpotrf(M, lower=1, clean=0)
        diagonal = C.diagonal()
        if failed or not diagonal.min() > 0.0:
            return np.inf, identity
        value = float(np.trace(M) - 2.0 * np.log(diagonal).sum() - p)
        inverse = np.tril(dpotri(C, lower=1)[0])
        return value, identity - inverse - np.tril(inverse, -1).T
