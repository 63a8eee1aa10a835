"""The abstract learners: a transformer that carries a metric; one that learns from triplets; one that minimises terms.

``fit`` of a :class:`TermLearner` is five stations: mine triplets, make an objective, choose a space, minimise, factor.
"""

import warnings
from abc import ABC, abstractmethod
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator, ClassNamePrefixFeaturesOutMixin, TransformerMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from holdfast.base.blocks import round_to_bits, single_threaded_blas
from holdfast.base.collections import by_blocks
from holdfast.learn.geometry import TripletGeometry
from holdfast.learn.objective import Objective, Terms
from holdfast.learn.rows import LabelledRows, TripletRows, triplet_rows
from holdfast.learn.safeguards import (
    AUTO,
    AUTO_FRACTION,
    AUTO_ROWS,
    Span,
    Validation,
    VoteCheck,
    check_fraction,
    default_loss,
    finite_scatters,
    split_for_validation,
)
from holdfast.learn.solvers import LBFGS, PrimalDual, Progress, Solution, Solver, StopReason
from holdfast.learn.solvers.base import Callback, Function
from holdfast.learn.spaces import Factors, Mahalanobis, PSDMatrices, Space, check_metric, components_of
from holdfast.learn.supervision import NeighborSearch, Triplets, knn_triplets
from holdfast.learn.terms import Perturbation

_ZERO = 1e-6  # a largest d² below it is as good as 0: the hinge requires differences of 1


@dataclass(frozen=True, eq=False)
class Precomputed:
    """Parameters and arguments of ``fit`` that depend on the rows and on no parameter that is searched: made once, for
    many fits.
    """

    parameters: dict[str, Any] = field(default_factory=dict)
    arguments: dict[str, Any] = field(default_factory=dict)

    def fit(self, learner, X, y):
        """Fit the learner to the rows, without making again what is here."""
        return learner.set_params(**self.parameters).fit(X, y, **self.arguments)


class MetricLearner(ClassNamePrefixFeaturesOutMixin, TransformerMixin, BaseEstimator, ABC):
    """``transform(X) = X Lᵀ``; Euclidean distances after it are Mahalanobis distances before.

    Attributes
    ----------
    components_ : ndarray of shape (n_components, n_features)
        L, with ``M = LᵀL``.
    n_features_in_ : int
    feature_names_in_ : ndarray of str
        Only if the columns passed to ``fit`` have names.
    """

    components_: np.ndarray
    _needs_labels = False

    @abstractmethod
    def fit(self, X, y=None):
        """Learn the metric."""

    @by_blocks
    def transform(self, X) -> np.ndarray:
        """``X Lᵀ``, of shape (n_samples, n_components)."""
        check_is_fitted(self)
        X = validate_data(self, X, dtype=np.float64, reset=False)
        return X @ self.components_.T

    def get_mahalanobis_matrix(self) -> np.ndarray:
        """``M = LᵀL``, of shape (n_features, n_features)."""
        return self.get_metric().matrix

    def get_metric(self) -> Mahalanobis:
        """The distance as a function ``d(u, v, squared=False)`` of two points."""
        check_is_fitted(self)
        return Mahalanobis(self.components_)

    def pair_distance(self, pairs) -> np.ndarray:
        """Distance within each pair of an array of shape (n_pairs, 2, n_features)."""
        metric = self.get_metric()
        pairs = check_array(pairs, dtype=np.float64, allow_nd=True, input_name="pairs")
        if pairs.ndim != 3 or pairs.shape[1:] != (2, self.n_features_in_):
            raise ValueError(f"pairs must have shape (n_pairs, 2, {self.n_features_in_}); got {pairs.shape}.")
        return metric.between_pairs(pairs)

    def pair_score(self, pairs) -> np.ndarray:
        """Minus the distance within each pair: larger is nearer."""
        return -self.pair_distance(pairs)

    def precompute(self, X: np.ndarray, y: np.ndarray) -> Precomputed:
        """Make from these rows, once, what many fits with other parameters can share."""
        return Precomputed()

    def warm_start(self) -> dict[str, Any]:
        """Parameters with which another fit starts where this one ended; empty for a learner without a start."""
        return {"init": self.get_mahalanobis_matrix()} if "init" in self.get_params(deep=False) else {}

    @property
    def _n_features_out(self) -> int:
        return self.components_.shape[0]

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = self._needs_labels
        return tags


