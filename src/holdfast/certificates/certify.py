"""How far may this input move before the answer can change?"""

import sys
import time
from dataclasses import dataclass

import numpy as np
from sklearn.utils import check_array

from holdfast.attacks.segment import segment
from holdfast.certificates.certificate import Certificate, meet
from holdfast.certificates.exact_1nn import exact_1nn
from holdfast.certificates.exact_knn import exact_knn
from holdfast.certificates.input_space import unit_rows
from holdfast.certificates.knn_lower import knn_lower
from holdfast.certificates.nearby import from_nearby
from holdfast.certificates.norms import L2, Norm
from holdfast.certificates.problem import Bounds, Budget, NeighborProblem
from holdfast.certificates.rounding import kappa
from holdfast.certificates.view import View, as_norm, view
from holdfast.certificates.walk import walk
from holdfast.constraints.search import nearest_by_class
from holdfast.parameters import check_number
from holdfast.rows import certified_by_blocks

_ROWS = 256  # rows between two lines of progress; 1,024 if there are many reference points
_MANY = 5_000  # reference points from which on a walk asks the model as rarely as it can
_ENDS = 5  # points of other classes a row is walked towards


@certified_by_blocks
def certify(
    model,
    X,
    y=None,
    *,
    norm=2,
    reference=None,
    lower=None,
    upper=None,
    frozen=None,
    method: str = "auto",
    budget: float = 0.1,
    witness: bool = True,
    memory: float = 256.0,
    n_jobs: int | None = None,
    verbose: int = 0,
) -> Certificate:
    """``radius ≤ min{‖δ‖ : predict(x + δ) ≠ predict(x)} ≤ upper``, in the units of X.

    Parameters
    ----------
    model : fitted classifier
        A :class:`~holdfast.CertifiedKNeighborsClassifier` or :class:`~holdfast.CertifiedPrototypeClassifier`,
        scikit-learn's ``KNeighborsClassifier`` (with ``reference``), or a pipeline that ends in one of them and
        whose other steps are affine: scalers, PCA, TruncatedSVD, LDA, feature selection, NCA, anything with
        ``transform(X) = X @ components_.T``; one ``Normalizer()`` is allowed. Another step is refused by name.
    X : array-like or Dask collection of shape (n_rows, n_features)
        What the model takes. A collection is certified block by block on its workers; the certificate, which
        is as large as X (``adversarial``), comes back.
    y : array-like of shape (n_rows,), optional
        True labels, kept for ``certified_accuracy``.
    norm : {2, numpy.inf, 1} or array-like of shape (n_features, n_features), default=2
        How moves are measured; a matrix ``A_0`` is the norm ``√(δᵀ A_0 δ)``.
    reference : tuple (X_train, y_train), optional
        For scikit-learn's ``KNeighborsClassifier``: the rows the pipeline was fitted on, before its first step.
    lower, upper : float or array-like of shape (n_features,), optional
        A box: features of a moved row can only lie within it.
    frozen : array-like of bool or int, optional
        Features that cannot be moved, as a mask or as indices.
    method : {"auto", "lower"}, default="auto"
        "auto" seeks the exact radius (closed form and quadratic programs for one neighbour, branch and bound
        within ``budget`` for more); "lower" takes the fast lower bound alone.
    budget : float, default=0.1
        Seconds a row may take in branch and bound. Whatever it is, the bounds are sound.
    witness : bool, default=True
        Whether to look for adversarial points; without, ``upper`` is infinite.
    memory : float, default=256
        Megabytes that distances from rows to all reference points may take at once, over all threads; beside
        them there are a few copies of the reference points. It changes no result, but for the time.
    n_jobs : int or None, default=None
        Threads.
    verbose : int, default=0
        1 shows progress.

    Returns
    -------
    Certificate

    Notes
    -----
    Through a ``Normalizer`` the bound is the cap bound ``‖z‖ r√(1 − r²/4)`` of the radius r on the sphere, and
    through the steps before it the largest stretch of these steps: sound, not tight.

    Not promised: anything about rows far from the data, about other models, or about moves of the training
    data (see :func:`holdfast.poisoning_tolerance` for labels).

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> from sklearn.preprocessing import StandardScaler
    >>> from holdfast import certify
    >>> X, y = load_iris(return_X_y=True)
    >>> train, test = (X[::2], y[::2]), (X[1::2], y[1::2])
    >>> model = make_pipeline(StandardScaler(), KNeighborsClassifier(1)).fit(*train)
    >>> certificate = certify(model, *test, reference=train)
    >>> bool(certificate.exact.all())
    True
    >>> certificate.certified_accuracy(radii=[0.0, 0.1]).round(2).tolist()
    [0.96, 0.91]
    """
    check_number("certify", "memory", memory, above=0)
    if method not in ("auto", "lower"):
        raise ValueError(f"method must be 'auto' or 'lower'; got {method!r}.")
    seen = view(model, reference)
    rows = check_array(X, dtype=np.float64, input_name="X")
    if rows.shape[1] != seen.n_features:
        raise ValueError(f"X has {rows.shape[1]} features, but the model takes {seen.n_features}.")
    question = Question(seen, as_norm(norm, seen.n_features), *_limits(lower, upper, frozen, seen.n_features))
    y = None if y is None else np.asarray(y)
    if y is not None and y.shape != (len(rows),):
        raise ValueError(f"y must have shape ({len(rows)},); got {y.shape}.")
    codes = seen.predict(rows)
    parts = []
    began = time.perf_counter()
    step = _ROWS if len(seen.points) < _MANY else 4 * _ROWS
    for start in range(0, len(rows), step):
        part = slice(start, start + step)
        bounds = question.bounds(rows[part], codes[part], method, budget, n_jobs, memory)
        if witness:
            parts.append(question.verified(rows[part], codes[part], bounds, n_jobs))
        else:
            parts.append((bounds.lower, np.full_like(bounds.lower, np.inf), np.full_like(rows[part], np.nan)))
        if verbose:
            done = min(start + step, len(rows))
            left = (time.perf_counter() - began) / done * (len(rows) - done)
            print(f"[certify] {done} of {len(rows)} rows, {left:.0f} s left", file=sys.stdout)
    radius, size, adversarial = (np.concatenate(column) for column in zip(*parts, strict=True))
    units = "the units of X"
    return Certificate(radius, size, adversarial, seen.classes[codes], question.norm.name, units, y)


