"""Lemmas S1 to S3: a normalisation before the vote."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from scipy.optimize import minimize
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from holdfast import CertifiedKNeighborsClassifier, FixedMetric, certify
from holdfast.base.affine import AffineMap
from holdfast.certificates import Moves
from holdfast.certificates.chain import Affine
from holdfast.certificates.readers import voter_for
from holdfast.certificates.sphere import Cones, JointCones, OnSphere
from tests.sizes import FULL

numbers = st.lists(st.floats(-5, 5), min_size=3, max_size=3).map(np.array)


@given(z=numbers, voters=st.lists(numbers, min_size=2, max_size=4))
def test_s1_unit_voters_are_ranked_alike_with_and_without_the_normalisation(z, voters):
    length = np.linalg.norm(z)
    assume(length > 1e-3 and all(np.linalg.norm(v) > 1e-3 for v in voters))
    U = np.array([v / np.linalg.norm(v) for v in voters])
    with_it = np.sum((z / length - U) ** 2, axis=1)
    without = np.sum((z - U) ** 2, axis=1)
    for i in range(len(U)):
        for j in range(len(U)):
            if with_it[i] < with_it[j] - 1e-9:
                assert without[i] < without[j] + 1e-12


@pytest.mark.parametrize("k", [1, 3])
def test_s1_the_certificate_is_exact(k):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 4)) * [1, 2, 3, 50], rng.integers(2, size=60)
    model = make_pipeline(StandardScaler(), Normalizer(), KNeighborsClassifier(k)).fit(X, y)
    certificate = certify(model, X[:10] * 1.1, n_jobs=1)
    assert isinstance(voter_for(model).chain, Affine)
    assert certificate.exact.all()


def test_s1_a_voter_without_length_keeps_the_normalisation():
    X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 2.0]])
    model = make_pipeline(Normalizer(), KNeighborsClassifier(1)).fit(X, [0, 1, 1])
    assert isinstance(voter_for(model).chain, OnSphere)
    certificate = certify(model, [[0.3, 0.4]], n_jobs=1)
    assert certificate.prediction[0] == 1
    assert certificate.radius[0] <= certificate.upper[0]


def least_move(a, c, z, W):
    """``min ‖δ‖ : a·z' ≥ c‖z'‖`` by an independent solver, from many starts."""
    best = np.inf
    rng = np.random.default_rng(0)
    inside = {"type": "ineq", "fun": lambda d: a @ (z + W @ d) - c * np.linalg.norm(z + W @ d)}
    for _ in range(8):
        found = minimize(lambda d: d @ d, rng.normal(size=W.shape[1]), constraints=[inside], method="SLSQP")
        if inside["fun"](found.x) >= -1e-7:
            best = min(best, float(np.linalg.norm(found.x)))
    return best


@pytest.mark.parametrize("sign", [1.0, -1.0])
def test_s2_and_s3_distances_to_cones(sign):
    """From below; near the truth for c ≥ 0, and for c < 0 where the move is short against z."""
    rng = np.random.default_rng(3)
    ratios = []
    for _ in range(12):
        W, z = rng.normal(size=(3, 3)) * 0.5, rng.normal(size=3) + np.array([2.0, 0.0, 0.0])
        a = rng.normal(size=3) - (z if sign < 0 else 0)
        c = sign * rng.uniform(0.1, 0.9) * np.linalg.norm(a)
        if c * np.linalg.norm(z) - a @ z <= 0.05:
            continue
        cone = Cones(AffineMap.step(W), Moves()).at(z, float(np.linalg.norm(z)), 1.0)
        bound = float(cone.distances(a[None], np.array([c]), np.zeros(1), True)[0])
        truth = least_move(a, c, z, W)
        assert bound <= truth * (1 + 1e-5)
        ratios.append(bound / truth)
    assert len(ratios) >= 3
    assert np.mean(ratios) > (0.75 if sign > 0 else 0.95)


@pytest.mark.parametrize("c", [-1e-17, -1e-15, -1e-13, -1e-10, -1e-7, -1e-4, -1e-2])
def test_s4_levels_near_zero_keep_no_more_than_their_digits(c):
    """Voters of equal length have c = 0 but for rounding; the cone is a halfspace then, and λ ~ 1/c² cancels."""
    rng = np.random.default_rng(0)
    for _ in range(20):
        W, z = rng.normal(size=(4, 4)) * 10.0 ** rng.uniform(-1, 1, 4), rng.normal(size=4)
        a = rng.normal(size=4)
        a *= -np.sign(a @ z)
        if a @ z >= c * np.linalg.norm(z):
            continue
        cone = Cones(AffineMap.step(W), Moves()).at(z, float(np.linalg.norm(z)), 1.0)
        found = cone.distances(a[None], np.array([c]), np.zeros(1), True)[0]
        # To the halfspace a · z' ≥ 0, which lies within the cone.
        halfspace = -(a @ z) / np.linalg.norm(a @ W)
        assert found <= halfspace * (1 + 1e-12)
        assert found >= min(0.9 * halfspace, cone.reach()) * (1 - abs(c) * 100)


def test_s4_all_cones_and_all_but_one():
    """From below, and above each cone alone: moves that meet all of them, or all but one."""
    rng = np.random.default_rng(5)
    gained = 0
    for _ in range(8):
        W, z = rng.normal(size=(3, 3)) * 0.5, np.array([2.0, 0.0, 0.0]) + 0.3 * rng.normal(size=3)
        A = rng.normal(size=(3, 3)) - 1.5 * z
        c = rng.uniform(-0.5, 0.3, 3) * np.linalg.norm(A, axis=1)
        cone = Cones(AffineMap.step(W), Moves()).at(z, float(np.linalg.norm(z)), 1.0)
        alone = cone.distances(A, c, np.zeros(3), True)
        every, but_one = JointCones(cone, 0.0).orders(A, c, 2)
        steps = rng.normal(size=(20_000, 3))
        steps *= (2.0 * cone.reach() * rng.random(20_000) ** (1 / 3) / np.linalg.norm(steps, axis=1))[:, None]
        moved = z + steps @ W.T
        met = (moved @ A.T >= c * np.linalg.norm(moved, axis=1)[:, None]).sum(axis=1)
        length = np.linalg.norm(steps, axis=1)
        assert every <= length[met == 3].min(initial=np.inf)
        assert but_one <= length[met >= 2].min(initial=np.inf)
        gained += every > alone.max() * 1.001
    assert gained


@pytest.mark.parametrize(
    "last", [LogisticRegression(), CertifiedKNeighborsClassifier(FixedMetric(np.diag([1, 4, 9.0])))]
)
@pytest.mark.parametrize("norm", [2, np.inf])
def test_s2_and_s3_no_move_inside_changes_the_answer_of_a_metric_or_of_scores(last, norm):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(60, 3)) * [1, 2, 30]
    y = (X[:, 0] + X[:, 1] > 0).astype(int)
    model = make_pipeline(StandardScaler(), Normalizer(), last).fit(X, y)
    rows = rng.normal(size=(8 if FULL else 4, 3)) * [1, 2, 30]
    certificate = certify(model, rows, norm=norm, n_jobs=1)
    assert (certificate.radius > 0).any()
    ways = np.nan_to_num(certificate.adversarial - rows)
    tried = []
    for trial in range(60):
        step = ways if trial == 0 else rng.normal(size=rows.shape) * rng.choice([1, 1, 0.1], size=3)
        size = np.maximum(np.linalg.norm(step, ord=norm, axis=1), 1e-300)
        tried.append(rows + step * (0.99999 * certificate.radius / size)[:, None])
    np.testing.assert_array_equal(model.predict(np.concatenate(tried)), np.tile(certificate.prediction, 60))


@pytest.mark.parametrize("first", [StandardScaler, lambda: PCA(3)])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_s1_no_move_inside_changes_the_answer(first, offset):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 3)) * [1, 2, 3] + offset, rng.integers(2, size=60)
    model = make_pipeline(first(), Normalizer(), KNeighborsClassifier(1)).fit(X, y)
    rows = rng.normal(size=(10, 3)) * [1, 2, 3] + offset
    certificate = certify(model, rows, reference=(X, y), witness=False)
    assert (certificate.radius > 0).any()
    for _ in range(40):
        step = rng.normal(size=rows.shape)
        step *= (certificate.radius * (1 - 1e-9))[:, None] / np.linalg.norm(step, axis=1, keepdims=True)
        inside = np.linalg.norm(rows + step - rows, axis=1) < certificate.radius
        assert (model.predict(rows + step)[inside] == certificate.prediction[inside]).all()


def test_s2_behind_a_normalizer_at_a_right_angle():
    """Where a chord of √2 or more is certified, the error of z still counts: PCA at an offset of 1e8, exact lengths."""
    broken = 0
    for seed in range(4):
        rng = np.random.default_rng(seed)
        d = 30
        plane = np.linalg.qr(rng.normal(size=(d, 2)))[0]
        base = np.array([[-0.9, 0.436], [-1.0, 0.0]])
        X = 3 * np.vstack([base, -base]) @ plane.T + 1e8 * rng.uniform(0.5, 2, d)
        pca = PCA(2).fit(X)
        Z = pca.transform(X)
        units = Z / np.linalg.norm(Z, axis=1, keepdims=True)
        metric = 1000 * np.outer(units[1], units[1]) + np.eye(2)
        vote = CertifiedKNeighborsClassifier(FixedMetric(metric), n_neighbors=1).fit(units[:2], [0, 1])
        model = Pipeline([("pca", pca), ("norm", Normalizer().fit(Z)), ("vote", vote)])
        x = X[3]
        certificate = certify(model, x[None], witness=False)
        moved = x + (1 + rng.uniform(-1e-7, 1e-7, size=(2000, 1))) * (pca.mean_ - x)
        for row in moved[model.predict(moved) != certificate.prediction[0]]:
            squared = sum((Fraction(a) - Fraction(b)) ** 2 for a, b in zip(row.tolist(), x.tolist(), strict=True))
            broken += squared < Fraction(certificate.radius[0]) ** 2
    assert broken == 0


def test_s2_and_s3_where_nothing_moves_nothing_changes():
    """Without a warning of numpy, too."""
    X = np.array([[1.0, 2.0], [2.0, 1.0], [1.0, 3.0], [3.0, 1.0]])
    model = make_pipeline(Normalizer(), LogisticRegression()).fit(X, [0, 1, 0, 1])
    with pytest.warns(UserWarning, match="lets nothing move"):
        found = certify(model, X, frozen=[0, 1])
    assert np.isinf(found.radius).all()


def test_s3_a_row_on_the_boundary_has_no_radius_though_its_slope_is_zero():
    """Class 1 has the score of class 0 at (0, 1), and more in every other direction."""
    model = make_pipeline(Normalizer(), LogisticRegression()).fit([[0.0, 1.0], [1.0, 0.0]] * 3, [0, 1] * 3)
    model[-1].coef_, model[-1].intercept_ = np.array([[0.0, -1.0]]), np.array([1.0])
    row = np.array([[0.0, 1.0]])
    assert model.predict(row)[0] == 0
    assert model.predict([[1e-3, 1.0]])[0] == 1
    assert certify(model, row).radius[0] == 0
