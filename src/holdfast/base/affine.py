"""Fitted steps that are affine maps, read from their attributes and checked."""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectorMixin
from sklearn.preprocessing import FunctionTransformer, MaxAbsScaler, MinMaxScaler, RobustScaler, StandardScaler
from sklearn.utils.validation import check_is_fitted

from holdfast.base.blocks import product_by_rows
from holdfast.base.fingerprint import Passed, fingerprint
from holdfast.base.inputs import shares, with_names

_BLOCK = 1024  # rows certified at once: more than that can only be the rows of a model, which are always the same


@dataclass(frozen=True)
class AffineMap:
    """``z = W x + w0``, with the magnitudes that its rounding errors are measured by.

    Attributes
    ----------
    W : ndarray of shape (n_out, n_in)
    w0 : ndarray of shape (n_out,)
    absolute : ndarray of shape (n_out, n_in)
        ``|W|`` of one step, ``|W_2| |W_1|`` of two: products that cancel in W still round (Lemma F2).
    cancellation : ndarray of shape (n_out,)
        Magnitude of the constants that cancel (means, centres) in each coordinate of z.
    n_steps : int
        Steps that were composed.
    n_terms : int
        Terms of the longest sum; rounding grows with it (Lemma F1).
    """

    W: np.ndarray
    w0: np.ndarray
    absolute: np.ndarray
    cancellation: np.ndarray
    n_steps: int = 1
    n_terms: int = 0

    @classmethod
    def step(cls, W: np.ndarray, w0: np.ndarray | None = None, cancellation: np.ndarray | None = None) -> "AffineMap":
        """One step; ``cancellation`` is ``|w0|`` unless more than that cancels."""
        W = np.asarray(W, dtype=np.float64)
        w0 = np.zeros(W.shape[0]) if w0 is None else np.asarray(w0, dtype=np.float64)
        return cls(W, w0, np.abs(W), np.abs(w0 if cancellation is None else cancellation), 1, W.shape[1])

    @classmethod
    def identity(cls, n: int) -> "AffineMap":
        """``z = x``: no step at all."""
        return cls(np.eye(n), np.zeros(n), np.eye(n), np.zeros(n), 0)

    @property
    def scale(self) -> float:
        """The length of ``cancellation``."""
        return float(np.linalg.norm(self.cancellation))

    def __call__(self, X: np.ndarray, fixed: bool = False) -> np.ndarray:
        """The images of rows; each query of a block is mapped alone, so that it does not depend on the others.
        ``fixed``: these are the rows of a model, which are always the same, and are mapped together.
        """
        return self.linear_part(X, fixed) + self.w0

    def linear_part(self, X: np.ndarray, fixed: bool = False) -> np.ndarray:
        """``W x`` of rows: the images of moves, without the constant; each alone, as in a call."""
        return X @ self.W.T if fixed or len(X) > _BLOCK else product_by_rows(X, self.W)

    def magnitudes(self, X: np.ndarray) -> np.ndarray:
        """``|W_2| |W_1| |x|`` and what cancels, for each row and coordinate: rounding errors are a small part of it."""
        return np.abs(X) @ self.absolute.T + self.cancellation

    def then(self, after: "AffineMap") -> "AffineMap":
        """First this, then ``after``."""
        return AffineMap(
            after.W @ self.W,
            after.W @ self.w0 + after.w0,
            after.absolute @ self.absolute,
            after.cancellation + after.absolute @ (self.cancellation + np.abs(self.w0)),
            self.n_steps + after.n_steps,
            max(self.n_terms, after.n_terms, len(self.W)),
        )


_PASSED = Passed()
_ROUNDINGS = 4.0  # the step's image and ours err by γ each; folded constants by less than that again
_SIZES = np.array([1e-3, 1.0, -1e3, 1e6, -1e9])[:, None, None]  # scales of the rows on which a step is checked


class NotAffine(ValueError):
    """A step that is not ``z = W x + w0``."""

    def __init__(self, step, why: str = ""):
        name = type(step).__name__ + (f" ({why})" if why else "")
        super().__init__(
            f"{name} is not an affine step, so a certificate cannot be folded through it to the input. Certify "
            "the rest of the pipeline on its output instead: certify(model[k:], model[:k].transform(X), ...), with "
            "k the number of steps up to and including it; the radius is then in the units of that output."
        )


def affine_of(step, n_in: int) -> AffineMap:
    """The affine map of one fitted step, from its fitted attributes, checked against its ``transform``.

    Types in :data:`READERS` are read as such, no subclass: a subclass may do something else. Everything else with
    ``components_`` is taken for ``X @ components_.T`` (holdfast's learners, scikit-learn's NCA, metric-learn's).
    """
    check_is_fitted(step)
    read = READERS.get(type(step))
    if read is None and isinstance(step, SelectorMixin):
        if not shares(step, SelectorMixin, "transform", "_transform", "get_support"):
            raise NotAffine(step, "a selector with a transform of its own may do something else")
        read = _selector
    if read is None and isinstance(step, tuple(READERS)):
        raise NotAffine(step, "a subclass of a known step may do something else")
    if read is None:
        if not hasattr(step, "components_") or not hasattr(step, "transform"):
            raise NotAffine(step)
        read = _components
    return _checked(step, read(step, n_in), n_in)


