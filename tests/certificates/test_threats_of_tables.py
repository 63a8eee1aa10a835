"""Every threat, for every kind of model: ``radius ≤ truth ≤ upper`` by brute force, witnesses that keep all limits."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.base import clone

from holdfast import Threat, attack, certify
from holdfast.certificates.columns import Encoding
from holdfast.certificates.readers import voter_for
from tests.certificates.tables import MODELS, NAMES, THREATS, make_table, truth
from tests.sizes import every_pair

NORMS = [2, np.inf, 1]


def fitted(name, seed=0, equal=False):
    X, y = make_table(seed, n=7 if "three" in name or "scikit" in name else 9, equal=equal)
    return clone(MODELS[name]).fit(X, y), X, y


def check_witnesses(model, X, found, threat):
    """Every limit, in exact arithmetic; and the model's own answer."""
    seen = np.isfinite(found.upper)
    if not seen.any():
        return
    moved, rows = found.adversarial[seen], X.to_numpy()[seen]
    frame = X[:0].reindex(range(len(moved)))
    frame[:] = moved
    assert (model.predict(frame) != found.prediction[seen]).all()
    at = {name: i for i, name in enumerate(NAMES)}
    for z, x in zip(moved, rows, strict=True):
        for name, values in ((threat.free or {}) | (threat.categories or {})).items():
            if name in at:
                assert z[at[name]] in values
            else:
                assert sorted(z[[at[v] for v in values]]) == [0.0] * (len(values) - 1) + [1.0]
        for name in threat.integer or ():
            assert z[at[name]] == round(z[at[name]])
        for name in threat.only_up or ():
            assert z[at[name]] >= x[at[name]]
        for name, value in (threat.lower or {}).items():
            assert z[at[name]] >= min(value, x[at[name]])
        for name, value in (threat.upper or {}).items():
            assert z[at[name]] <= max(value, x[at[name]])
        for terms, sense, value in threat.relations or ():
            total = sum(Fraction(factor) * Fraction(float(z[at[n]])) for n, factor in terms.items()) - Fraction(value)
            assert {"<=": total <= 0, ">=": total >= 0, "==": abs(total) < 1e-7}[sense]
        if threat.max_changes is not None:
            group = z[[at["k_x"], at["k_y"]]] != x[[at["k_x"], at["k_y"]]]
            assert (z[at["kind"]] != x[at["kind"]]) + group.any() <= threat.max_changes


@pytest.mark.parametrize(("name", "kind", "norm"), every_pair(MODELS, THREATS, NORMS))
def test_bounds_enclose_the_truth_and_witnesses_keep_every_limit(name, kind, norm):
    model, X, y = fitted(name, seed=len(kind), equal=kind == "equality")
    threat = Threat(norm, **THREATS[kind])
    some = X[:1] if "three" in name or "scikit" in name else X[:3]
    found = certify(model, some, threat=threat, reference=(X, y), n_jobs=1)
    voter, moves = voter_for(model, (X, y)), threat.bind(Encoding(5, NAMES))
    codes = voter.predict(some.to_numpy())
    exact = np.array([truth(voter, moves, x, c) for x, c in zip(some.to_numpy(), codes, strict=True)])
    assert (found.radius <= exact * (1 + 1e-7) + 1e-8).all()
    # Whole numbers are enumerated within ±5 only: a witness beyond is no contradiction.
    assert (np.minimum(exact, 4.0) <= found.upper * (1 + 1e-6) + 1e-7).all()
    check_witnesses(model, some, found, threat)
    if name == "logistic":
        assert found.exact[exact < 4.0].all()


@pytest.mark.parametrize("name", ["logistic", "one neighbour"])
def test_a_verdict_is_that_of_the_radius(name):
    model, X, y = fitted(name)
    X, y = X[:4], y[:4]
    threat = Threat(np.inf, **THREATS["everything"])
    whole = certify(model, X, y, threat=threat, n_jobs=1)
    for at in (0.0, 1.0):
        found = certify(model, X, y, threat=threat, at=at, n_jobs=1)
        stable = found.stable
        assert set(stable.tolist()) <= {True, False, None}
        assert (whole.upper[stable == True] > at).all()  # noqa: E712
        assert (whole.radius[stable == False] <= at).all()  # noqa: E712
        assert (found.upper[stable == False] <= at).all()  # noqa: E712
        right = found.prediction == y
        assert found.certified_accuracy() == pytest.approx(np.mean(right & (stable == True)))  # noqa: E712
        np.testing.assert_array_equal(attack(model, X, threat=threat, at=at, n_jobs=1).size, found.upper)


