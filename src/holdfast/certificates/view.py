"""One view of the models that can be certified: a vote of nearest points behind foldable steps."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.utils import check_array
from sklearn.utils.validation import check_is_fitted

from holdfast.certificates.input_space import Affine, Fold, fold, unit_rows
from holdfast.certificates.norms import L1, L2, Ellipsoid, LInf, Norm
from holdfast.certificates.problem import NeighborProblem
from holdfast.geometry.shape import check_shape


@dataclass(frozen=True)
class View:
    """A fitted model, as its own ``predict`` and as a vote among points.

    Attributes
    ----------
    model : estimator
    fold : Fold
        From an input row to the space where the vote is taken with Euclidean distances.
    points, codes : ndarrays of shapes (n, r) and (n,)
        The voters there, and their class codes.
    classes : ndarray
        What the codes stand for.
    n_neighbors : int
    ties : str
        Who wins equal votes; see NeighborProblem.
    n_features : int
        Of an input row.
    scale : float
        ``max ‖ |W| |x_j| ‖`` over reference rows x_j that were mapped here, whose rounding the model's own may
        not share.
    """

    model: Any
    fold: Fold
    points: np.ndarray
    codes: np.ndarray
    classes: np.ndarray
    n_neighbors: int
    ties: str
    n_features: int
    scale: float = 0.0

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """Class codes of the model's own predictions."""
        names = getattr(self.model, "feature_names_in_", None)
        if names is not None:
            from pandas import DataFrame  # the names came from a data frame

            rows = DataFrame(rows, columns=names)
        return np.searchsorted(self.classes, self.model.predict(rows))

    def problem(self, map_: Affine, norm: Norm, **limits) -> NeighborProblem:
        """The vote, for inputs that ``map_`` takes to the voters' space."""
        return NeighborProblem(
            points=self.points,
            labels=self.codes,
            T=map_.W,
            n_neighbors=self.n_neighbors,
            norm=norm,
            n_classes=len(self.classes),
            ties=self.ties,
            scale=map_.scale + self.scale,
            **limits,
        )


def view(model, reference=None) -> View:
    """The model as a vote, or an error that says what it would have to be."""
    from holdfast.neighbors import _CertifiedClassifier

    *steps, last = _steps(model)
    check_is_fitted(last)
    n_features = int(getattr(model, "n_features_in_", last.n_features_in_))
    if isinstance(last, _CertifiedClassifier):
        before = fold(steps, n_features)
        own = Affine.linear(last.components_)
        points = last.reference_ @ last.components_.T
        voters = (points, last.reference_codes_, last.classes_, last._k(), "nearest")
        return View(model, _then(before, own), *voters, n_features)
    if isinstance(last, KNeighborsClassifier):
        metric = _check_scikit_learn(last)
        before = _then(fold(steps, n_features), metric) if metric is not None else fold(steps, n_features)
        rows, labels = _check_reference(last, reference, n_features)
        codes = np.searchsorted(last.classes_, labels)
        voters = (before(rows), codes, last.classes_, last.n_neighbors, "lowest")
        W = before.before.W if before.after is None else before.after.W
        source = rows if before.after is None else unit_rows(before.before(rows))
        scale = float(np.linalg.norm(np.abs(source) @ np.abs(W).T, axis=1).max())
        return View(model, before, *voters, n_features, scale)
    raise TypeError(
        f"{type(last).__name__} cannot be certified. What can: CertifiedKNeighborsClassifier, "
        "CertifiedPrototypeClassifier, scikit-learn's KNeighborsClassifier with reference=(X_train, y_train), "
        "and pipelines of affine steps that end in one of these."
    )


def as_norm(norm, n_features: int) -> Norm:
    """``2``, ``inf``, ``1``, their names, or a matrix ``A_0``, as a norm."""
    named: dict[str, type[L2] | type[LInf] | type[L1]] = {
        "l2": L2,
        "linf": LInf,
        "l1": L1,
        "2": L2,
        "inf": LInf,
        "1": L1,
        "2.0": L2,
        "1.0": L1,
    }
    if isinstance(norm, (L2, LInf, L1, Ellipsoid)):
        return norm
    if np.ndim(norm) > 0:
        return Ellipsoid(check_shape(norm, n_features))
    try:
        return named[str(norm).lower()]()
    except KeyError:
        raise ValueError(f"norm must be 2, numpy.inf, 1, or a positive definite matrix A_0; got {norm!r}.") from None


def _steps(model) -> Sequence:
    if isinstance(model, Pipeline):
        return [step for _, step in model.steps[:-1]] + list(_steps(model.steps[-1][1]))
    return [model]


def _then(before: Fold, own: Affine) -> Fold:
    if before.after is None:
        return Fold(before.before.then(own))
    return Fold(before.before, before.after.then(own))


def _check_scikit_learn(knn: KNeighborsClassifier) -> Affine | None:
    """The linear map its metric stands for (None: Euclidean); other votes and metrics are refused."""
    if knn.weights != "uniform":
        raise ValueError(
            f"weights={knn.weights!r} cannot be certified: only votes that count alike (weights='uniform')."
        )
    if knn.outputs_2d_:
        raise ValueError("A KNeighborsClassifier with several outputs cannot be certified.")
    if knn.metric == "euclidean" or (knn.metric == "minkowski" and knn.p == 2):
        weighted = (knn.metric_params or {}).get("w")
        if weighted is None:
            return None
    elif knn.metric == "mahalanobis" and knn.metric_params and "VI" in knn.metric_params:
        from holdfast.metric import check_metric, components_of

        L = components_of(check_metric(knn.metric_params["VI"], name="VI"))
        return Affine.linear(L)
    raise ValueError(
        f"metric={knn.metric!r} cannot be certified: only the Euclidean distance, and metric='mahalanobis' "
        "with metric_params={'VI': M}."
    )


def _check_reference(knn: KNeighborsClassifier, reference, n_features: int) -> tuple[np.ndarray, np.ndarray]:
    if reference is None:
        raise ValueError(
            "scikit-learn's KNeighborsClassifier does not tell its training data: give "
            "reference=(X_train, y_train), the rows the pipeline was fitted on."
        )
    rows, labels = reference
    if getattr(rows, "dtype", None) in (np.float32, np.float16):
        raise ValueError(
            f"reference is {rows.dtype}: a model fitted on it rounds far more coarsely than a certificate allows for. "
            "Fit the model on float64, reference=(X_train.astype(float), y_train), and certify that."
        )
    rows = check_array(rows, dtype=np.float64, input_name="reference")
    labels = np.asarray(labels)
    if rows.shape != (knn.n_samples_fit_, n_features) or labels.shape != (rows.shape[0],):
        raise ValueError(
            f"reference must be the {knn.n_samples_fit_} rows of {n_features} features the model was fitted "
            f"on, and their labels; got shapes {rows.shape} and {labels.shape}."
        )
    if not np.array_equal(np.unique(labels), knn.classes_):
        raise ValueError("The labels in reference are not the classes the model was fitted on.")
    return rows, labels
