"""The adversarial margin of a triplet, and its closest adversarial example (Eqs. 3 and 2)."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.utils import check_array

from holdfast.geometry.shape import check_reduction, check_shape, slope_matrix


def adversarial_margin(M, x, target, impostor, shape=None, reduction=None) -> np.ndarray:
    """Signed distance from x to its nearest adversarial example, row by row (Eq. 3).

    ``(d²_M(x, x_l) − d²_M(x, x_j)) / (2 √h)``, ``h = (x_l − x_j)ᵀ M B M (x_l − x_j)``: positive
    while the target is nearer than the impostor. The numerator is evaluated as ``(x_l − x_j)ᵀ M (x_l + x_j − 2x)``, so
    that two large squares never cancel.

    Parameters
    ----------
    M : array-like of shape (n_features, n_features)
        The metric.
    x, target, impostor : array-like of shape (n_rows, n_features) or (n_features,)
        Triplets, row by row; after a reduction, the reduced points.
    shape : array-like or None
        ``A_0``, the shape of a perturbation of equal size; None for the Euclidean ball.
    reduction : array-like of shape (n_features, n_inputs) or None
        ``D`` of ``z = D x``, when the points are reduced and the perturbation is not.

    Returns
    -------
    ndarray of shape (n_rows,)
        0 where the metric maps target and impostor to the same point (h = 0).

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", Eq. 3 and
    supplement A.

    Examples
    --------
    >>> from holdfast.geometry import adversarial_margin
    >>> adversarial_margin([[1, 0], [0, 1]], [[0, 0]], [[1, 0]], [[3, 0]])   # boundary at x = 2
    array([2.])
    """
    M, x, target, impostor = _check(M, x, target, impostor)
    f, slope = _gap(M, x, target, impostor)
    B = slope_matrix(M.shape[0], shape, reduction)
    h = np.einsum("tk,tk->t", slope, slope if B is None else slope @ B)
    with np.errstate(divide="ignore", invalid="ignore"):
        margin = f / (2 * np.sqrt(h))
    return np.where(h > 0, margin, 0.0)


def closest_adversarial(M, x, target, impostor, shape=None, reduction=None) -> np.ndarray:
    """The nearest point to x at which target and impostor are equally far (Eq. 2).

    ``x_min = x + f/(2h) · A_0⁻¹ Dᵀ M (x_l − x_j)``, ``f = d²_M(x, x_l) − d²_M(x, x_j)``.

    Parameters
    ----------
    M, x, target, impostor, shape
        As for :func:`adversarial_margin`.
    reduction : array-like of shape (n_features, n_inputs) or None
        ``D``. If given, ``x``, ``target`` and ``impostor`` are points of the *input* space, and so is
        the result.

    Returns
    -------
    ndarray of the shape of x
        x itself where the metric maps target and impostor to the same point (h = 0).

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", Eq. 2 and
    supplement A.

    Examples
    --------
    >>> from holdfast.geometry import closest_adversarial
    >>> closest_adversarial([[1, 0], [0, 1]], [[0, 0]], [[1, 0]], [[3, 0]])
    array([[2., 0.]])
    """
    D = None if reduction is None else check_reduction(reduction, np.shape(M)[0])
    x = np.atleast_2d(np.asarray(x, dtype=np.float64))
    reduced = [points if D is None else np.atleast_2d(points) @ D.T for points in (x, target, impostor)]
    M, *points = _check(M, *reduced)
    f, slope = _gap(M, *points)
    step = slope if D is None else slope @ D  # rows Dᵀ M (x_l − x_j)
    if shape is not None:
        A0 = check_shape(shape, step.shape[1])
        step = cho_solve(cho_factor(A0), step.T).T
    h = np.einsum("tk,tk->t", slope, step if D is None else step @ D.T)
    with np.errstate(divide="ignore", invalid="ignore"):
        length = np.where(h > 0, f / (2 * h), 0.0)
    return x + length[:, None] * step


def _gap(M, x, target, impostor) -> tuple[np.ndarray, np.ndarray]:
    """``f = d²_M(x, x_l) − d²_M(x, x_j)``, and the rows ``M (x_l − x_j)``."""
    slope = (impostor - target) @ M
    return np.einsum("tk,tk->t", slope, (impostor - x) + (target - x)), slope


def _check(M, x, target, impostor) -> list[np.ndarray]:
    """M and the points as float arrays; ``ValueError`` if their sizes do not match."""
    M = check_array(M, dtype=np.float64, input_name="M")
    if M.shape[0] != M.shape[1]:
        raise ValueError(f"M must be square; got shape {M.shape}.")
    rows = [
        check_array(np.atleast_2d(points), dtype=np.float64, input_name=name)
        for name, points in (("x", x), ("target", target), ("impostor", impostor))
    ]
    for name, points in zip(("x", "target", "impostor"), rows, strict=True):
        if points.shape[1] != M.shape[0]:
            raise ValueError(f"{name} has {points.shape[1]} features, but M is {M.shape[0]} × {M.shape[0]}.")
    return [M, *rows]
