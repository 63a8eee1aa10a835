"""The result of learning: a Mahalanobis metric, as a matrix and as a linear map."""

import numpy as np
from sklearn.utils import check_array


def check_metric(M, n_features: int | None = None, name: str = "M") -> np.ndarray:
    """M as a symmetric positive semi-definite float64 array, or a ``ValueError`` that says why not."""
    M = check_array(M, dtype=np.float64, input_name=name)
    if M.shape[0] != M.shape[1]:
        raise ValueError(f"{name} must be square; got shape {M.shape}.")
    if n_features is not None and M.shape[0] != n_features:
        raise ValueError(f"{name} is {M.shape[0]} × {M.shape[0]}, but the data has {n_features} features.")
    scale = np.abs(M).max()
    if np.abs(M - M.T).max() > 1e-8 * scale:
        raise ValueError(f"{name} is not symmetric; a metric must be.")
    lowest = np.linalg.eigvalsh(M)[0] if scale > 0 else 0.0
    if lowest < -1e-8 * scale:
        raise ValueError(
            f"{name} is not positive semi-definite (smallest eigenvalue {lowest:.3g}), so it is not a metric."
        )
    return (M + M.T) / 2


def components_of(M: np.ndarray) -> np.ndarray:
    """``L`` with ``LᵀL = M``: one row per positive eigenvalue, the strongest first.

    Returns
    -------
    ndarray of shape (rank, n_features)
        At least one row (of zeros, for the zero metric). In each row the entry largest in absolute
        value is positive, so that equal metrics have equal components.

    Examples
    --------
    >>> import numpy as np
    >>> components_of(np.array([[1.0, 0.0], [0.0, 4.0]]))
    array([[0., 2.],
           [1., 0.]])
    """
    values, V = np.linalg.eigh(M)
    values, V = values[::-1], V[:, ::-1]
    rank = max(1, int(np.sum(values > values.size * np.finfo(float).eps * max(values[0], 0.0))))
    return _fix_signs(np.sqrt(np.maximum(values[:rank], 0.0))[:, None] * V[:, :rank].T)


def components_in_any_units(M: np.ndarray) -> np.ndarray:
    """:func:`components_of`, or a factor of R in ``M = D R D`` if that would lose a feature in large units.

    :func:`components_of` drops eigenvalues that are below the rounding error of the largest. With features in very
    different units that can drop a whole feature. R has a unit diagonal, so that units do not matter.

    Examples
    --------
    >>> import numpy as np
    >>> components_in_any_units(np.diag([1.0, 1e-20])).shape
    (2, 2)
    """
    D = np.sqrt(np.diag(M))
    unit = np.where(D > 0, D, 1.0)
    values, V = np.linalg.eigh(M / unit / unit[:, None])
    kept = values > values.size * np.finfo(float).eps * max(values[-1], 0.0)
    L = components_of(M)
    if kept.sum() <= len(L):
        return L
    return _fix_signs((np.sqrt(values[kept])[:, None] * V[:, kept].T * unit)[::-1])


def components_of_factor(L: np.ndarray) -> np.ndarray:
    """``components_of(LᵀL)`` by a singular value decomposition of L, without the square matrix.

    Examples
    --------
    >>> import numpy as np
    >>> components_of_factor(np.array([[0.0, -3.0], [0.0, 4.0]]))
    array([[0., 5.]])
    """
    _, values, V = np.linalg.svd(L, full_matrices=False)
    rank = max(1, int(np.sum(values > np.sqrt(L.shape[1] * np.finfo(float).eps) * values[0])))
    return _fix_signs(values[:rank, None] * V[:rank])


def _fix_signs(L: np.ndarray) -> np.ndarray:
    """Flip rows so that the entry largest in absolute value is positive."""
    largest = np.take_along_axis(L, np.abs(L).argmax(axis=1)[:, None], axis=1)
    return L * np.where(largest < 0, -1.0, 1.0) + 0.0  # + 0.0: no negative zeros


class Mahalanobis:
    """``d_M(x, z) = √((x − z)ᵀ M (x − z)) = ‖L(x − z)‖``.

    Parameters
    ----------
    components : ndarray of shape (n_components, n_features)
        L.

    Examples
    --------
    >>> import numpy as np
    >>> Mahalanobis(np.array([[2.0, 0.0]]))([1.0, 5.0], [0.0, 0.0])
    2.0
    """

    def __init__(self, components: np.ndarray):
        self.components = components

    def __call__(self, u, v, squared: bool = False) -> float:
        """Distance of two points."""
        u, v = (np.asarray(point, dtype=np.float64) for point in (u, v))
        if u.shape != v.shape or u.shape != (self.components.shape[1],):
            raise ValueError(
                f"Both points must be vectors of length {self.components.shape[1]}; got shapes {u.shape} and {v.shape}."
            )
        difference = self.components @ (u - v)
        total = float(difference @ difference)
        return total if squared else float(np.sqrt(total))

    @property
    def matrix(self) -> np.ndarray:
        """``M = LᵀL``."""
        return self.components.T @ self.components

    def between_pairs(self, pairs: np.ndarray) -> np.ndarray:
        """Distances within pairs, an array of shape (n_pairs, 2, n_features)."""
        return np.linalg.norm((pairs[:, 0] - pairs[:, 1]) @ self.components.T, axis=1)
