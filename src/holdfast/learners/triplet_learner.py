"""A learner is one sentence: terms, space, solver. Here is its grammar."""

import sys
import warnings
from abc import abstractmethod
from collections.abc import Sequence

import numpy as np
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from holdfast.constraints import NeighborSearch, Triplets, knn_triplets
from holdfast.learners.base import MetricLearner
from holdfast.learners.sampling import OverAnchors, ThroughSpace
from holdfast.metric import check_metric, components_of
from holdfast.objective import Objective
from holdfast.rows import refuse_collection, source_of
from holdfast.rows.sums import rounded
from holdfast.solvers import LBFGS, Progress, Solution, Solver
from holdfast.spaces import Factors, PSDMatrices, Space
from holdfast.terms import MatrixTerm, Perturbation, TripletTerm
from holdfast.threads import single_threaded_blas

Term = TripletTerm | MatrixTerm


class TripletLearner(MetricLearner):
    """Minimises weighted terms over triplets, plus the perturbation loss if one is given.

    A subclass stores the parameters named here and says what it sums (``_terms``); if need be, also over
    what (``_space``) and how by default (``_default_solver``).

    Attributes
    ----------
    objective_ : ndarray of shape (1 + ``n_iter_``,)
        The objective at the start and after every iteration.
    n_iter_ : int
    n_evaluations_ : int
        How often the objective and its gradient were computed.
    """

    n_neighbors: int
    n_impostors: int | None
    perturbation: Perturbation | None
    solver: Solver | None
    init: np.ndarray | None
    neighbors: str | NeighborSearch
    n_jobs: int | None
    callback: object
    verbose: int

    @abstractmethod
    def _terms(self) -> Sequence[tuple[float, Term]]:
        """Weights and terms of the objective, but for the perturbation loss."""

    def _all_terms(self) -> list[tuple[float, Term]]:
        """Weights and terms of the objective, the perturbation loss among them, checked."""
        terms = list(self._terms())
        if self.perturbation is not None:
            if not isinstance(self.perturbation, Perturbation):
                raise ValueError(
                    "perturbation must be None or a Perturbation, for example "
                    f"Perturbation(tau=0.2, weight=4.0); got {self.perturbation!r}."
                )
            terms.append((self.perturbation.weight, self.perturbation))
        for _, term in terms:
            term.check()
        return terms

    def _check(self) -> None:
        """Raise ``ValueError`` if a parameter is out of range."""

    def _default_solver(self) -> Solver:
        """What ``solver=None`` stands for."""
        return LBFGS()

    def _space(self, solver: Solver, objective: Objective) -> Space:
        """What is optimised over, of the kind the solver needs."""
        return Factors() if solver.needs == "bounds" else PSDMatrices(floor=1e-10)

    def _scatters_of(self, objective: Objective) -> tuple[np.ndarray, np.ndarray]:
        """The means over R of ``X_ij`` and of ``X_il``; ``ValueError`` if they are no numbers."""
        if not all(np.isfinite(C).all() for C in objective.scatters):
            raise ValueError(
                f"{type(self).__name__}: the squared distances between points are too large for floating point; bring "
                "the features to a smaller scale, for example with StandardScaler."
            )
        return objective.scatters

    def _start(self, n_features: int) -> np.ndarray | None:
        """The metric the user chose to start from, checked; None if there is none."""
        return None if self.init is None else check_metric(self.init, n_features, "init")

    def _look_at(self, data) -> None:
        """What else is to be made of the data before the fit; see :mod:`holdfast.rows`."""

    def _resume(self) -> dict[str, object]:
        """Parameters with which another fit starts where this one ended."""
        return {"init": self.get_mahalanobis_matrix()}

    def _keep(self, solution: Solution) -> None:
        """Note what else the solution tells, as attributes."""

    _when_collapsed = "Raise mu"

    def fit(self, X, y=None, triplets=None):
        """Learn the metric from labels, or from triplets.

        Parameters
        ----------
        X : array-like or Dask collection of shape (n_samples, n_features)
            The rows of a collection stay where they are.
        y : array-like or Dask collection of shape (n_samples,)
            Class labels, from which triplets are made. Not needed, and not used, with ``triplets``.
        triplets : Triplets or array-like of shape (n_triplets, 3), optional
            Rows (i, j, l): point i should be nearer to j than to l.

        Returns
        -------
        self
        """
        self._check()
        terms = self._all_terms()
        with single_threaded_blas(), self._objective(X, y, triplets, terms) as objective:
            solution, M = self._solve(objective, self._start(objective.n_features))
            self._say_if_collapsed(objective, M)
            self.components_ = components_of(M)
        self._keep(solution)
        self.objective_ = np.array(solution.trace)
        self.n_iter_ = solution.n_iter
        self.n_evaluations_ = solution.n_evaluations
        return self

    def _objective(self, X, y, triplets, terms: Sequence[tuple[float, Term]]) -> Objective:
        """What is minimised: the terms over the triplets of the data."""
        data = source_of(X).TripletData(self, X, y, triplets)
        self._look_at(data)
        B = None if self.perturbation is None else self.perturbation.slope_matrix(data.shape[1], data)
        return data.objective(terms, B, self.n_jobs)

    def _data(self, X, y, triplets) -> tuple[np.ndarray, Triplets]:
        """The points and their triplets, checked; both are here."""
        refuse_collection(self, X)
        if triplets is not None:
            X = validate_data(self, X, dtype=np.float64, order="C", ensure_min_samples=2)
            if not isinstance(triplets, Triplets):
                triplets = Triplets(triplets, len(X))
            if triplets.n_samples != len(X):
                raise ValueError(f"The triplets refer to {triplets.n_samples} points, but X has {len(X)} rows.")
            return X, triplets
        if y is None:
            validate_data(self, X, dtype=np.float64, ensure_min_samples=2)  # what is wrong with X comes first
            raise ValueError(
                f"{type(self).__name__} requires y to be passed, but the target y is None; "
                "pass class labels, or triplets=... instead."
            )
        X, y = validate_data(self, X, y, dtype=np.float64, order="C", ensure_min_samples=2)
        check_classification_targets(y)
        return X, self._mine(X, y)

    def _mine(self, X: np.ndarray, y: np.ndarray) -> Triplets:
        """The triplets of labelled points."""
        return knn_triplets(X, y, self.n_neighbors, self.n_impostors, self.n_jobs, self.neighbors)

    def _solve(self, objective: Objective, M0: np.ndarray | None) -> tuple[Solution, np.ndarray]:
        if not (self.solver is None or isinstance(self.solver, Solver)):
            raise ValueError(
                f"solver must be None or a solver such as holdfast.solvers.ProjectedGradient(); got {self.solver!r}."
            )
        solver: Solver = self._default_solver() if self.solver is None else clone(self.solver)
        space = self._space(solver, objective)
        if M0 is None:
            M0 = np.eye(objective.n_features)
            if solver.rescales:  # distances of the order of the hinge's margin, which is 1, whatever the units
                M0 /= float(rounded(np.trace(self._scatters_of(objective)[1]))) or 1.0

        solution = solver.minimize(self._function(objective, space), space, space.start(M0), self._report)
        if self.verbose:
            print(f"[{type(self).__name__}] {solution.message}", file=sys.stdout)
        return solution, space.metric(solution.x)

    def _function(self, objective: Objective, space: Space) -> ThroughSpace:
        """The objective as a function of the space's parameters; over samples too, if it is a sum over anchors."""
        if type(objective) is not Objective:  # what is learned beside M, or lives elsewhere, is not sampled
            return ThroughSpace(objective, space)

        def make(X: np.ndarray, triplets: Triplets) -> Objective:
            return Objective(X, triplets, self._all_terms(), objective.geometry.B, self.n_jobs)

        return OverAnchors(objective, space, make)

    def _report(self, progress: Progress) -> bool:
        """Show an iteration if asked to; pass it on to the user's callback."""
        if self.verbose and (self.verbose > 1 or progress.iteration % 10 == 0):
            print(
                f"[{type(self).__name__}] iteration {progress.iteration:4d}   "
                f"objective {progress.value:.6g}   {progress.seconds:.2f} s"
                + (f"   over {progress.share:.1%} of the anchors" if progress.share < 1 else "")
            )
        return callable(self.callback) and self.callback(progress) is True

    def _say_if_collapsed(self, objective: Objective, M: np.ndarray) -> None:
        """A metric that sees no distance at all solves nothing: say so."""
        if objective.largest_distance(M) < 1e-6:
            loss = "add a" if self.perturbation is None else "raise the weight of the"
            warnings.warn(
                f"{type(self).__name__} learned a metric that is zero on this data: the push is "
                f"outweighed. {self._when_collapsed}, or {loss} perturbation loss.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags
