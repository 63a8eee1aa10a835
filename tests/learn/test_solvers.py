"""Contract of every solver exported by holdfast.learn.solvers, on problems whose minimum is known."""

import inspect
from functools import partial

import numpy as np
import pytest
from scipy.optimize import nnls
from sklearn.base import clone
from sklearn.exceptions import ConvergenceWarning

from holdfast.learn import BasisWeights, Factors, PSDMatrices, Space, solvers
from holdfast.learn.solvers import PrimalDual, Solver, StopReason
from holdfast.learn.spaces import whitening

# PrimalDual, for hinges plus a norm alone, has a file of its own.
SOLVERS = [
    v
    for _, v in sorted(vars(solvers).items())
    if inspect.isclass(v) and issubclass(v, Solver) and v not in (Solver, PrimalDual)
]
every_solver = pytest.mark.parametrize("Solver", SOLVERS)


class Problem:
    """``minimise function(metric)`` with the value at the minimum."""

    def __init__(self, space, start, function, minimum):
        self.space, self.start, self.minimum = space, start, minimum

        def through(x):
            value, G = function(space.metric(x))
            return value, space.gradient(G, x)

        self.function = through


def nearest_psd(Space):
    """½‖M − A‖² over M ⪰ 0: the minimum clips A's negative eigenvalues."""
    rng = np.random.default_rng(0)
    A = rng.normal(size=(6, 6))
    A = A + A.T
    minimum = 0.5 * np.sum(np.minimum(np.linalg.eigvalsh(A), 0) ** 2)
    space = Space()
    return Problem(space, space.start(np.eye(6)), lambda M: (0.5 * np.sum((M - A) ** 2), M - A), minimum)


def nearest_combination():
    """½‖Σ w_k b_k b_kᵀ − A‖² over w ≥ 0: a non-negative least squares problem."""
    rng = np.random.default_rng(1)
    basis = rng.normal(size=(10, 4))
    A = rng.normal(size=(4, 4))
    A = A + A.T
    columns = np.stack([np.outer(b, b).ravel() for b in basis], axis=1)
    minimum = 0.5 * nnls(columns, A.ravel())[1] ** 2
    space = BasisWeights(basis)
    return Problem(space, space.start(np.eye(4)), lambda M: (0.5 * np.sum((M - A) ** 2), M - A), minimum)


def problems(solver):
    """The problems whose space has what the solver requires."""
    stretched = partial(Factors, whitening(np.diag(np.arange(6.0)), shrinkage=0.01))
    listed = [nearest_psd(PSDMatrices), nearest_psd(Factors), nearest_psd(stretched), nearest_combination()]
    return [p for p in listed if solver().supports(p.space)]


def precise(Solver):
    """A solver set to go on until it is nearly exact."""
    solver = Solver(max_iter=20_000, tol=1e-13)
    if "learning_rate" in solver.get_params():
        solver.set_params(learning_rate=0.01)
    return solver


@every_solver
def test_finds_known_minima(Solver):
    assert problems(Solver)
    for problem in problems(Solver):
        solution = precise(Solver).minimize(problem.function, problem.space, problem.start)
        assert solution.value == pytest.approx(problem.minimum, rel=1e-6)
        assert problem.function(solution.x)[0] == solution.value
        assert np.linalg.eigvalsh(problem.space.metric(solution.x))[0] > -1e-9
        assert solution.converged


@every_solver
def test_the_solution_tells_the_run(Solver):
    problem = problems(Solver)[0]
    calls = []
    solution = precise(Solver).minimize(lambda x: calls.append(1) or problem.function(x), problem.space, problem.start)
    assert solution.trace[0] == problem.function(problem.start)[0]
    assert len(solution.trace) == solution.n_iter + 1
    assert solution.n_evaluations == len(calls)
    assert solution.message
    assert min(solution.trace) == pytest.approx(solution.value, rel=1e-9)


@every_solver
def test_too_few_iterations_always_warn(Solver):
    problem = problems(Solver)[0]
    with pytest.warns(ConvergenceWarning, match=f"{Solver.__name__} did not converge.*max_iter"):
        solution = Solver(max_iter=2).minimize(problem.function, problem.space, problem.start)
    assert not solution.converged
    assert solution.n_iter <= 2


@every_solver
def test_a_callback_sees_every_iteration_and_may_stop(Solver):
    problem = problems(Solver)[0]
    seen = []

    def watch(progress):
        seen.append(progress)
        return progress.iteration == 3

    solution = precise(Solver).minimize(problem.function, problem.space, problem.start, watch)
    assert [p.iteration for p in seen] == [0, 1, 2, 3]
    assert [p.value for p in seen] == solution.trace
    assert solution.reason is StopReason.CALLBACK
    assert solution.message == "stopped by the callback"
    assert solution.n_iter == 3


@every_solver
def test_objectives_that_are_not_numbers_end_with_a_warning(Solver):
    problem = problems(Solver)[0]
    with pytest.warns(ConvergenceWarning, match="did not converge"):
        Solver().minimize(lambda x: (np.nan, np.full_like(x, np.nan)), problem.space, problem.start)


@every_solver
def test_starts_at_the_minimum(Solver):
    problem = problems(Solver)[0]
    best = precise(Solver).minimize(problem.function, problem.space, problem.start)
    again = precise(Solver).minimize(problem.function, problem.space, best.x)
    assert again.value <= best.value * (1 + 1e-9)


@every_solver
@pytest.mark.parametrize(("name", "bad"), [("max_iter", 0), ("max_iter", 1.5), ("tol", -1.0), ("tol", np.nan)])
def test_bad_parameters_are_refused_by_name(Solver, name, bad):
    problem = problems(Solver)[0]
    with pytest.raises(ValueError, match=f"{Solver.__name__}: {name} must be"):
        clone(Solver()).set_params(**{name: bad}).minimize(problem.function, problem.space, problem.start)


@every_solver
def test_a_space_without_what_is_needed_is_refused(Solver):
    with pytest.raises(TypeError, match="needs a space with"):
        Solver().minimize(lambda x: (0.0, x), object(), np.eye(2))


@every_solver
def test_what_is_required_exists_in_some_space(Solver):
    assert Solver().supports(BasisWeights)
    assert set(Solver.requires) <= {"project", "bounds"}


def test_solvers_and_spaces_are_abstract():
    for abstract in (Solver, Space):
        with pytest.raises(TypeError, match="abstract"):
            abstract()


def test_sentences_name_the_parameters():
    assert StopReason.SMALL_DECREASE.sentence(tol=0.1, patience=3).endswith("0.1 of itself over 3 iterations")
    assert not StopReason.MAX_ITER.converged
    assert StopReason.CALLBACK.converged