def _checked(step, map_: AffineMap, n_in: int) -> AffineMap:
    """The map, if the step's own ``transform`` agrees with it up to rounding (Lemma F1) on rows of several scales
    around the origin, in units in which every input moves the output by about 1; else the step is refused.
    """
    if map_.W.shape[1] != n_in:
        raise ValueError(f"{type(step).__name__} takes {map_.W.shape[1]} features, but is given {n_in}.")
    digest = fingerprint(step) if type(step) in READERS else None
    if digest in _PASSED:
        return map_
    largest = np.maximum.reduce(map_.absolute, axis=0, initial=0.0)
    with np.errstate(over="ignore"):
        unit = np.divide(1.0, largest, out=np.ones(n_in), where=largest > 0) * (1.0 + map_.scale)
    at = np.arange(n_in)
    pattern = np.stack([3.0 * at / max(n_in - 1, 1) - 1.0, np.cos(at)])
    probe = np.zeros((3 + 2 * len(_SIZES), n_in))
    probe[1:3] = pattern
    probe[3:] = (_SIZES * (pattern * np.minimum(unit, 1e290))).reshape(-1, n_in)
    actual = np.asarray(step.transform(with_names(probe.copy(), step)), dtype=np.float64)
    expected = map_(probe)
    allowed = _ROUNDINGS * (max(map_.W.shape) + 8) * 2.0**-53 * map_.magnitudes(probe)
    if actual.shape != expected.shape or not (np.abs(actual - expected) <= allowed).all():
        raise NotAffine(step, "its transform does not agree with its fitted attributes")
    _PASSED.add(digest)
    return map_


def _double(values) -> np.ndarray:
    """Fitted numbers in double precision, in which the step computes on rows that are."""
    return np.asarray(values, dtype=np.float64)


def _standard(step: StandardScaler, n_in: int) -> AffineMap:
    scale = np.ones(n_in) if step.scale_ is None else _double(step.scale_)
    mean = step.mean_ if step.with_mean else np.zeros(n_in)
    return AffineMap.step(np.diag(1.0 / scale), -mean / scale)


def _min_max(step: MinMaxScaler, n_in: int) -> AffineMap:
    if step.clip:
        raise NotAffine(step, "clip=True")
    return AffineMap.step(np.diag(_double(step.scale_)), step.min_)


def _robust(step: RobustScaler, n_in: int) -> AffineMap:
    scale = _double(step.scale_) if step.with_scaling else np.ones(n_in)
    centre = step.center_ if step.with_centering else np.zeros(n_in)
    return AffineMap.step(np.diag(1.0 / scale), -centre / scale)


def _max_abs(step: MaxAbsScaler, n_in: int) -> AffineMap:
    if getattr(step, "clip", False):  # a parameter since scikit-learn 1.8
        raise NotAffine(step, "clip=True")
    return AffineMap.step(np.diag(1.0 / _double(step.scale_)))


def _pca(step: PCA, n_in: int) -> AffineMap:
    W = step.components_
    if step.whiten:
        # As scikit-learn divides: never by less than the smallest positive standard deviation it keeps.
        deviation = np.sqrt(step.explained_variance_)
        W = W / np.maximum(deviation, np.finfo(deviation.dtype).eps)[:, None]
    return AffineMap.step(W, -W @ step.mean_, np.abs(W) @ np.abs(step.mean_))


def _lda(step: LinearDiscriminantAnalysis, n_in: int) -> AffineMap:
    if step.solver == "lsqr":
        raise NotAffine(step, "solver='lsqr'")
    width = np.shape(step.transform(with_names(np.zeros((1, n_in)), step)))[1]
    W = step.scalings_[:, :width].T
    centre = step.xbar_ if step.solver == "svd" else np.zeros(n_in)
    return AffineMap.step(W, -W @ centre, np.abs(W) @ np.abs(centre))


def _selector(step: SelectorMixin, n_in: int) -> AffineMap:
    return AffineMap.step(np.eye(n_in)[step.get_support()])


def _function(step: FunctionTransformer, n_in: int) -> AffineMap:
    if step.func is not None:
        raise NotAffine(step, f"func={step.func!r}")
    return AffineMap.identity(n_in)


def _components(step, n_in: int) -> AffineMap:
    W = step.components_.toarray() if hasattr(step.components_, "toarray") else step.components_
    return AffineMap.step(np.atleast_2d(np.asarray(W, dtype=np.float64)))


# Exact type -> reader of its fitted attributes. One line here is all a new affine step needs.
READERS: dict[type, Callable[..., AffineMap]] = {
    StandardScaler: _standard,
    MinMaxScaler: _min_max,
    RobustScaler: _robust,
    MaxAbsScaler: _max_abs,
    PCA: _pca,
    TruncatedSVD: _components,
    LinearDiscriminantAnalysis: _lda,
    FunctionTransformer: _function,
}
