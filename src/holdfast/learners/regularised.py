"""The abstract learner with a regulariser of M in place of pull."""

from abc import abstractmethod

from holdfast.backends import Terms
from holdfast.learn import Push
from holdfast.learn.terms import MatrixTerm
from holdfast.learners.ranges import PERTURBATION, Ranges, Stages, powers_of_ten
from holdfast.learners.term_learner import TermLearner
from holdfast.parameters import check_number


class RegularisedLMNN(TermLearner):
    """``push + weight · regulariser(M) + perturbation``; a subclass names the regulariser."""

    _collapse_advice = "Lower weight"
    _optimal_in_span = True  # for norms and divergences of eigenvalues; the subclasses say what holds outside

    def __init__(
        self,
        n_neighbors: int = 3,
        n_impostors: int | None = 10,
        weight: float = 0.01,
        perturbation=None,
        solver=None,
        init=None,
        neighbors="exact",
        n_jobs: int | None = None,
        callback=None,
        verbose: int = 0,
        validation_fraction: float | str | None = None,
    ):
        self.n_neighbors = n_neighbors
        self.n_impostors = n_impostors
        self.weight = weight
        self.perturbation = perturbation
        self.solver = solver
        self.init = init
        self.neighbors = neighbors
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose
        self.validation_fraction = validation_fraction

    @abstractmethod
    def make_regulariser(self) -> MatrixTerm:
        """The term in place of LMNN's pull."""

    def make_terms(self) -> Terms:
        """Push and the regulariser."""
        return [(1.0, Push()), (self.weight, self.make_regulariser())]

    def default_ranges(self) -> Stages:
        """The paper's ranges; the perturbation loss is searched in a second stage, around the best of the first."""
        own = self._own_ranges()
        return own if self.perturbation is None else (own, PERTURBATION)

    def _own_ranges(self) -> Ranges:
        return {"weight": powers_of_ten(-6, 2)}

    def _check(self) -> None:
        check_number(type(self).__name__, "weight", self.weight, above=0)
