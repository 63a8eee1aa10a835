"""The shape A_0 of a perturbation, and the matrix B that carries it into the slope h."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted

from holdfast.numerics.frames import with_names


def check_shape(shape, n_features: int) -> np.ndarray:
    """``A_0`` as a symmetric float array; ``ValueError`` if it is not positive definite or of another size."""
    A0 = np.asarray(shape, dtype=np.float64)
    if A0.ndim == 1:  # a diagonal
        A0 = np.diag(A0)
    if A0.shape != (n_features, n_features):
        raise ValueError(
            f"shape (A_0) must be {n_features} × {n_features}, or its diagonal of length "
            f"{n_features}, as the perturbed features are; got {np.shape(shape)}."
        )
    if not np.isfinite(A0).all():
        raise ValueError("shape (A_0) contains NaN or infinity.")
    scale = np.abs(A0).max()
    if np.abs(A0 - A0.T).max() > 1e-10 * scale:
        raise ValueError("shape (A_0) is not symmetric; it must be a symmetric matrix.")
    lowest = np.linalg.eigvalsh(A0)[0]
    if lowest <= 1e-14 * scale:
        raise ValueError(
            f"shape (A_0) is not positive definite (smallest eigenvalue {lowest:.3g}); "
            "every direction needs a positive cost."
        )
    return (A0 + A0.T) / 2


def slope_matrix(n_features: int, shape=None, reduction=None) -> np.ndarray | None:
    """``B = D A_0⁻¹ Dᵀ``, the inverse shape of a perturbation, carried through a reduction D.

    Perturbations of equal size lie on ``{δ : δᵀ A_0 δ = r²}`` in the input space; learning happens on
    ``z = D x``.

    Parameters
    ----------
    n_features : int
        Number of features of the points the metric is learned on (rows of D).
    shape : array-like or None
        ``A_0``, positive definite, or its diagonal; None is the identity.
    reduction : array-like of shape (n_features, n_inputs) or None
        ``D``; None is the identity.

    Returns
    -------
    ndarray of shape (n_features, n_features), or None for the identity

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning",
    supplement A and A.1.
    """
    D = None if reduction is None else check_reduction(reduction, n_features)
    if shape is None:
        if D is None:
            return None
        B = D @ D.T
        return None if np.allclose(B, np.eye(n_features), rtol=0, atol=1e-12) else B
    A0 = check_shape(shape, n_features if D is None else D.shape[1])
    inverse_times = cho_solve(cho_factor(A0), np.eye(A0.shape[0]) if D is None else D.T)
    B = inverse_times if D is None else D @ inverse_times
    return (B + B.T) / 2


def check_reduction(reduction, n_features: int) -> np.ndarray:
    """``D`` as a float array; ``ValueError`` if it has another number of rows, or entries that are not finite."""
    D = np.asarray(reduction, dtype=np.float64)
    if D.ndim != 2 or D.shape[0] != n_features:
        raise ValueError(
            f"reduction (D) must have one row per reduced feature ({n_features}) and one column per "
            f"input feature; got shape {D.shape}."
        )
    if not np.isfinite(D).all():
        raise ValueError("reduction (D) contains NaN or infinity.")
    return D


def linear_part(reduction) -> np.ndarray:
    """``D`` of a reduction ``z = D x + d``, given as a matrix D or as a fitted affine transformer.

    For a transformer, column k is ``transform(e_k) − transform(0)``: its attributes are not read, so that
    whitening and pipelines are covered. ``ValueError`` if two further points show that it is not affine.

    Parameters
    ----------
    reduction : fitted transformer or array-like of shape (n_features, n_inputs)

    Returns
    -------
    ndarray of shape (n_features, n_inputs)
    """
    if not hasattr(reduction, "transform"):
        return np.asarray(getattr(reduction, "components_", reduction), dtype=np.float64)
    name = type(reduction).__name__
    try:
        check_is_fitted(reduction)
    except NotFittedError:
        raise ValueError(f"reduction is a {name} that is not fitted: fit it first.") from None
    p = reduction.n_features_in_
    probe = np.linspace(-1.0, 1.0, p)
    rows = np.vstack([np.zeros(p), np.eye(p), probe, -2.0 * probe])
    images = np.asarray(reduction.transform(with_names(rows, reduction)), dtype=np.float64)
    origin, *columns, image, opposite = images
    D = np.array(columns).T - origin[:, None]
    for z, x in ((image, probe), (opposite, -2.0 * probe)):
        if not np.allclose(z, D @ x + origin, rtol=1e-6, atol=1e-9 * (1.0 + np.abs(D).max())):
            raise ValueError(
                f"reduction is a {name}, which is not affine; a perturbation of the inputs has no fixed "
                "shape after it. Pass a matrix D, or place that step before the perturbed inputs."
            )
    return D


def input_variances(variances: np.ndarray | None, n_features: int, reduction=None) -> np.ndarray:
    """Variance of every *input* feature in the training data.

    Without a reduction the points are the inputs, and ``variances`` are those of their features; after one,
    they are the diagonal of the covariance that the fitted reduction (a PCA) stores.
    """
    if reduction is None:
        if variances is None:
            raise ValueError('shape="variance" is estimated from the training data; pass the variances.')
        if np.shape(variances) != (n_features,):
            raise ValueError(f"variances must have shape ({n_features},), one per feature; got {np.shape(variances)}.")
        return variances
    if not hasattr(reduction, "get_covariance"):
        raise ValueError(
            'shape="variance" after a reduction needs one that stores the covariance of its inputs, such as a '
            f"fitted PCA; got a {type(reduction).__name__}. Pass the diagonal of A_0 instead."
        )
    return np.diag(reduction.get_covariance())