WIDER = [  # a set of moves, and a larger one
    ({"integer": ["b"]}, {}),
    ({"frozen": ["kind"]}, {"free": {"kind": [0, 1, 2]}}),
    ({"free": {"kind": [0, 1]}}, {"free": {"kind": [0, 1, 2]}}),
    ({"relations": [({"a": 1, "b": -1}, "<=", 1.5)]}, {}),
    ({"relations": [({"a": 1, "b": -1}, "<=", 1.5)]}, {"relations": [({"a": 1, "b": -1}, "<=", 3)]}),
    ({"frozen": ["b"]}, {"only_up": ["b"]}),
    ({"only_up": ["b"]}, {}),
    ({"only_down": ["a"]}, {}),
    ({"lower": {"a": -1}}, {"lower": {"a": -3}}),
    ({"upper": {"b": 4}}, {"upper": {"b": 6}}),
    ({"unit": {"a": 0.5}}, {"unit": {"a": 1.0}}),
    ({"classes": [1]}, {}),
    (
        {"categories": {"kind": [0, 1, 2], "k": ["k_x", "k_y"]}, "max_changes": 1},
        {"categories": {"kind": [0, 1, 2], "k": ["k_x", "k_y"]}},
    ),
]


@pytest.mark.parametrize(("name", "norm"), [("logistic", 1), ("logistic", np.inf), ("one neighbour", 2)])
@pytest.mark.parametrize("number", range(len(WIDER)))
def test_more_moves_never_have_a_larger_radius(name, number, norm):
    model, X, y = fitted(name, seed=5)
    few, many = (certify(model, X[:4], threat=Threat(norm, **given), n_jobs=1) for given in WIDER[number])
    assert (many.radius <= few.upper).all()
    both = few.exact & many.exact
    assert (many.radius[both] <= few.radius[both] * (1 + 1e-4)).all()


def test_only_the_classes_named_are_attacked():
    model, X, y = fitted("logistic")
    found = certify(model, X, y, threat=Threat(classes=[1]), at=0.5)
    left = found.prediction != 1
    assert np.isinf(found.radius[left]).all()
    assert (found.stable[left] == True).all()  # noqa: E712
    np.testing.assert_array_equal(found.radius[~left], certify(model, X, at=0.5).radius[~left])
    with pytest.raises(ValueError, match="classes names 'bad', but the classes of the model are 0, 1"):
        certify(model, X, threat=Threat(classes=["bad"]))


def test_rows_that_break_a_relation_are_refused():
    model, X, y = fitted("logistic")
    with pytest.raises(ValueError) as caught:
        certify(model, X, threat=Threat(relations=[({"a": 1}, "<=", -50)], free={"k": ["k_x", "b"]}))
    assert "9 of 9 rows break the relation 1 a <= -50 before any move, the first is row 0" in str(caught.value)
    assert "in the columns of 'k'" in str(caught.value)


def test_too_many_combinations_are_refused():
    many = {name: list(range(30)) for name in NAMES[:3]}
    with pytest.raises(ValueError, match="29,791 combinations a row, more than 10,000"):
        Threat(free=many).bind(Encoding(5, NAMES))


def test_all_but_categories_frozen_is_an_enumeration():
    for name in ("logistic", "three neighbours", "prototypes"):
        model, X, y = fitted(name)
        threat = Threat(np.inf, free={"kind": [0, 1, 2], "k": ["k_x", "k_y"]}, frozen=["a", "b"])
        found = certify(model, X, threat=threat, at=0.0, reference=(X, y), n_jobs=1)
        for row in range(len(X)):
            answers = set()
            for kind in (0, 1, 2):
                for side in (0, 1):
                    changed = X.iloc[[row]].assign(kind=float(kind), k_x=float(side), k_y=1.0 - side)
                    answers.add(int(model.predict(changed)[0]))
            assert found.stable[row] is (len(answers) == 1) or found.stable[row] is None
        assert (found.stable != None).mean() > 0.9  # noqa: E711