class TripletLearner(MetricLearner):
    """A learner whose supervision are triplets: given ones, or those that it finds from class labels.

    Its constructor stores the parameters named here.
    """

    n_neighbors: int
    n_impostors: int | None
    neighbors: str | NeighborSearch
    n_jobs: int | None
    _needs_labels = True

    @abstractmethod
    def fit(self, X, y=None, triplets=None):
        """Learn the metric from labels, or from triplets: rows (i, j, l), point i should be nearer to j than to l."""

    def find_triplets(self, X: np.ndarray, y: np.ndarray) -> Triplets:
        """The triplets that ``fit(X, y)`` would find."""
        return knn_triplets(X, y, self.n_neighbors, self.n_impostors, self.n_jobs, self.neighbors)

    def precompute(self, X: np.ndarray, y: np.ndarray) -> Precomputed:
        """The triplets of these rows."""
        return Precomputed(arguments={"triplets": self.find_triplets(X, y)})


class TermLearner(TripletLearner):
    """Minimises weighted terms over triplets, plus the perturbation loss if one is given.

    A subclass stores the parameters named here and defines what is summed (``make_terms``); if need be, also over which
    space (``make_space``).

    Attributes
    ----------
    objective_ : ndarray of shape (1 + ``n_iter_``,)
        The objective at the start and after every iteration.
    n_iter_ : int
    n_evaluations_ : int
        How often the objective and its gradient were computed.
    perturbation_ : Perturbation or None
        The perturbation loss that was used.
    validation_loss_ : ndarray of shape (1 + ``n_iter_``,) or None
        The loss on held-out rows at the start and after every iteration; None without ``validation_fraction``.
    """

    perturbation: Perturbation | str | None
    perturbation_: Perturbation | None
    solver: Solver | None
    init: np.ndarray | None
    validation_fraction: float | str | None = None  # a subclass that does not store it fits to the minimum
    callback: object
    verbose: int

    _collapse_advice = "Raise mu"
    _takes_auto = False  # whether perturbation="auto" is allowed

    # True if some optimal M lies on the span of the differences between rows, so that with more features than rows only
    # the span is searched; see Span. That holds if no matrix term rewards a part of M outside of it.
    _optimal_in_span = False

    @abstractmethod
    def make_terms(self) -> Terms:
        """Weights and terms of the objective, without the perturbation loss."""

    def make_space(self, solver: Solver, objective: Objective) -> Space:
        """The space of parameters, of a kind that the solver supports."""
        return metric_space(solver)

    def _minimise(self, objective: Objective, space: Space, solver: Solver, start, report, validation) -> Solution:
        """Solve the problem; see :func:`minimise`."""
        return minimise(objective, space, solver, start, report, validation)

    def _check(self) -> None:
        """Raise ``ValueError`` if a parameter is out of range."""

    def _prepare(self, data: TripletRows) -> None:
        """Make what else the fit needs from the data."""

    def _in_span(self, span: Span) -> Span | None:
        """The span, or None if what ``_prepare`` made does not lie in it, so that the metric need not either."""
        return span

    def _terms_in_span(self, terms: Terms, n_features: int, n_directions: int) -> Terms:
        """The terms as functions of a metric on the span; other than the given ones if they read the size of M."""
        return terms

    def _start(self, objective: Objective, solver: Solver, span: Span | None) -> np.ndarray:
        """The metric to start from: the user's, checked, or the default."""
        if self.init is None:
            return default_start(objective, solver, type(self).__name__)
        if span is None:
            return check_metric(self.init, objective.n_features, "init")
        return span.restrict(check_metric(self.init, len(span.mean), "init"))

    def _store(self, solution: Solution) -> None:
        """Set further attributes from the solution."""

    def fit(self, X, y=None, triplets=None):
        """Learn the metric from labels, or from triplets.

        Parameters
        ----------
        X : array-like or Dask collection of shape (n_samples, n_features)
            The rows of a collection stay on its workers.
        y : array-like or Dask collection of shape (n_samples,)
            Class labels, from which triplets are made. Not needed, and not used, with ``triplets``.
        triplets : Triplets or array-like of shape (n_triplets, 3), optional
            Rows (i, j, l): point i should be nearer to j than to l.

        Returns
        -------
        self
        """
        self._check()
        check_perturbation(self.perturbation, self._takes_auto)
        check_fraction(type(self).__name__, self.validation_fraction)
        solver, name = check_solver(self.solver), type(self).__name__
        report = FitReport(name, self.verbose, self.callback)
        with single_threaded_blas(), explain_linalg_errors(name):
            objective, span, votes, validation = self._make_objective(X, y, triplets)
            with objective, validation or nullcontext():
                space = self.make_space(solver, objective)
                start = space.start(self._start(objective, solver, span))
                solution = self._minimise(objective, space, solver, start, report, validation)
                report.end(solution)
                M = space.metric(solution.x)
                loss = "add a" if self.perturbation_ is None else "raise the weight of the"
                advice = f"{self._collapse_advice}, or {loss} perturbation loss"
                collapsed = warn_if_collapsed(name, objective, M, advice)
            L = components_of(M)
            self.components_ = L if span is None else span.components(L)
            if votes is not None and not collapsed and solution.reason is not StopReason.CALLBACK:
                votes.warn(name, self.components_, advice)
        self._store(solution)
        self.validation_loss_ = None if validation is None else np.array(validation.losses)
        self.objective_ = np.array(solution.trace)
        self.n_iter_ = solution.n_iter
        self.n_evaluations_ = solution.n_evaluations
        return self

    def _make_objective(self, X, y, triplets) -> tuple[Objective, Span | None, VoteCheck | None, Validation | None]:
        """The objective over the triplets of the data, which are released when this returns; the span on which the
        metric is learned, the check of the votes (triplets from labels only) and the loss on held-out rows, each None
        if there is none.
        """
        name, terms = type(self).__name__, list(self.make_terms())
        for _, term in terms:
            term.check()
        data = triplet_rows(self, X, y, triplets)
        self._prepare(data)
        loss = self.perturbation
        self.perturbation_ = default_loss(data, name, self.n_jobs) if isinstance(loss, str) else loss
        B, span, votes, validation = slope_matrix_for(self.perturbation_, data), None, None, None
        n, p = data.shape
        if triplets is None and data.labelled and data.in_memory:
            votes = VoteCheck.of(*data.sample(n, None))
        if p > n and self._optimal_in_span and data.in_memory:
            points, all_triplets = data.points_and_triplets()
            span = self._in_span(Span.of(points))
        if span is not None:
            data = TripletRows(span.project(points), None, all_triplets)
            B = None if B is None else span.restrict(B)
            terms = list(self._terms_in_span(terms, p, data.shape[1]))
        if self.perturbation_ is not None:
            terms.append((self.perturbation_.weight, self.perturbation_))
        fraction = self._fraction(data.in_memory, n)
        if fraction is not None:
            points, all_triplets = data.points_and_triplets()
            to_fit, to_validate = split_for_validation(points, all_triplets, fraction)
            if len(to_fit) and len(to_validate):
                data = TripletRows(points, None, to_fit)
                validation = Validation(points, to_validate, terms, B, self.n_jobs)
            elif not isinstance(self.validation_fraction, str):
                raise ValueError(
                    f"{name}: validation_fraction={fraction:g} of {n} rows leaves no triplets to fit or "
                    "none to validate on; pass None, or more rows."
                )
        return data.objective(terms, B, self.n_jobs), span, votes, validation

    def _fraction(self, in_memory: bool, n: int) -> float | None:
        """The share of the n rows to hold out."""
        fraction = self.validation_fraction
        if isinstance(fraction, str):  # "auto"
            may_overfit = self.perturbation is None and self.solver is None
            return AUTO_FRACTION if may_overfit and in_memory and n >= AUTO_ROWS else None
        if fraction is not None and not in_memory:
            raise TypeError(
                f"{type(self).__name__}: validation_fraction needs all rows in one place; pass None to learn from a "
                "Dask collection."
            )
        return fraction


