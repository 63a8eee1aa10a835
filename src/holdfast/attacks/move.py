"""The paper's adversarial test: every point moves towards its closest adversarial example."""

import numpy as np
from sklearn.utils import check_X_y

from holdfast.base.neighbors import nearest_by_class
from holdfast.learn import adversarial_margin, closest_adversarial


def nearest_triplets(L: np.ndarray, X, y, reference, n_jobs: int | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The nearest target and the nearest impostor of each row, under the metric ``M = LᵀL``.

    Parameters
    ----------
    L : ndarray of shape (n_components, n_features)
    X, y : array-like
        Points and their true labels.
    reference : tuple (X_train, y_train)
        Where targets (same label) and impostors (another) are taken from.
    n_jobs : int or None
        Threads.

    Returns
    -------
    target, impostor : ndarrays of shape (n_samples, n_features)
    """
    X, y = check_X_y(X, y, dtype=np.float64)
    points, labels = check_X_y(*reference, dtype=np.float64)
    classes, codes = np.unique(np.concatenate([labels, y]), return_inverse=True)
    reference_codes, row_codes = codes[: labels.size], codes[labels.size :]
    same, other = nearest_by_class(points @ L.T, reference_codes, 1, 1, n_jobs, (X @ L.T, row_codes))
    for index, what in ((same, "no point of that class"), (other, "no point of any other class")):
        missing = np.flatnonzero(index[:, 0] < 0)
        if missing.size:
            label = classes[row_codes[missing[0]]]
            raise ValueError(f"Row {missing[0]} has label {label!s}, but reference has {what}.")
    return points[same[:, 0]], points[other[:, 0]]


def margins(L: np.ndarray, X, y, reference, n_jobs: int | None = None) -> np.ndarray:
    """Signed adversarial margin of each row, for its nearest target and impostor (Eq. 3).

    It is a property of one triplet, not yet a certificate of a prediction.

    Parameters
    ----------
    L, X, y, reference, n_jobs
        As for :func:`nearest_triplets`.

    Returns
    -------
    ndarray of shape (n_rows,)
    """
    target, impostor = nearest_triplets(L, X, y, reference, n_jobs)
    return adversarial_margin(L.T @ L, X, target, impostor)


def adversarial_move(L: np.ndarray, X, y, reference, size: float, n_jobs: int | None = None):
    """``x + size · (x_min − x)/‖x_min − x‖``: each row moved towards its nearest boundary (Eq. 2).

    A row that already lies on the wrong side, or on the boundary, stays where it is. (The paper does not
    state what it did with such rows; this reading gives its Euclidean score on its own splits of australian.)

    Parameters
    ----------
    L, X, y, reference
        As for :func:`nearest_triplets`.
    size : float
        Euclidean length of the move.
    n_jobs : int or None
        Threads.

    Returns
    -------
    ndarray of shape (n_samples, n_features)

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", supplement E.
    """
    X = np.asarray(X, dtype=np.float64)
    target, impostor = nearest_triplets(L, X, y, reference, n_jobs)
    M = L.T @ L
    direction = closest_adversarial(M, X, target, impostor) - X
    direction[adversarial_margin(M, X, target, impostor) <= 0] = 0.0
    length = np.linalg.norm(direction, axis=1, keepdims=True)
    return X + size * np.divide(direction, length, out=np.zeros_like(X), where=length > 0)