@dataclass(frozen=True)
class Question:
    """A model, a norm, and what an attacker may touch."""

    seen: View
    norm: Norm
    lower: np.ndarray | None
    upper: np.ndarray | None
    frozen: np.ndarray | None

    def bounds(self, rows: np.ndarray, codes: np.ndarray, method: str, budget: float, n_jobs, memory: float) -> Bounds:
        """What the engines say."""
        fold = self.seen.fold
        if fold.after is not None:
            return self._through_the_sphere(rows, codes, method, budget, n_jobs, memory)
        problem = self.seen.problem(fold.before, self.norm, lower=self.lower, upper=self.upper, frozen=self.frozen)
        return _engine(problem, fold(rows), codes, rows, method, budget, n_jobs, memory)

    def _through_the_sphere(self, rows, codes, method, budget, n_jobs, memory) -> Bounds:
        """A chord r on the unit sphere needs a move of ``‖z‖ r√(1 − r²/4)`` (of ``‖z‖`` beyond r = √2)."""
        before, after = self.seen.fold.before, self.seen.fold.after
        assert after is not None
        Z = before(rows)
        problem = self.seen.problem(after, L2())
        found = _engine(problem, after(unit_rows(Z)), codes, None, method, budget, n_jobs, memory)
        length = np.linalg.norm(Z, axis=1)
        # z as computed is off by this much, and so is its place on the sphere, before the move and after it.
        size = np.linalg.norm(np.abs(rows) @ np.abs(before.W).T, axis=1) + before.scale
        error = kappa(*before.W.shape) * size / np.where(length > 0, length, 1.0)
        r = np.clip(found.lower - 2.0 * error, 0.0, np.sqrt(2.0))
        # How far an input of length 1 can move z: the stretch of the steps before the sphere.
        stretch = _stretch(before.W, self.norm, self.frozen)
        radius = length * r * np.sqrt(1.0 - r**2 / 4.0) * (1.0 - 1e-12)
        nothing = np.full(len(rows), np.inf)
        radius = radius / stretch if stretch > 0 else nothing
        return Bounds(radius, nothing, np.full(rows.shape, np.nan))

    def verified(self, rows, codes, bounds: Bounds, n_jobs) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Radius, upper and witness; a witness counts only if the model's own predict changes at it."""
        best, size = np.full(rows.shape, np.nan), np.full(len(rows), np.inf)
        for push in (0.0, 1e-9, 1e-7, 1e-5, 1e-3):  # a hair beyond the boundary, if need be
            open_ = np.flatnonzero(np.isinf(size) & np.isfinite(bounds.delta).all(axis=1))
            if not open_.size:
                break
            moved = self._inside(rows[open_] + (1.0 + push) * bounds.delta[open_], rows[open_])
            hit = open_[self.seen.predict(moved) != codes[open_]]
            best[hit] = moved[np.isin(open_, hit)]
            size[hit] = self.norm.lengths(best[hit] - rows[hit])
        loose = np.flatnonzero(~meet(bounds.lower, size))
        if loose.size:
            walked = self._walked(rows[loose], codes[loose], n_jobs)
            length = np.where(np.isfinite(walked).all(axis=1), self.norm.lengths(walked - rows[loose]), np.inf)
            better = length < size[loose]
            best[loose[better]], size[loose[better]] = walked[better], length[better]
        return np.minimum(bounds.lower, size), size, best

    def _walked(self, rows: np.ndarray, codes: np.ndarray, n_jobs) -> np.ndarray:
        """Adversarial points on the way to points of other classes; NaN where none was found."""
        ends = list(self._ends(rows, codes, n_jobs))
        if self.seen.fold.after is None and len(self.seen.points) >= _MANY:
            return walk(self.seen, rows, codes, ends, self.norm.lengths, n_jobs)
        return segment(self.seen.predict, rows, codes, ends, self.norm.lengths)

    def _inside(self, moved: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Moved rows, frozen features put back and the box respected."""
        if self.frozen is not None:
            moved = np.where(self.frozen, rows, moved)
        low = -np.inf if self.lower is None else np.minimum(self.lower, rows)
        high = np.inf if self.upper is None else np.maximum(self.upper, rows)
        return np.clip(moved, low, high)

    def _ends(self, rows: np.ndarray, codes: np.ndarray, n_jobs):
        """Inputs near which the vote is taken by points of another class: a few choices a row."""
        fold, points = self.seen.fold, self.seen.points
        U = fold(rows)
        _, other = nearest_by_class(points, self.seen.codes, 1, _ENDS, n_jobs, (U, codes))
        map_ = fold.before if fold.after is None else fold.before.then(fold.after)
        free = np.ones(rows.shape[1], bool) if self.frozen is None else ~self.frozen
        back = np.linalg.pinv(map_.W[:, free])  # the shortest move of the free features to a place
        # On the way to the sphere a row keeps its length, so that it lands where it should.
        length = 1.0 if fold.after is None else np.linalg.norm(fold.before(rows), axis=1, keepdims=True)
        for column, reach in [*((c, 1.0) for c in other.T), (other[:, 0], 2.0)]:
            moved = rows.copy()
            moved[:, free] += reach * (points[np.maximum(column, 0)] - U) * length @ back.T
            moved[column < 0] = np.nan
            yield self._inside(moved, rows)


def _engine(
    problem: NeighborProblem, queries, codes, inputs, method: str, budget: float, n_jobs, memory: float
) -> Bounds:
    if method == "lower":
        return from_nearby(knn_lower, problem, queries, codes, inputs, n_jobs, memory)
    if problem.n_neighbors == 1:
        return from_nearby(exact_1nn, problem, queries, codes, inputs, n_jobs, memory)
    return from_nearby(exact_knn, problem, queries, codes, inputs, n_jobs, memory, budget=Budget(seconds=budget))


def _stretch(W: np.ndarray, norm: Norm, frozen: np.ndarray | None) -> float:
    """``max ‖Wδ‖₂`` over moves of length 1 of the free features, or a little more."""
    probe = NeighborProblem(np.zeros((1, W.shape[0])), np.zeros(1, int), W, norm=norm, frozen=frozen)
    return probe.chart.stretch


def _limits(lower, upper, frozen, n_features: int) -> tuple:
    """Box and frozen features, checked."""
    box = []
    for name, value in (("lower", lower), ("upper", upper)):
        if value is not None:
            value = np.asarray(value, dtype=np.float64)
            if value.shape not in ((), (n_features,)) or np.isnan(value).any():
                raise ValueError(f"{name} must be a number, or one for each of the {n_features} features.")
            value = np.broadcast_to(value, (n_features,)).copy()
        box.append(value)
    if box[0] is not None and box[1] is not None and (box[0] > box[1]).any():
        raise ValueError(f"lower is above upper for feature {int(np.argmax(box[0] > box[1]))}.")
    if frozen is not None:
        frozen = np.asarray(frozen)
        if frozen.dtype != bool:
            if frozen.size and (frozen.min() < 0 or frozen.max() >= n_features):
                raise ValueError(f"frozen names feature {int(frozen.max())}, but there are {n_features}.")
            mask = np.zeros(n_features, bool)
            mask[frozen.astype(int)] = True
            frozen = mask
        if frozen.shape != (n_features,):
            raise ValueError(f"frozen must be a mask of {n_features} features, or their indices.")
    return (*box, frozen)
