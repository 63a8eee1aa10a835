"""Contract of every term exported by holdfast.learn: derivatives, chunks, parameters, abstract bases."""

import inspect

import numpy as np
import pytest
from sklearn.base import clone

from holdfast import LMNN, Perturbation, learn
from holdfast.learn import MatrixTerm, ProxyTerm, Pull, Push, Triplets, TripletTerm
from holdfast.learn.objective import Objective
from holdfast.learn.terms import Term
from tests.learn.test_geometry import SHAPES, P

EXPORTED = [v for _, v in sorted(vars(learn).items()) if inspect.isclass(v) and issubclass(v, Term)]
BASES = (TripletTerm, MatrixTerm, ProxyTerm)
TRIPLET_TERMS, MATRIX_TERMS, PROXY_TERMS = (
    [v for v in EXPORTED if issubclass(v, Base) and v is not Base] for Base in BASES
)

triplet_terms = pytest.mark.parametrize("Term", TRIPLET_TERMS)
matrix_terms = pytest.mark.parametrize("Term", MATRIX_TERMS)
proxy_terms = pytest.mark.parametrize("Term", PROXY_TERMS)
every_term = pytest.mark.parametrize("Term", TRIPLET_TERMS + MATRIX_TERMS + PROXY_TERMS)


def test_every_exported_class_is_under_a_contract():
    assert TRIPLET_TERMS
    assert MATRIX_TERMS
    assert PROXY_TERMS
    assert set(EXPORTED) == {*BASES, *TRIPLET_TERMS, *MATRIX_TERMS, *PROXY_TERMS}


@pytest.mark.parametrize("Base", BASES)
def test_the_kinds_of_term_are_abstract(Base):
    with pytest.raises(TypeError, match="abstract"):
        Base()


def numbers(rng, size=200):
    """a, b, h on both sides of every hinge, none of them exactly at one."""
    return rng.uniform(0.1, 3, size), rng.uniform(0.1, 3, size), rng.uniform(0.5, 20, size)


@triplet_terms
def test_partials_are_derivatives(Term):
    term, rng = Term(), np.random.default_rng(0)
    abh = numbers(rng)
    given = abh if term.over == "R" else (abh[0], None, None)
    _, *partials = term.value_and_partials(*given)
    for which, partial in enumerate(partials):
        if given[which] is None or (which == 2 and not term.reads_h):
            assert partial is None
            continue
        partial = np.zeros(200) if partial is None else partial
        for t in range(200):
            values = []
            for step in (1e-6, -1e-6):
                moved = [None if v is None else v[t : t + 1].copy() for v in given]
                moved[which] += step
                values.append(term.value_and_partials(*moved)[0])
            assert partial[t] == pytest.approx((values[0] - values[1]) / 2e-6, abs=1e-5)


@triplet_terms
def test_chunks_sum_to_the_whole(Term):
    term, abh = Term(), numbers(np.random.default_rng(1))
    given = abh if term.over == "R" else (abh[0], None, None)
    value, *partials = term.value_and_partials(*given)
    cuts = [slice(0, 1), slice(1, 77), slice(77, 200)]
    parts = [term.value_and_partials(*(None if v is None else v[c] for v in given)) for c in cuts]
    assert sum(part[0] for part in parts) == pytest.approx(value, rel=1e-12)
    for which, whole in enumerate(partials):
        if whole is not None:
            np.testing.assert_array_equal(np.concatenate([part[1 + which] for part in parts]), whole)


@triplet_terms
@pytest.mark.parametrize("B", SHAPES.values(), ids=SHAPES)
def test_gradient_in_the_metric_for_every_shape(Term, B):
    rng = np.random.default_rng(2)
    X = rng.normal(size=(25, P))
    triplets = Triplets([rng.choice(25, 3, replace=False) for _ in range(120)], 25)
    L = rng.normal(size=(P, P)) / 2
    M = L.T @ L + 0.1 * np.eye(P)
    with Objective(X, triplets, [(0.7, Term())], B) as objective:
        _, G = objective(M)
        G = G.copy()
        for _ in range(4):
            D = rng.normal(size=(P, P))
            D += D.T
            slope = (objective(M + 1e-6 * D)[0] - objective(M - 1e-6 * D)[0]) / 2e-6
            assert np.vdot(G, D) == pytest.approx(slope, rel=1e-4, abs=1e-7)


@matrix_terms
def test_matrix_terms_have_their_gradient(Term):
    rng = np.random.default_rng(0)
    L = rng.normal(size=(P, P))
    M = L.T @ L + np.eye(P)
    term = Term()
    _, G = term.value_and_grad(M)
    np.testing.assert_allclose(G, G.T)
    for _ in range(5):
        D = rng.normal(size=(P, P))
        D += D.T
        slope = (term.value_and_grad(M + 1e-6 * D)[0] - term.value_and_grad(M - 1e-6 * D)[0]) / 2e-6
        assert np.vdot(G, D) == pytest.approx(slope, rel=1e-5, abs=1e-7)


def distances_to_proxies(rng):
    """d, y, labels: 40 points, 3 classes, 2 proxies of each; some points nearest to a proxy of another class."""
    return rng.uniform(0.1, 4, (40, 6)), rng.integers(0, 3, 40), np.repeat(np.arange(3), 2)


@proxy_terms
def test_proxy_partials_are_derivatives(Term):
    term, (d, y, labels) = Term(), distances_to_proxies(np.random.default_rng(0))
    value, C = term.value_and_partials(d, y, labels)
    assert np.isscalar(value)
    assert C.shape == d.shape
    for i in range(d.shape[0]):
        for k in range(d.shape[1]):
            up, down = d[i : i + 1].copy(), d[i : i + 1].copy()
            up[0, k] += 1e-6
            down[0, k] -= 1e-6
            values = [term.value_and_partials(moved, y[i : i + 1], labels)[0] for moved in (up, down)]
            assert C[i, k] == pytest.approx((values[0] - values[1]) / 2e-6, abs=1e-6)


@proxy_terms
def test_proxy_terms_ignore_a_constant_added_to_the_distances_of_a_point(Term):
    """The geometry of proxies leaves out xᵀMx, which is the same for all proxies."""
    rng = np.random.default_rng(1)
    term, (d, y, labels) = Term(), distances_to_proxies(rng)
    value, C = term.value_and_partials(d, y, labels)
    np.testing.assert_allclose(C.sum(axis=1), 0.0, atol=1e-12)
    shifted, D = term.value_and_partials(d - rng.uniform(0, 5, (40, 1)), y, labels)
    assert shifted == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(D, C, atol=1e-12)


@proxy_terms
def test_proxy_terms_of_chunks_sum_to_the_whole(Term):
    term, (d, y, labels) = Term(), distances_to_proxies(np.random.default_rng(2))
    value, C = term.value_and_partials(d, y, labels)
    parts = [term.value_and_partials(d[c], y[c], labels) for c in (slice(0, 1), slice(1, 17), slice(17, 40))]
    assert sum(part[0] for part in parts) == pytest.approx(value, rel=1e-12)
    np.testing.assert_array_equal(np.concatenate([part[1] for part in parts]), C)


@proxy_terms
def test_proxy_terms_are_finite_far_away(Term):
    d = np.array([[1e6, 0.0], [0.0, 1e6]])
    value, C = Term().value_and_partials(d, np.array([0, 0]), np.array([0, 1]))
    assert np.isfinite(value)
    assert np.isfinite(C).all()


@every_term
def test_terms_are_scikit_learn_objects(Term):
    term = Term()
    parameters = term.get_params()
    assert clone(term).get_params() == parameters
    assert Term(**parameters).get_params() == parameters
    term.check()


def test_the_objective_is_the_paper_s():
    from tests.naive import lmnn_pl

    rng = np.random.default_rng(0)
    X = rng.normal(size=(30, P))
    triplets = Triplets([rng.choice(30, 3, replace=False) for _ in range(300)], 30)
    L = rng.normal(size=(P, P)) / 3
    M = L.T @ L
    weighted = [(0.3, Pull()), (0.7, Push()), (5.0, Perturbation(tau=0.5))]
    with Objective(X, triplets, weighted) as objective:
        value, G = objective(M)
    naive_value, naive_G = lmnn_pl(M, X, triplets.rows, mu=0.7, tau=0.5, weight=5.0)
    assert value == pytest.approx(naive_value, rel=1e-12)
    np.testing.assert_allclose(G, (naive_G + naive_G.T) / 2, rtol=1e-9, atol=1e-12)


def test_chunked_objectives_sum_to_the_whole():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(30, P))
    anchors = np.repeat(np.arange(30), 8)
    rows = np.array([(i, *rng.choice(np.delete(np.arange(30), i), 2, replace=False)) for i in anchors])
    triplets = Triplets(rows, 30)
    M = np.eye(P)
    weighted = [(0.4, Pull()), (0.6, Push()), (3.0, Perturbation(tau=0.5))]

    def sums(t):  # means times the sizes of their sets, term by term
        total, gradient = 0.0, 0.0
        for weight, term in weighted:
            with Objective(X, t, [(weight, term)]) as objective:
                value, G = objective(M)
            size = len(t) if term.over == "R" else t.targets.size
            whole = len(triplets) if term.over == "R" else triplets.targets.size
            total, gradient = total + value * size / whole, gradient + G * size / whole
        return total, gradient

    with Objective(X, triplets, weighted) as objective:
        value, G = objective(M)
    parts = [sums(triplets.take(c)) for c in (slice(0, 80), slice(80, 160), slice(160, 240))]  # by anchors
    assert sum(p[0] for p in parts) == pytest.approx(value, rel=1e-12)
    np.testing.assert_allclose(sum(p[1] for p in parts), G, rtol=1e-10, atol=1e-13)


def test_nested_parameters_reach_the_term():
    learner = LMNN(perturbation=Perturbation(tau=0.1))
    learner.set_params(perturbation__tau=0.7, perturbation__weight=3.0)
    assert (learner.perturbation.tau, learner.perturbation.weight) == (0.7, 3.0)
    assert clone(learner).perturbation is not learner.perturbation
    assert learner.get_params()["perturbation__tau"] == 0.7


@pytest.mark.parametrize("bad", [0, -1.0, np.nan, np.inf, "large", None, True])
@pytest.mark.parametrize("name", ["tau", "weight"])
def test_bad_perturbations_are_refused_by_name(name, bad):
    learner = LMNN(perturbation=Perturbation(**{name: bad}))
    with pytest.raises(ValueError, match=f"Perturbation: {name} must be"):
        learner.fit(np.arange(8.0)[:, None], [0, 0, 0, 0, 1, 1, 1, 1])