# -- minimising over a space ------------------------------------------------------------------------


def minimise(
    objective: Function,
    space: Space,
    solver: Solver,
    start: np.ndarray,
    report: Callback | None = None,
    validation: Validation | None = None,
) -> Solution:
    """Minimise ``J(M(x))`` over the parameters x of a space: ``objective(M)`` returns value and gradient. ``report`` is
    called after every iteration and ends the run by True; ``validation`` ends it once held-out rows gain no more.
    """
    fun = objective if isinstance(solver, PrimalDual) else _OfParameters(objective, space)  # it takes the terms apart
    if validation is None:
        return solver.minimize(fun, space, start, report)
    stopped = False

    def watch(progress: Progress) -> bool:
        nonlocal stopped
        ends = report is not None and report(progress) is True
        stopped = validation(space.metric(progress.x), progress.x) and not ends
        return ends or stopped

    solution = solver.minimize(fun, space, start, watch)
    return validation.choose(solution, stopped)


class _OfParameters:
    """``x ↦ J(M(x))`` and its gradient in x; of parts of the objective, if it can be sampled."""

    def __init__(self, objective, space: Space):
        self._objective, self._space = objective, space
        self.n_parts = getattr(objective, "n_parts", None)

    def __call__(self, x: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at x."""
        value, G = self._objective(self._space.metric(x))
        return value, self._space.gradient(G, x)

    @contextmanager
    def sample(self, parts: np.ndarray) -> Iterator[Function]:
        """The function over the parts with these numbers."""
        with self._objective.sample(parts) as objective:
            yield _OfParameters(objective, self._space)


def metric_space(solver: Solver) -> Space:
    """All metrics, parametrised as the solver needs it: by factors, or as matrices that are projected."""
    return Factors() if solver.supports(Factors) else PSDMatrices(floor=1e-10)  # the floor of the paper's code


def default_start(objective: Objective, solver: Solver, owner: str) -> np.ndarray:
    """The identity; for a solver that rescales it, at the scale where the mean of ``d²(i, l)`` is 1, as the hinge's
    margin is.
    """
    M = np.eye(objective.n_features)
    return typical_scale(objective, owner) * M if solver.rescale_default_start else M


def typical_scale(objective: Objective, owner: str) -> float:
    """``1 / mean d²(i, l)`` over R, under the Euclidean distance; 1 if all are zero."""
    return 1.0 / (float(round_to_bits(np.trace(finite_scatters(objective.scatters, owner)[1]))) or 1.0)


# -- what learners check and say --------------------------------------------------------------------


def check_solver(solver) -> Solver:
    """A copy of the solver, or L-BFGS for None; ``ValueError`` for anything else."""
    if solver is None:
        return LBFGS()
    if not isinstance(solver, Solver):
        raise ValueError(
            f"solver must be None or a solver such as holdfast.learn.solvers.ProjectedGradient(); got {solver!r}."
        )
    return clone(solver)


def check_perturbation(perturbation, takes_auto: bool = False) -> None:
    """Raise ``ValueError`` unless this is None, a good :class:`~holdfast.Perturbation` or, where known, "auto"."""
    if perturbation is None or (takes_auto and isinstance(perturbation, str) and perturbation == AUTO):
        return
    if not isinstance(perturbation, Perturbation):
        known = "'auto', " if takes_auto else ""
        raise ValueError(
            f"perturbation must be {known}None or a Perturbation, for example "
            f"Perturbation(tau=0.2, weight=4.0); got {perturbation!r}."
        )
    perturbation.check()


def slope_matrix_for(perturbation: Perturbation | None, data: TripletRows | LabelledRows):
    """B of the perturbation loss for these rows; None for the identity, and without a perturbation loss."""
    if perturbation is None:
        return None
    return perturbation.slope_matrix(data.shape[1], data.variances() if perturbation.reads_variances else None)


@contextmanager
def explain_linalg_errors(owner: str) -> Iterator[None]:
    """Turn a ``LinAlgError``, which NaN and infinity cause, into a ``ValueError`` that says what to do."""
    try:
        yield
    except np.linalg.LinAlgError as failed:
        raise ValueError(
            f"{owner}: the numbers left the range of floating point on the way ({failed}); bring the features to an "
            "ordinary scale, for example with StandardScaler."
        ) from failed


class FitReport:
    """Prints the iterations of a fit (1: every tenth, 2: every one) and passes them on to the user's callback."""

    def __init__(self, owner: str, verbose: int, callback):
        self._owner, self._verbose, self._callback = owner, verbose, callback

    def __call__(self, progress: Progress) -> bool:
        """Print an iteration; True if the callback requests a stop."""
        if self._verbose and (self._verbose > 1 or progress.iteration % 10 == 0):
            print(
                f"[{self._owner}] iteration {progress.iteration:4d}   "
                f"objective {progress.value:.6g}   {progress.seconds:.2f} s"
                + (f"   over {progress.share:.1%} of the anchors" if progress.share < 1 else "")
            )
        return callable(self._callback) and self._callback(progress) is True

    def end(self, solution: Solution) -> None:
        """Print why the run ended."""
        if self._verbose:
            print(f"[{self._owner}] {solution.message}")


def warn_if_collapsed(owner: str, objective: Objective, M: np.ndarray, advice: str) -> bool:
    """Warn if the metric is zero on the data: it minimises the objective, but classifies nothing. True if it is."""
    collapsed = objective.largest_distance(M) < _ZERO
    if collapsed:
        warnings.warn(
            f"{owner} learned a metric that is zero on this data: the regulariser dominates the hinge. {advice}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return collapsed


# -- margins before learning, for a search over tau -------------------------------------------------


def adversarial_margins(learner: MetricLearner, X: np.ndarray, triplets: Triplets) -> np.ndarray:
    """``|f| / 2√h`` of every triplet at M = I: Euclidean adversarial margins.

    Parameters
    ----------
    learner : learner
        Its perturbation loss, if it has one, defines how moves are measured.
    X : ndarray of shape (n_samples, n_features)
    triplets : Triplets

    Returns
    -------
    ndarray of shape (n_triplets,)
    """
    perturbation = getattr(learner, "perturbation", None)
    B = perturbation.slope_matrix(X.shape[1], X.var(axis=0)) if isinstance(perturbation, Perturbation) else None
    geometry = TripletGeometry(X, triplets, B, True, 1)
    a, b, h = geometry.three_numbers(np.eye(X.shape[1]))
    geometry.close()
    assert h is not None
    return np.abs(b - a) / (2.0 * np.sqrt(np.where(h > 0, h, np.inf)))


def largest_tau(learner: MetricLearner, X: np.ndarray, y: np.ndarray) -> float:
    """The 90th percentile of the Euclidean adversarial margins, the upper end of the paper's range for tau: over the
    learner's own triplets, or with the paper's 3 targets and 10 impostors where it has none.
    """
    finds = isinstance(learner, TripletLearner)
    triplets = learner.find_triplets(X, y) if finds else knn_triplets(X, y, 3, 10, n_jobs=1)
    return float(np.percentile(adversarial_margins(learner, X, triplets), 90))
