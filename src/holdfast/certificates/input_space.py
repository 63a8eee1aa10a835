"""From the model's space back to the user's features: affine steps are folded exactly, others are refused.

A pipeline ``x → z = W x + w0 → u = L z`` moves a query by ``L W δ`` when the input moves by δ, so the
certificate of the last step, taken with ``T = L W``, is one in the units of x.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectorMixin
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    RobustScaler,
    StandardScaler,
)
from sklearn.utils.validation import check_is_fitted


@dataclass(frozen=True)
class Affine:
    """``z = W x + w0``.

    Attributes
    ----------
    W : ndarray of shape (n_out, n_in)
    w0 : ndarray of shape (n_out,)
    cancels : ndarray of shape (n_out,)
        Magnitude of what cancels on the way (means, centres) in each coordinate of z, for the rounding bound.
    """

    W: np.ndarray
    w0: np.ndarray
    cancels: np.ndarray

    @property
    def scale(self) -> float:
        """The length of ``cancels``."""
        return float(np.linalg.norm(self.cancels))

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """The images of rows."""
        return X @ self.W.T + self.w0

    def then(self, after: "Affine") -> "Affine":
        """First this, then ``after``."""
        cancels = after.cancels + np.abs(after.W) @ (self.cancels + np.abs(self.w0))
        return Affine(after.W @ self.W, after.W @ self.w0 + after.w0, cancels)

    @classmethod
    def linear(cls, W: np.ndarray) -> "Affine":
        """``z = W x``."""
        return cls(W, np.zeros(W.shape[0]), np.zeros(W.shape[0]))


@dataclass(frozen=True)
class Fold:
    """A chain of steps, as ``x → before → (unit length) → after → u``.

    Attributes
    ----------
    before : Affine
        All steps, or those before an L2 normalisation.
    after : Affine or None
        The steps after the normalisation; None if there is none.
    """

    before: Affine
    after: Affine | None = None

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """The images of rows."""
        Z = self.before(X)
        return Z if self.after is None else self.after(unit_rows(Z))


def unit_rows(Z: np.ndarray) -> np.ndarray:
    """Rows scaled to unit length; a zero row stays zero."""
    length = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(length > 0, length, 1.0)


def fold(steps: Sequence, n_features: int) -> Fold:
    """The steps as one map; a step that is neither affine nor an L2 normalisation is refused by name."""
    before = Affine.linear(np.eye(n_features))
    after: Affine | None = None
    for step in _flat(steps):
        if isinstance(step, Normalizer):
            if step.norm != "l2":
                raise _refusal(step, f"norm={step.norm!r}")
            if after is not None:
                raise ValueError("Two Normalizer steps in one pipeline cannot be certified in input units.")
            after = Affine.linear(np.eye(before.W.shape[0]))
        elif after is None:
            before = before.then(affine_of(step, before.W.shape[0]))
        else:
            after = after.then(affine_of(step, after.W.shape[0]))
    return Fold(before, after)


def _flat(steps: Sequence) -> list:
    """The steps of nested pipelines in a row, without the ones that do nothing."""
    out: list = []
    for step in steps:
        if isinstance(step, Pipeline):
            out += _flat([inner for _, inner in step.steps])
        elif step is not None and not (isinstance(step, str) and step == "passthrough"):
            out.append(step)
    return out


def affine_of(step, n_in: int) -> Affine:
    """The affine map of one fitted step, from its fitted attributes, checked against its ``transform``."""
    for kind, read in _KNOWN.items():
        if isinstance(step, kind):
            check_is_fitted(step)
            W, w0, cancels = read(step, n_in)
            return _checked(step, Affine(W, w0, np.abs(cancels)), n_in)
    components = getattr(step, "components_", None)
    if components is None or not hasattr(step, "transform"):
        raise _refusal(step)
    # Whatever is linear with components_: holdfast's, scikit-learn's NCA, metric-learn's learners.
    W = np.atleast_2d(np.asarray(components, dtype=np.float64))
    return _checked(step, Affine.linear(W), n_in)


def _checked(step, map_: Affine, n_in: int) -> Affine:
    """The map, if the step's own ``transform`` agrees with it; else the step is refused."""
    if map_.W.shape[1] != n_in:
        raise ValueError(f"{type(step).__name__} takes {map_.W.shape[1]} features, but is given {n_in}.")
    probe = np.vstack([np.zeros(n_in), np.linspace(-1.0, 2.0, n_in), np.cos(np.arange(n_in))])
    seen = np.asarray(_quiet_transform(step, probe), dtype=np.float64)
    told = map_(probe)
    if seen.shape != told.shape or not np.allclose(seen, told, rtol=1e-8, atol=1e-8 * (1 + map_.scale)):
        raise _refusal(step, "its transform is not X @ components_.T")
    return map_


