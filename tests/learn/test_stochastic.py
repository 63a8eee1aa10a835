"""Growing samples: they end when they should, and fit what the whole would."""

from contextlib import contextmanager

import numpy as np
import pytest
from sklearn.datasets import load_digits

from holdfast import DRIFT, LMNN, SCML, Perturbation
from holdfast.learn import Points, Pull, Push, Triplets, knn_triplets
from holdfast.learn.objective import Objective
from holdfast.learn.solvers import LBFGS, StochasticLBFGS


class MeanOfSquares:
    """``1 + mean ½‖x − c_t‖²`` over parts t; the least is at the mean of the c_t."""

    def __init__(self, centres):
        self.centres, self.n_parts = centres, len(centres)
        self.sizes = []

    def __call__(self, x):
        d = x - self.centres
        return 1.0 + 0.5 * np.mean(np.sum(d * d, axis=1)), d.mean(axis=0)

    @contextmanager
    def sample(self, parts):
        self.sizes.append(len(parts))
        yield MeanOfSquares(self.centres[parts])


def centres(n, p=5, seed=0):
    return np.random.default_rng(seed).normal(size=(n, p))


def solve(function, **settings):
    return StochasticLBFGS(**settings).minimize(function, Points(), np.full(function.centres.shape[1], 3.0))


# The expected excess over m parts is p/2m, the least objective 1 + p/2. With many parameters the estimate of
# the excess is itself nearly certain; with five it is a chi-square of five, and stops too early now and then.
@pytest.mark.parametrize(("p", "most"), [(100, 1e-3), (5, 2e-3)])
def test_the_sampling_error_at_the_end_is_about_the_one_asked_for(p, most):
    excess = []
    for seed in range(10):
        function = MeanOfSquares(centres(20_000, p, seed))
        solution = solve(function, tol=1e-3, sample_size=50, random_state=seed)
        assert solution.converged
        assert 200 <= function.sizes[-1] <= 5000  # neither the first sample nor the whole
        excess.append(function(solution.x)[0] / function(function.centres.mean(axis=0))[0] - 1.0)
    assert np.mean(excess) < most


def test_samples_are_nested_grow_and_end_at_the_whole():
    function = MeanOfSquares(centres(3000))
    solution = solve(function, tol=1e-12, sample_size=100, growth=3.0, patience=2)
    assert function.sizes == [100, 300, 900, 2700]
    np.testing.assert_allclose(solution.x, function.centres.mean(axis=0), atol=1e-6)


def test_progress_tells_the_share_of_the_data():
    seen = []
    function = MeanOfSquares(centres(1000))
    StochasticLBFGS(sample_size=100, tol=1e-12).minimize(
        function, Points(), np.zeros(5), lambda p: seen.append(p.share)
    )
    assert seen[0] == 0.1
    assert sorted(set(seen)) == [0.1, 0.4, 1.0]


@pytest.mark.parametrize(("name", "bad"), [("sample_size", 0), ("growth", 1.0)])
def test_bad_parameters_are_refused_by_name(name, bad):
    with pytest.raises(ValueError, match=f"StochasticLBFGS: {name} must be"):
        solve(MeanOfSquares(centres(10)), **{name: bad})


def test_the_objective_over_some_anchors_is_the_mean_over_their_triplets():
    X, y = load_digits(return_X_y=True)
    X = X / 16
    triplets = knn_triplets(X, y)
    anchors = triplets.anchors[::7]
    points, few = triplets.of_anchors(anchors)
    assert points.size < len(X)
    rows = triplets.rows[np.isin(triplets.i, anchors)]
    np.testing.assert_array_equal(points[few.rows], rows)
    terms = [(0.3, Pull()), (0.7, Push()), (2.0, Perturbation(tau=0.5))]
    M = np.diag(np.linspace(0.1, 1.0, 64))
    with Objective(X[points], few, terms) as part, Objective(X, Triplets(rows, len(X)), terms) as same:
        value, G = part(M)
        expected, H = same(M)
    assert value == pytest.approx(expected, rel=1e-12)
    np.testing.assert_allclose(G, H, rtol=1e-9, atol=1e-12)


@pytest.mark.parametrize("perturbation", [None, Perturbation(tau=0.5)])
@pytest.mark.parametrize("Learner", [LMNN, SCML])
def test_learners_reach_the_objective_of_the_whole(Learner, perturbation):
    X, y = load_digits(return_X_y=True)
    X = X / 16
    settings = {"perturbation": perturbation, "n_jobs": 1}
    if Learner is SCML:
        settings |= {"n_basis": 100, "random_state": 0}
    whole = Learner(solver=LBFGS(), **settings).fit(X, y)
    solver = StochasticLBFGS(sample_size=300, random_state=1)
    sampled = Learner(solver=solver, **settings).fit(X, y)
    assert sampled.objective_[-1] == pytest.approx(whole.objective_[-1], rel=0.02)
    np.testing.assert_array_equal(Learner(solver=solver, **settings).fit(X, y).components_, sampled.components_)


def test_drift_is_not_sampled():
    X, y = load_digits(return_X_y=True)
    shares = []
    DRIFT(n_turns=1, solver=StochasticLBFGS(sample_size=50), callback=lambda p: shares.append(p.share)).fit(
        X[:300], y[:300]
    )
    assert set(shares) == {1.0}
