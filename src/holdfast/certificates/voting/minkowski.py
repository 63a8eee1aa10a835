"""The metric of scikit-learn's neighbours as a linear map and an exponent."""

from typing import NamedTuple

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier

from holdfast.affine import Affine
from holdfast.learn.spaces import check_metric

_CONDITION = 1e-10  # least ratio of eigenvalues of a Mahalanobis metric; its distances lose as many digits
_EXPONENTS = {
    "euclidean": 2.0, "l2": 2.0, "manhattan": 1.0, "cityblock": 1.0, "l1": 1.0, "chebyshev": np.inf, "infinity": np.inf,
}  # fmt: skip


class Minkowski(NamedTuple):
    """``d(x, z) = ‖map(x) − map(z)‖_p``.

    Attributes
    ----------
    p : float
    map : Affine or None
        None: the rows themselves.
    """

    p: float
    map: Affine | None


def metric_of(knn: KNeighborsClassifier | RadiusNeighborsClassifier) -> Minkowski:
    """The metric a model was fitted with; a metric that is not of this form is refused."""
    fitted, named = knn.effective_metric_, _named_metric(knn)
    parameters = dict(knn.effective_metric_params_ or {})
    now = knn.metric_params or {}
    if fitted != named or any(parameters.get(name) is not now.get(name, parameters.get(name)) for name in ("VI", "w")):
        raise ValueError(
            f"The metric was changed after fit: the model was fitted with {fitted!r} and now names {named!r}. Fit it "
            "again."
        )
    if fitted == "mahalanobis" and "VI" in parameters:
        return Minkowski(2.0, _mahalanobis(check_metric(parameters["VI"], name="VI")))
    p = float(parameters.get("p", knn.p)) if fitted == "minkowski" else _EXPONENTS.get(str(fitted), 0.0)
    if not p >= 1:
        raise ValueError(
            f"metric={knn.metric!r}{f' (p={p:g})' if fitted == 'minkowski' else ''} cannot be certified: only "
            "Minkowski distances with p of at least 1 (euclidean, manhattan, chebyshev, minkowski) and "
            "metric='mahalanobis' with metric_params={'VI': M}. The cosine distance ranks as the Euclidean one does "
            "after a Normalizer()."
        )
    if parameters.get("w") is None:
        return Minkowski(p, None)
    weights = np.asarray(parameters["w"], dtype=np.float64)
    if not (np.isfinite(weights).all() and (weights >= 0).all() and np.isfinite(p)):
        raise ValueError("Weights w of features must be finite and not negative, with p below infinity.")
    return Minkowski(p, Affine.step(np.diag(weights ** (1.0 / p))))


def _named_metric(knn) -> str:
    """The metric that the parameters stand for, in the words of ``effective_metric_``."""
    if knn.metric != "minkowski" or (knn.metric_params or {}).get("w") is not None:
        return knn.metric
    p = (knn.metric_params or {}).get("p", knn.p)
    return {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}.get(p, "minkowski")


def _mahalanobis(VI: np.ndarray) -> Affine:
    """``L`` with ``LᵀL = VI``, accurate in every column whatever its units: R of ``VI = D R D`` is factored.

    scikit-learn sums ``(x − z)ᵀ VI (x − z)``, so the rounding depends on ``|x|ᵀ|VI||x| ≤ ‖ |R| ‖ ‖D|x|‖²``.
    """
    D = np.sqrt(np.diag(VI))
    unit = np.where(D > 0, D, 1.0)
    R = VI / unit / unit[:, None]
    values, V = np.linalg.eigh(R)
    if values[0] < _CONDITION * values[-1]:
        raise ValueError(
            f"VI is too ill-conditioned to be certified (eigenvalues {values[0]:.3g} to {values[-1]:.3g} in units of "
            "its diagonal): leave out features that the others determine."
        )
    L = np.sqrt(values)[:, None] * V.T * unit
    absolute = np.abs(L) + np.sqrt(np.linalg.norm(np.abs(R), 2)) * np.diag(unit)
    return Affine(L, np.zeros(len(L)), absolute, np.zeros(len(L)))