def _quiet_transform(step, rows: np.ndarray):
    """``transform`` without the warning about missing column names."""
    names = getattr(step, "feature_names_in_", None)
    if names is not None and len(names) == rows.shape[1]:
        from pandas import DataFrame  # the names came from a data frame

        return step.transform(DataFrame(rows, columns=names))
    return step.transform(rows)


def _refusal(step, why: str = "") -> ValueError:
    name = type(step).__name__ + (f" ({why})" if why else "")
    return ValueError(
        f"{name} is not an affine step, so a certificate cannot be folded through it to the input. Certify "
        "the rest of the pipeline on its output instead: certify(model[k:], model[:k].transform(X), ...), with "
        "k the number of steps up to and including it; the radius is then in the units of that output."
    )


# Each reads W, w0 and what cancels from the fitted attributes of a step.


def _standard(step: StandardScaler, n_in: int):
    scale = np.ones(n_in) if step.scale_ is None else step.scale_
    mean = step.mean_ if step.with_mean else np.zeros(n_in)
    return np.diag(1.0 / scale), -mean / scale, mean / scale


def _min_max(step: MinMaxScaler, n_in: int):
    if step.clip:
        raise _refusal(step, "clip=True")
    return np.diag(step.scale_), step.min_, step.min_


def _robust(step: RobustScaler, n_in: int):
    scale = step.scale_ if step.with_scaling else np.ones(n_in)
    centre = step.center_ if step.with_centering else np.zeros(n_in)
    return np.diag(1.0 / scale), -centre / scale, centre / scale


def _max_abs(step: MaxAbsScaler, n_in: int):
    return np.diag(1.0 / step.scale_), np.zeros(n_in), np.zeros(n_in)


def _pca(step: PCA, n_in: int):
    W = step.components_
    if step.whiten:
        # As scikit-learn divides: never by less than the smallest positive standard deviation it keeps.
        deviation = np.sqrt(step.explained_variance_)
        W = W / np.maximum(deviation, np.finfo(deviation.dtype).eps)[:, None]
    return W, -W @ step.mean_, np.abs(W) @ np.abs(step.mean_)


def _svd(step: TruncatedSVD, n_in: int):
    return step.components_, np.zeros(step.components_.shape[0]), np.zeros(step.components_.shape[0])


def _lda(step: LinearDiscriminantAnalysis, n_in: int):
    if step.solver == "lsqr":
        raise _refusal(step, "solver='lsqr'")
    width = np.shape(_quiet_transform(step, np.zeros((1, n_in))))[1]
    W = step.scalings_[:, :width].T
    centre = step.xbar_ if step.solver == "svd" else np.zeros(n_in)
    return W, -W @ centre, np.abs(W) @ np.abs(centre)


def _selected(step: SelectorMixin, n_in: int):
    W = np.eye(n_in)[step.get_support()]
    return W, np.zeros(W.shape[0]), np.zeros(W.shape[0])


def _function(step: FunctionTransformer, n_in: int):
    if step.func is not None:
        raise _refusal(step, f"func={step.func!r}")
    return np.eye(n_in), np.zeros(n_in), np.zeros(n_in)


_KNOWN: dict[type, Callable] = {
    StandardScaler: _standard,
    MinMaxScaler: _min_max,
    RobustScaler: _robust,
    MaxAbsScaler: _max_abs,
    PCA: _pca,
    TruncatedSVD: _svd,
    LinearDiscriminantAnalysis: _lda,
    SelectorMixin: _selected,
    FunctionTransformer: _function,
}
