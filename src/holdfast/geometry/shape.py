"""The shape A_0 of a perturbation, and the matrix B that carries it into the slope h."""

import functools
import warnings

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
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

    Of known types, and of pipelines of these, D is read from fitted attributes (:mod:`holdfast.affine`). Of others,
    column k is ``(transform(c + s_k e_k) − transform(c))/s_k``, c being ``mean_`` or 0, and the steps ``s_k`` as long
    as c, so that no large numbers cancel. ``ValueError`` if two further points show that it is not affine.

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
    D = _matrix(reduction)
    if not D.any():
        warnings.warn(
            f"reduction is a {name} whose matrix D is 0, as far as floating point tells: it maps all inputs to one "
            "point, and every distance after it is 0. Centre the features before it, for example with StandardScaler, "
            "or pass D as a matrix.",
            UserWarning,
            stacklevel=3,
        )
    return D


def _matrix(step) -> np.ndarray:
    """D of a fitted transformer; of a pipeline, the product over its steps."""
    if isinstance(step, Pipeline):
        parts = [_matrix(part) for _, part in step.steps if part not in (None, "passthrough")]
        return functools.reduce(lambda D, after: after @ D, parts) if parts else np.eye(step.n_features_in_)
    from holdfast.affine import READERS, affine_of  # here, because it brings a quarter of scikit-learn along

    if type(step) not in READERS or getattr(step, "clip", False) or getattr(step, "func", None) is not None:
        return _probe(step)
    return affine_of(step, step.n_features_in_).W


def _probe(reduction) -> np.ndarray:
    """D from differences of images."""
    p = reduction.n_features_in_
    centre = np.broadcast_to(np.asarray(getattr(reduction, "mean_", 0.0), dtype=np.float64), p)
    steps = np.exp2(np.ceil(np.log2(np.maximum(np.abs(centre), 1.0))))
    probe = np.linspace(-1.0, 1.0, p)
    rows = centre + steps * np.vstack([np.zeros(p), np.eye(p), probe, -2.0 * probe])
    images = np.asarray(reduction.transform(with_names(rows, reduction)), dtype=np.float64)
    origin, *columns, image, opposite = images
    scaled = np.array(columns).T - origin[:, None]  # D, its columns times the steps
    for z, x in ((image, probe), (opposite, -2.0 * probe)):
        if not np.allclose(z, scaled @ x + origin, rtol=1e-6, atol=1e-9 * (1.0 + np.abs(scaled).max())):
            raise ValueError(
                f"reduction is a {type(reduction).__name__}, which is not affine; a perturbation of the inputs has no "
                "fixed shape after it. Pass a matrix D, or place that step before the perturbed inputs."
            )
    return scaled / steps


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
