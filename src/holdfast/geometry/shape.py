"""The shape of a perturbation, as the matrix B of the slope h."""

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import NotFittedError
from sklearn.utils.validation import check_is_fitted


def check_shape(shape, n_features: int) -> np.ndarray:
    """``A_0`` as a float array, or a ``ValueError`` saying what is wrong with it."""
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
    """``B = D A_0^{-1} D^T``, the inverse shape of a perturbation as seen after a reduction D.

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
    ndarray of shape (n_features, n_features), or None where it is the identity

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
    """``D`` as a float array, or a ``ValueError`` saying what is wrong with it."""
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
    """``D`` of a reduction ``z = D x + d``: a matrix itself, or what a fitted transformer does.

    A transformer is asked, not read: its ``transform`` of the unit vectors, minus that of the origin. So
    whitening counts, and so do pipelines; one that is not affine is refused.
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
    origin, *columns, one, two = np.asarray(reduction.transform(_named(rows, reduction)), dtype=np.float64)
    D = np.array(columns).T - origin[:, None]
    for z, x in ((one, probe), (two, -2.0 * probe)):
        if not np.allclose(z, D @ x + origin, rtol=1e-6, atol=1e-9 * (1.0 + np.abs(D).max())):
            raise ValueError(
                f"reduction is a {name}, which is not affine; a perturbation of the inputs has no fixed "
                "shape after it. Pass a matrix D, or place that step before the perturbed inputs."
            )
    return D


def feature_variances(X: np.ndarray | None, reduction=None) -> np.ndarray:
    """The variance of every *input* feature in the training data.

    Without a reduction these are the columns of X; after one, the diagonal of the covariance that the
    fitted reduction (a PCA) remembers.
    """
    if reduction is None:
        if X is None:
            raise ValueError('shape="variance" is estimated from the training data; none was given.')
        return X.var(axis=0)
    if not hasattr(reduction, "get_covariance"):
        raise ValueError(
            'shape="variance" after a reduction needs one that remembers the inputs\' covariance, such as a '
            f"fitted PCA; got a {type(reduction).__name__}. Pass the diagonal of A_0 instead."
        )
    return np.diag(reduction.get_covariance())


def _named(rows: np.ndarray, transformer):
    """The rows, with the column names the transformer was fitted on, if it was."""
    names = getattr(transformer, "feature_names_in_", None)
    if names is None:
        return rows
    from pandas import DataFrame  # the names came from a data frame

    return DataFrame(rows, columns=names)
