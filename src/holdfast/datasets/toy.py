"""The two toy data sets of the paper, drawn from a seed."""

import numpy as np

from holdfast.parameters import check_number


def make_separability(random_state=None) -> tuple[np.ndarray, np.ndarray]:
    """Two features that both tell the classes apart: the first by little, the second by much.

    Parameters
    ----------
    random_state : int, numpy Generator or None, default=None
        A generator is used on, so that a second call with it draws new points.

    Returns
    -------
    X : ndarray of shape (220, 2)
    y : ndarray of shape (220,)
        100 ones in ``[-3, 0] × [0, 1]``, then 120 zeros: 100 below them in ``[-3, 0] × [-0.6, -0.5]``, 20
        beside them in ``[0, 0.1] × [0, 1]``.

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", section 4.1.

    Examples
    --------
    >>> from holdfast.datasets import make_separability
    >>> X, y = make_separability(random_state=0)
    >>> bool(X[y == 1, 1].min() > 0)
    True
    """
    rng = np.random.default_rng(random_state)
    positive = rng.uniform([-3, 0], [0, 1], (100, 2))
    below = rng.uniform([-3, -0.6], [0, -0.5], (100, 2))
    beside = rng.uniform([0, 0], [0.1, 1], (20, 2))
    return np.vstack([positive, below, beside]), np.repeat([1, 0], [100, 120])


def make_multicollinearity(noise: float = 0.01, random_state=None) -> tuple[np.ndarray, np.ndarray]:
    """Three features, ``x_3 = x_1 + x_2 + noise``: the points lie on a plane, but for the noise.

    Parameters
    ----------
    noise : float, default=0.01
        Standard deviation of the noise; the paper's is 0.01.
    random_state : int, numpy Generator or None, default=None
        As for :func:`make_separability`.

    Returns
    -------
    X : ndarray of shape (200, 3)
    y : ndarray of shape (200,)
        100 ones, whose first two features are Gaussian around (0.45, 0.45) with variances 1 and covariance
        −0.9, then 100 zeros around (−0.45, −0.45).

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", section 4.1.

    Examples
    --------
    >>> from holdfast.datasets import make_multicollinearity
    >>> X, y = make_multicollinearity(random_state=0)
    >>> bool(abs(X[:, 2] - X[:, 0] - X[:, 1]).max() < 0.05)
    True
    """
    check_number("make_multicollinearity", "noise", noise, at_least=0)
    rng = np.random.default_rng(random_state)
    covariance = [[1.0, -0.9], [-0.9, 1.0]]
    first = np.vstack([rng.multivariate_normal([m, m], covariance, 100) for m in (0.45, -0.45)])
    third = first.sum(axis=1) + rng.normal(0, noise, 200)
    return np.column_stack([first, third]), np.repeat([1, 0], 100)
