"""Adversarial margins: how far an input is from where its target and its impostor are equally near.

Of triplets (Eqs. 3 and 2 of the paper), of prototypes with their gradient, and the shape ``A_0`` of the moves: the
matrix ``B = D A_0⁻¹ Dᵀ`` carries it into the slope h.
"""

import functools
import warnings

import numpy as np
from scipy.linalg import cho_factor, cho_solve
from scipy.spatial.distance import cdist
from sklearn.exceptions import NotFittedError
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from holdfast._core.geometry import add_borders, nearest_borders
from holdfast.base.inputs import with_names

_DUAL = {2.0: "euclidean", np.inf: "cityblock", 1.0: "chebyshev"}  # norm of the moves: its dual, as scipy names it
# Prototypes of two classes that coincide are treated as this far apart, as a share of the longest row or of the largest
# distance between prototypes: margins and gradients stay finite, and squared distances are exact to about 1e-16 only.
_MIN_GAP = 1e-9
_CANCELS = 1e-8  # a squared distance below this share of the largest squared length has lost half of its digits
_BLOCK = 4_000_000  # distances computed at once: 32 MB


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
    >>> from holdfast.learn import adversarial_margin
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
    >>> from holdfast.learn import closest_adversarial
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
        A0 = check_shape_matrix(shape, step.shape[1])
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


# -- the shape of moves, also before a reduction ----------------------------------------------------


def check_shape_matrix(shape, n_features: int) -> np.ndarray:
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
    """``B = D A_0⁻¹ Dᵀ``, None for the identity: the inverse of the shape ``A_0`` (matrix, diagonal or None), carried
    through a reduction D of shape (n_features, n_inputs) (Yang, Guo, Dong and Xue, supplement A and A.1).
    """
    D = None if reduction is None else check_reduction(reduction, n_features)
    if shape is None:
        if D is None:
            return None
        B = D @ D.T
        return None if np.allclose(B, np.eye(n_features), rtol=0, atol=1e-12) else B
    A0 = check_shape_matrix(shape, n_features if D is None else D.shape[1])
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
    """``D`` of a reduction ``z = D x + d``, a matrix or a fitted affine transformer: read from its attributes where the
    type is known (:mod:`holdfast.base.affine`), else from differences ``(transform(c + s_k e_k) − transform(c))/s_k``,
    c being ``mean_`` or 0 and ``s_k`` as long as c. ``ValueError`` if two further points show that it is not affine.
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
    from holdfast.base.affine import READERS, affine_of  # here, because it brings a quarter of scikit-learn along

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
    """Variance of every *input* feature in the training data: ``variances``, or after a reduction (a PCA) the diagonal
    of the covariance that it stores.
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


# -- margins of prototypes --------------------------------------------------------------------------


class PrototypeMargins:
    """``m_i = min_l max_j (d²(x_i, a_l) − d²(x_i, a_j)) / (2 ‖a_l − a_j‖*)``, j of the class of i, l of the others: a
    lower bound on the radius (Lemma B1 for one neighbour), exact with one prototype per class, negative where the
    prediction is wrong. The fraction is the signed distance from ``x_i`` to the points as near to ``a_l`` as to
    ``a_j``.
    """

    def __init__(self, X: np.ndarray, codes: np.ndarray, labels: np.ndarray, norm: float = 2.0):
        self.X, self.codes, self.labels = X, codes, labels
        self._dual = _DUAL[float(norm)]
        self._squares = np.einsum("np,np->n", X, X)
        self._min_gap = _MIN_GAP * (float(np.sqrt(self._squares.max())) or 1.0)
        self._margins = np.empty(len(X))
        self._rivals, self._targets = np.empty((2, len(X)), dtype=np.int64)

    def measure(self, A: np.ndarray) -> np.ndarray:
        """The margins for prototypes A, of shape (n_samples,); the next call overwrites them."""
        lengths = _distances(A) if self._dual == "euclidean" else cdist(A, A, self._dual)
        self._A, self._lengths = A, np.maximum(lengths, max(_MIN_GAP * lengths.max(), self._min_gap))
        squares, n_rows = np.einsum("mp,mp->m", A, A), max(1, _BLOCK // len(A))
        for start in range(0, len(self.X), n_rows):
            part = slice(start, start + n_rows)
            D = self._squares[part, None] - 2.0 * (self.X[part] @ A.T) + squares
            nearest_borders(
                D, self._lengths, self.codes[part], self.labels,
                self._margins[part], self._rivals[part], self._targets[part],
            )  # fmt: skip
        return self._margins

    def pull_back(self, weights: np.ndarray) -> np.ndarray:
        """``Σ_i weights_i ∂m_i/∂A`` at the prototypes measured last, of the shape of A. With ``s = ‖a_l − a_j‖*``:
        ``∂m/∂a_l = (a_l − x)/s − m/s · ∂s/∂a_l``, ``∂m/∂a_j = (x − a_j)/s − m/s · ∂s/∂a_j``.
        """
        scaled = weights / self._lengths[self._rivals, self._targets]  # weights_i / s_i
        G, pair_sums = np.zeros_like(self._A), np.zeros_like(self._lengths)
        add_borders(self.X, self._A, scaled, self._margins, self._rivals, self._targets, G, pair_sums)
        if self._dual == "euclidean":  # Σ_lj pair_sums_lj (a_l − a_j)/s_lj off the row of l, and on that of j
            shares = pair_sums / self._lengths
            shares += shares.T
            return G + (shares @ self._A - shares.sum(axis=1)[:, None] * self._A)
        l, j = np.nonzero(pair_sums)
        through_length = pair_sums[l, j, None] * self._length_gradients(l, j)
        np.subtract.at(G, l, through_length)
        np.add.at(G, j, through_length)
        return G

    def _length_gradients(self, l: np.ndarray, j: np.ndarray) -> np.ndarray:
        """``∂‖v‖*/∂v`` at the differences ``v = a_l − a_j``, where the dual norm is L1 or L∞."""
        v = self._A[l] - self._A[j]
        if self._dual == "cityblock":
            return np.sign(v)
        rows, largest = np.arange(len(v)), np.abs(v).argmax(axis=1)
        out = np.zeros_like(v)
        out[rows, largest] = np.sign(v[rows, largest])
        return out


def _distances(A: np.ndarray) -> np.ndarray:
    """``‖a_l − a_j‖`` of all pairs of rows: by products, and again by differences where these cancel."""
    squares = np.einsum("mp,mp->m", A, A)
    found = squares[:, None] - 2.0 * (A @ A.T) + squares
    l, j = np.nonzero(found < _CANCELS * squares.max())
    v = A[l] - A[j]
    found[l, j] = np.einsum("np,np->n", v, v)
    return np.sqrt(found)
