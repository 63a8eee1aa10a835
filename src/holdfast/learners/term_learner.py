"""The abstract learner that minimises weighted terms: terms, space, solver."""

from abc import abstractmethod
from contextlib import nullcontext

import numpy as np

from holdfast.backends import ObjectiveLike, Terms, TripletData, is_dask
from holdfast.backends.array_triplets import ArrayTriplets
from holdfast.learn import Perturbation, Space
from holdfast.learn.solvers import Solution, Solver
from holdfast.learn.solvers.base import StopReason
from holdfast.learn.spaces import check_metric, components_of
from holdfast.learners.default_loss import default_loss
from holdfast.learners.failures import explained_failures
from holdfast.learners.fit_report import FitReport, warn_if_collapsed
from holdfast.learners.minimise import default_start, metric_space, minimise
from holdfast.learners.mining import mine
from holdfast.learners.settings import check_perturbation, check_solver, slope_matrix_for
from holdfast.learners.span import Span
from holdfast.learners.triplet_learner import TripletLearner
from holdfast.learners.validation import AUTO_FRACTION, AUTO_ROWS, Validation, check_fraction, divide
from holdfast.learners.vote_check import VoteCheck
from holdfast.numerics.threads import single_threaded_blas


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

    def make_space(self, solver: Solver, objective: ObjectiveLike) -> Space:
        """The space of parameters, of a kind that the solver supports."""
        return metric_space(solver)

    def _minimise(self, objective: ObjectiveLike, space: Space, solver: Solver, start, report, validation) -> Solution:
        """Solve the problem; see :func:`~holdfast.learners.minimise.minimise`."""
        return minimise(objective, space, solver, start, report, validation)

    def _check(self) -> None:
        """Raise ``ValueError`` if a parameter is out of range."""

    def _prepare(self, data: TripletData) -> None:
        """Make what else the fit needs from the data."""

    def _in_span(self, span: Span) -> Span | None:
        """The span, or None if what ``_prepare`` made does not lie in it, so that the metric need not either."""
        return span

    def _terms_in_span(self, terms: Terms, n_features: int, n_directions: int) -> Terms:
        """The terms as functions of a metric on the span; other than the given ones if they read the size of M."""
        return terms

    def _start(self, objective: ObjectiveLike, solver: Solver, span: Span | None) -> np.ndarray:
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
        with single_threaded_blas(), explained_failures(name):
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

    def _make_objective(self, X, y, triplets) -> tuple[ObjectiveLike, Span | None, VoteCheck | None, Validation | None]:
        """The objective: all terms over the triplets of the data, which are released when this returns.

        With it the span on which the metric is learned, if on one; the check of the votes, if the triplets were made
        from labels; and the loss on held-out rows, if some are held out.
        """
        terms = list(self.make_terms())
        for _, term in terms:
            term.check()
        data = mine(self, X, y, triplets)
        self._prepare(data)
        self.perturbation_ = (
            default_loss(data, type(self).__name__, self.n_jobs)
            if isinstance(self.perturbation, str)
            else self.perturbation
        )
        B, span = slope_matrix_for(self.perturbation_, data), None
        n, p = data.shape
        votes = None
        if triplets is None and data.labelled and not is_dask(X):
            votes = VoteCheck.of(*data.sample(n, None))
        if p > n and self._optimal_in_span and not is_dask(X):
            points, all_triplets = data.points_and_triplets()
            span = self._in_span(Span.of(points))
        if span is not None:
            data = ArrayTriplets(span.project(points), None, all_triplets)
            B = None if B is None else span.restrict(B)
            terms = list(self._terms_in_span(terms, p, data.shape[1]))
        if self.perturbation_ is not None:
            terms.append((self.perturbation_.weight, self.perturbation_))
        validation = None
        fraction = self._fraction(is_dask(X), n)
        if fraction is not None:
            points, all_triplets = data.points_and_triplets()
            to_fit, to_validate = divide(points, all_triplets, fraction)
            if len(to_fit) and len(to_validate):
                data = ArrayTriplets(points, None, to_fit)
                validation = Validation(points, to_validate, terms, B, self.n_jobs)
            elif not isinstance(self.validation_fraction, str):
                raise ValueError(
                    f"{type(self).__name__}: validation_fraction={fraction:g} of {n} rows leaves no triplets to fit or "
                    "none to validate on; pass None, or more rows."
                )
        return data.objective(terms, B, self.n_jobs), span, votes, validation

    def _fraction(self, in_collection: bool, n: int) -> float | None:
        """The share of the n rows to hold out."""
        fraction = self.validation_fraction
        if isinstance(fraction, str):  # "auto"
            may_overfit = self.perturbation is None and self.solver is None
            return AUTO_FRACTION if may_overfit and not in_collection and n >= AUTO_ROWS else None
        if fraction is not None and in_collection:
            raise TypeError(
                f"{type(self).__name__}: validation_fraction needs all rows in one place; pass None to learn from a "
                "Dask collection."
            )
        return fraction
