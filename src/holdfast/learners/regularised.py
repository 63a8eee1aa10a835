"""What the learners with a regulariser of M in place of pull have in common."""

from abc import abstractmethod
from collections.abc import Sequence

from holdfast.learners.triplet_learner import Term, TripletLearner
from holdfast.parameters import check_number
from holdfast.terms import Push
from holdfast.terms.base import MatrixTerm


class RegularisedLMNN(TripletLearner):
    """``push + weight · regulariser(M) + perturbation``; a subclass names the regulariser."""

    _when_collapsed = "Lower weight"

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

    @abstractmethod
    def _regulariser(self) -> MatrixTerm:
        """The term that stands where LMNN has pull."""

    def _terms(self) -> Sequence[tuple[float, Term]]:
        return [(1.0, Push()), (self.weight, self._regulariser())]

    def _check(self) -> None:
        check_number(type(self).__name__, "weight", self.weight, above=0)
