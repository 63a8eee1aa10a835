"""Threats: names and numbers of columns, units, boxes and one-sided moves; what is wrong is said at once."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import CertifiedKNeighborsClassifier, Threat, attack, certify
from tests.certificates.brute_force import NORMS, engines, exact_radius, make_problem, random_problem, votes

WINE, GROWER = load_wine(return_X_y=True, as_frame=True)
TRAIN, TEST = (WINE[::2], GROWER[::2]), WINE[1::8]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("k", [1, 3])
def test_one_sided_moves_against_brute_force(norm, k):
    for seed in range(4):
        rng = np.random.default_rng([seed, k])
        problem, queries, x, y = random_problem(
            rng, k, 2, norm=norm, n=k + 4, only_up=[0], only_down=[1, 2] if seed % 2 else [1]
        )
        exact = np.array([exact_radius(problem, *each) for each in zip(queries, y, x, strict=True)])
        for engine in engines.values():
            if not engine.handles(problem):
                continue
            lower, upper, delta = engine(problem, queries, y, inputs=x, n_jobs=1)
            assert (lower <= exact * (1 + 1e-9) + 1e-12).all()
            assert (upper >= exact * (1 - 1e-7) - 1e-9).all()
            found = np.isfinite(upper)
            assert (delta[found, 0] >= 0).all()
            assert (delta[found, 1] <= 0).all()
            if engine.tight and np.isfinite(exact).any():
                # Exact where the search ended: always for one neighbour.
                there = np.isfinite(exact) & ((lower >= (1 - 1e-4) * upper) | (k == 1))
                np.testing.assert_allclose(lower[there], exact[there], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("norm", ["l2", "linf", "l1"])
def test_a_unit_is_a_scaled_column(norm):
    rng = np.random.default_rng(3)
    unit = np.array([10.0, 0.1, 3.0])
    T, U, labels = rng.normal(size=(3, 3)), rng.normal(size=(20, 3)), rng.integers(2, size=20)
    x = rng.normal(size=(5, 3))
    measured = make_problem(U, labels, T, norm=NORMS[norm](3), unit=unit)
    scaled = make_problem(U, labels, T * unit, norm=NORMS[norm](3))
    y = votes(measured, x @ T.T)
    a = engines["exact_1nn"](measured, x @ T.T, y, inputs=x, n_jobs=1)
    b = engines["exact_1nn"](scaled, x @ T.T, y, inputs=x / unit, n_jobs=1)
    np.testing.assert_allclose(a.lower, b.lower, rtol=1e-9)
    np.testing.assert_allclose(a.delta, b.delta * unit, rtol=1e-6)
    np.testing.assert_allclose(measured.moves.lengths(a.delta), a.upper, rtol=1e-9)


@pytest.mark.parametrize("last", [CertifiedKNeighborsClassifier(n_neighbors=3), LogisticRegression(max_iter=2000)])
@pytest.mark.parametrize("norm", [2, np.inf, 1])
def test_names_boxes_sides_and_units_reach_the_witness(last, norm):
    model = make_pipeline(StandardScaler(), clone(last)).fit(*TRAIN)
    threat = Threat(
        norm, unit=WINE.std().to_dict(), frozen=["ash"], only_up=["alcohol"], only_down=["proline"],
        lower=WINE.min().to_dict(), upper=WINE.max().to_dict(),
    )  # fmt: skip
    certificate = certify(model, TEST, threat=threat)
    found = np.isfinite(certificate.upper)
    assert found.any()
    move = (certificate.adversarial - TEST.to_numpy())[found]
    names = list(WINE.columns)
    assert (move[:, names.index("ash")] == 0).all()
    assert (move[:, names.index("alcohol")] >= 0).all()
    assert (move[:, names.index("proline")] <= 0).all()
    moved = certificate.adversarial[found]
    assert (moved >= WINE.min().to_numpy()).all()
    assert (moved <= WINE.max().to_numpy()).all()
    assert (certificate.radius <= certificate.upper).all()
    # Fewer moves never have a smaller radius.
    wider = certify(model, TEST, threat=Threat(norm, unit=WINE.std().to_dict()))
    assert (certificate.radius >= wider.radius * (1 - 1e-9)).all()
    np.testing.assert_allclose(attack(model, TEST, threat=threat).size, certificate.upper)


def test_loose_arguments_are_a_threat():
    model = make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(n_neighbors=1)).fit(*TRAIN)
    loose = certify(model, TEST, norm=np.inf, lower=0.0, frozen=["ash", "alcohol"])
    whole = certify(model, TEST, threat=Threat(np.inf, lower=0.0, frozen=[0, 2]))
    np.testing.assert_array_equal(loose.radius, whole.radius)
    with pytest.raises(ValueError, match="Give norm, frozen to the Threat"):
        certify(model, TEST, threat=Threat(), norm=1, frozen=[0])


def test_what_is_wrong_is_said_at_once():
    threat = Threat(unit={"a": -1.0}, frozen=["z"], only_up=[7], lower={"a": 2.0}, upper={"a": 1.0})
    with pytest.raises(ValueError) as caught:
        threat.moves(2, names=["a", "b"])
    for part in (
        "frozen names 'z', but the columns are a, b", "only_up names feature 7, but there are 2",
        "unit must be a positive number; that of a is not", "lower is above upper for feature a",
    ):  # fmt: skip
        assert part in str(caught.value)
    with pytest.raises(ValueError, match="frozen names 'z', but the columns have no names"):
        Threat(frozen=["z"]).moves(2)


def test_a_threat_is_a_scikit_learn_object():
    threat = Threat(np.inf, unit={"a": 2.0}, only_down=["b"])
    assert repr(clone(threat)) == repr(threat)
    assert threat.get_params()["only_down"] == ["b"]
