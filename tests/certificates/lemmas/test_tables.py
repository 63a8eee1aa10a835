"""Lemmas V1 to V4: categories, whole numbers, relations, and classes that nobody attacks."""

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import Threat, certify
from holdfast.certificates.discrete import coarse_columns, offsets
from holdfast.certificates.engines.linear import with_relations
from holdfast.certificates.moves import TOLERANCE, Categories, Category, Moves, Relations
from holdfast.certificates.norms import L1, L2, LInf
from tests.certificates.lemmas.oracles import least_move

NORMS = {"l2": L2(), "linf": LInf(), "l1": L1()}


@given(
    sizes=st.lists(st.integers(1, 3), min_size=1, max_size=4),
    limited=st.lists(st.booleans(), min_size=4, max_size=4),
    most=st.one_of(st.none(), st.integers(0, 3)),
    seed=st.integers(0, 1000),
)
@settings(deadline=None, max_examples=60)
def test_v1_places_are_all_the_rows_that_a_row_can_become(sizes, limited, most, seed):
    groups = [
        Category(str(g), np.array([g]), np.arange(n, dtype=float)[:, None], limited[g]) for g, n in enumerate(sizes)
    ]
    rows = np.random.default_rng(seed).integers(0, 4, (3, len(sizes))).astype(float)
    found = Categories(groups, most)
    for part, owner, places in found.blocks(rows, 5):
        for t, x in enumerate(rows[part]):
            seen = [tuple(place) for place in places[owner == t]]
            choices = product(*({*range(n), v} for n, v in zip(sizes, x, strict=True)))
            expected = set()
            for z in choices:
                changed = [g for g in range(len(sizes)) if z[g] != x[g]]
                if changed and (most is None or sum(limited[g] for g in changed) <= most):
                    expected.add(tuple(float(v) for v in z))
            assert set(seen) == expected
            assert len(seen) == len(expected)
    assert found.count() == len(found.table())


def test_v1_groups_of_columns_hold_one_1():
    group = Category("k", np.array([1, 2, 3]), np.eye(3), False)
    rows = np.array([[5.0, 0.0, 1.0, 0.0], [6.0, 0.0, 0.0, 0.0]])
    found = {t: [] for t in (0, 1)}
    for _part, owner, places in Categories([group]).blocks(rows, 100):
        for t, place in zip(owner, places, strict=True):
            found[t].append(place.tolist())
    assert found[0] == [[5.0, 1.0, 0.0, 0.0], [5.0, 0.0, 0.0, 1.0]]
    assert len(found[1]) == 3  # a row of none of the categories can become each


@given(seed=st.integers(0, 10_000), norm=st.sampled_from(sorted(NORMS)))
@settings(deadline=None, max_examples=40)
def test_v2_a_move_below_the_reach_goes_to_a_place(seed, norm):
    rng = np.random.default_rng(seed)
    unit = rng.choice([0.5, 1.0, 2.0], 3)
    moves = Moves(NORMS[norm], unit=unit, integer=np.array([True, True, False]), upper=np.array([3.0, 9.0, 9.0]))
    x = np.array([rng.integers(-2, 4), rng.uniform(-2, 3), rng.normal()])
    places, reach = offsets(moves, x, 0.3, float(rng.uniform(0.5, 4.0)), None)
    listed = {tuple(place) for place in places}
    for _ in range(200):
        z = moves.enforce(x + rng.normal(size=3) * 3 * unit, x[None])[0]
        assert moves.allows(z[None], x[None])[0]
        if moves.lengths((z - x)[None])[0] < reach:
            assert (z[0], z[1], x[2]) in listed
    # The size of a move is made of its parts.
    z = moves.enforce(x + rng.normal(size=3) * unit, x[None])[0]
    whole, rest = (z - x) * [1, 1, 0], (z - x) * [0, 0, 1]
    parts = moves.norm.combine(moves.lengths(whole[None]), moves.lengths(rest[None]))
    np.testing.assert_allclose(parts, moves.lengths((z - x)[None]), rtol=1e-9)
    assert (parts <= moves.lengths((z - x)[None]) * (1 + 1e-15)).all()


def test_v2_many_whole_numbers_beside_few():
    """A step of a thousandth beside a step of one: the second is chosen, and the bound is nearly tight."""
    moves = Moves(NORMS["l2"], unit=np.array([1000.0, 1.0]), integer=np.array([True, True]))
    chosen = coarse_columns(moves, np.array([3.0, 2.0]), 3.0)
    assert chosen.tolist() == [False, True]
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.integers(0, 5000, 80), rng.integers(0, 6, 80)]).astype(float)
    y = (X[:, 0] / 1000 + X[:, 1] > 5).astype(int)
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)
    found = certify(model, X[:20], threat=Threat(unit=[1000.0, 1.0], integer=[0, 1]))
    grid = np.array([(a, b) for a in range(-3000, 8000, 10) for b in range(-5, 12)], float)
    other = model.predict(grid)
    for t in range(20):
        size = np.linalg.norm((grid - X[t]) / [1000.0, 1.0], axis=1)
        assert found.radius[t] <= size[other != found.prediction[t]].min() * (1 + 1e-9)
    assert (found.upper <= found.radius * 1.01 + 0.002).all()


@pytest.mark.parametrize("norm", NORMS)
@given(seed=st.integers(0, 10_000))
@settings(deadline=None, max_examples=25)
def test_v3_any_multipliers_and_the_best_ones(norm, seed):
    rng = np.random.default_rng(seed)
    a, c = rng.normal(size=3), rng.uniform(0.5, 2.0)
    rows, left = rng.normal(size=(2, 3)), rng.uniform(0.0, 1.0, 2)
    boxed = seed % 2
    down, up = rng.uniform(0.2, 3.0, (2, 1, 3)) if boxed else np.empty((2, 1, 0))
    exact = least_move(np.vstack([a, -rows]), np.append(c, -left), norm, *((down[0], up[0]) if boxed else (None, None)))
    radius, step = with_relations(
        a[None], np.array([c]), np.array([c]), np.zeros(1), NORMS[norm], down, up, rows, left[None]
    )
    assert radius[0] <= exact * (1 + 1e-9)
    if np.isfinite(exact):
        np.testing.assert_allclose(radius[0], exact, rtol=1e-6)
        np.testing.assert_allclose(NORMS[norm].lengths(step)[0], exact, rtol=1e-6)
    else:
        assert radius[0] > 1e6 or boxed  # within a box the fast proof need not see it
    for _ in range(20):  # any multipliers
        mu = rng.exponential(size=2) * rng.choice([0.0, 1.0, 100.0], 2)
        level, slope = c - mu @ left, NORMS[norm].dual_lengths((a - mu @ rows)[None])[0]
        assert max(level, 0.0) / slope <= exact * (1 + 1e-9)


def test_v3_a_row_on_an_equality_is_not_lost_to_rounding():
    relations = Relations(np.array([[1.0, 1.0, -1.0], [-1.0, -1.0, 1.0]]), np.zeros(2))
    row = np.array([[0.1, 0.2, 0.3]])  # 0.1 + 0.2 is not 0.3
    assert row[0, 0] + row[0, 1] != row[0, 2]
    assert not relations.broken(row).any()
    assert (relations.room(row, 2 * TOLERANCE) > 0).all()
    assert relations.kept(row, row).all()


def test_v4_rows_of_other_predictions_have_no_moves():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(40, 2))
    model = LogisticRegression().fit(X, X[:, 0] > 0)
    found = certify(model, X, threat=Threat(classes=[True]))
    assert (np.isinf(found.radius) == ~found.prediction).all()
