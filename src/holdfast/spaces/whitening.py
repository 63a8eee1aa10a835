"""The preconditioner of factors."""

import numpy as np

from holdfast.numerics.sums import round_to_bits


def whitening(*scatters: np.ndarray, shrinkage: float) -> np.ndarray | None:
    """``P = (C + shrinkage · I)^-½``, where C is the mean of the scatters, each scaled to mean eigenvalue 1.

    Rounded to 24 binary digits, because the order of the sums behind the scatters changes later ones; see
    :func:`holdfast.numerics.sums.round_reproducibly`.

    Parameters
    ----------
    *scatters : ndarrays of shape (n_features, n_features)
        Means of ``X_ij`` over pairs, symmetric and positive semi-definite.
    shrinkage : float
        Towards the identity, which treats all directions alike; positive.

    Returns
    -------
    ndarray of shape (n_features, n_features) or None
        None stands for the identity, and is returned if all scatters are zero.

    Examples
    --------
    >>> P = whitening(np.diag([0.0, 200.0]), shrinkage=0.25)
    >>> P.diagonal().round(3).tolist()
    [2.0, 0.667]
    """
    scaled = [C * (len(C) / np.trace(C)) for C in scatters if np.trace(C) > 0]
    if not scaled:
        return None
    values, V = np.linalg.eigh(sum(scaled) / len(scaled))
    return round_to_bits((V / np.sqrt(np.maximum(values, 0.0) + shrinkage)) @ V.T)
