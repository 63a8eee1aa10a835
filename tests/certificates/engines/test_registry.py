"""The registry is what ``certify`` reads: an engine put first is the one that is used."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from holdfast import certify
from holdfast.certificates import ENGINES, Bounds, Engine, LinearProblem, NeighborProblem, choose
from tests.certificates.brute_force import random_problem

X, y = load_iris(return_X_y=True)


@pytest.fixture
def register(monkeypatch):
    """Put an engine first; it is gone after the test."""

    def first(kind: type, fast: bool = False, radius: float = 1e-3) -> Engine:
        def bound(problem, queries, prediction, *, inputs, n_jobs, budget):
            m, d = len(queries), problem.T.shape[1]
            return Bounds(np.full(m, radius), np.full(m, np.inf), np.full((m, d), np.nan))

        engine = Engine("constant", bound, lambda problem: isinstance(problem, kind), tight=False, fast=fast)
        monkeypatch.setattr("holdfast.certificates.engines.ENGINES", [engine, *ENGINES])
        return engine

    return first


def test_certify_uses_an_engine_that_is_put_first(register):
    model = KNeighborsClassifier(3).fit(X, y)
    before = certify(model, X[:5], reference=(X, y), witness=False).radius
    register(NeighborProblem)
    assert (certify(model, X[:5], reference=(X, y), witness=False).radius == 1e-3).all()
    assert (before > 1e-3).all()


def test_an_engine_is_used_only_for_what_it_handles(register):
    engine = register(LinearProblem)
    linear, neighbors = LogisticRegression(max_iter=1000).fit(X, y), KNeighborsClassifier(3).fit(X, y)
    assert (certify(linear, X[:5], witness=False).radius == 1e-3).all()
    assert (certify(neighbors, X[:5], reference=(X, y), witness=False).radius != 1e-3).all()
    problem = random_problem(np.random.default_rng(0), 3, 2)[0]
    assert choose(problem) is not engine


def test_the_fast_method_takes_fast_engines_only(register):
    model = KNeighborsClassifier(3).fit(X, y)
    register(NeighborProblem, fast=False)
    quick = certify(model, X[:5], reference=(X, y), witness=False, method="lower").radius
    assert (quick != 1e-3).all()
    register(NeighborProblem, fast=True)
    quick = certify(model, X[:5], reference=(X, y), witness=False, method="lower").radius
    assert (quick == 1e-3).all()


def test_a_problem_that_no_engine_takes_is_named(monkeypatch):
    monkeypatch.setattr("holdfast.certificates.engines.ENGINES", [])
    problem = random_problem(np.random.default_rng(0), 3, 2)[0]
    with pytest.raises(TypeError, match="No engine handles a NeighborProblem in the norm 'l2'"):
        choose(problem)


def test_names_are_unique():
    assert len({engine.name for engine in ENGINES}) == len(ENGINES)
