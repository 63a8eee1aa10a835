"""Start values of the proxies of ProxyNCA: a few points that represent each class."""

import numpy as np
from sklearn.utils import check_random_state

from holdfast.constraints.bases import centres


def class_proxies(X: np.ndarray, y: np.ndarray, n_proxies: int, random_state=None) -> tuple[np.ndarray, np.ndarray]:
    """The centres of k-means within each class; for a class with fewer distinct points, these points.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : int ndarray of shape (n_samples,)
        Class codes.
    n_proxies : int
        Proxies per class.
    random_state : int, RandomState or None
        Seeds k-means.

    Returns
    -------
    proxies : ndarray of shape (n_classes · n_proxies or fewer, n_features)
    labels : ndarray
        The class code of each.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.constraints import class_proxies
    >>> class_proxies(np.array([[0.0], [2.0], [7.0]]), np.array([0, 0, 1]), n_proxies=1)[0].tolist()
    [[1.0], [7.0]]
    """
    rng = check_random_state(random_state)
    found = [centres(X[y == c], n_proxies, rng) for c in np.unique(y)]
    labels = np.repeat(np.unique(y), [len(part) for part in found])
    return np.vstack(found), labels
