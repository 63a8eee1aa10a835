"""Lemmas S1 and S2: a chord on the sphere, and the move that it takes."""

from fractions import Fraction

import numpy as np
import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import Normalizer, StandardScaler

from holdfast import CertifiedKNeighborsClassifier, FixedMetric, Threat, certify
from holdfast.affine import Affine
from holdfast.certificates.folding.normalizer import bounds_before_normalizer
from holdfast.certificates.rounding import kappa

numbers = st.lists(st.floats(-5, 5), min_size=3, max_size=3).map(np.array)


def move(length, chord):
    """The least move of a vector of this length that turns it by a chord."""
    chord = np.minimum(chord, np.sqrt(2.0))
    return length * chord * np.sqrt(1 - chord**2 / 4)


@given(z=numbers, moved=numbers)
def test_s1_a_chord_needs_a_move(z, moved):
    a, b = np.linalg.norm(z), np.linalg.norm(moved)
    assume(a > 1e-3 and b > 1e-3)
    chord = np.linalg.norm(z / a - moved / b)
    assert np.linalg.norm(moved - z) >= move(a, chord) * (1 - 1e-12) - 1e-12


@pytest.mark.parametrize("angle", [0.01, 0.5, 1.0, 1.57])
def test_s1_the_foot_of_the_perpendicular_needs_no_more(angle):
    z = np.array([2.0, 0.0])
    foot = 2.0 * np.cos(angle) * np.array([np.cos(angle), np.sin(angle)])
    chord = 2 * np.sin(angle / 2)
    assert np.linalg.norm(foot - z) == pytest.approx(move(2.0, chord), rel=1e-12)


def test_s1_beyond_a_right_angle_the_move_is_all_of_the_length():
    """``r√(1 − r²/4)`` falls again beyond √2: without the clamp a chord of 2 would cost nothing."""
    assert move(1.0, 2.0) == pytest.approx(1.0)
    assert 2.0 * np.sqrt(1 - 2.0**2 / 4) == 0.0


@pytest.mark.parametrize("first", [StandardScaler, lambda: PCA(3)])
@pytest.mark.parametrize("offset", [0.0, 1e6])
def test_s2_no_move_inside_changes_the_answer(first, offset):
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


def test_s2_the_allowance_grows_with_the_move():
    """Steps whose product cancels: ``(x_1 + c x_2) − c x_2`` rounds x_1 away once x_2 has moved, small as it was."""
    c, x = 1e12, np.array([[0.6, 0.0, 0.8]])
    spread = Affine.step(np.array([[1.0, c, 0.0], [0.0, c, 0.0], [0.0, 0.0, 1.0]]))
    before = spread.then(Affine.step(np.array([[1.0, -1.0, 0.0], [0.0, 0.0, 1.0]])))
    moves = Threat().moves(3, None)
    radius = bounds_before_normalizer(before, moves, x, np.array([0.5])).lower[0]
    eta = kappa(2, 3, before.n_steps)
    growth = moves.free_norm.coordinates(before.W, before.absolute, reduce=True).growth
    assert growth > c
    assert 0 < radius * (1 + eta * growth) <= move(1.0, 0.5) - 2 * eta
    # The rounding that the allowance is for: seen, at moves well inside the radius.
    steps = np.linspace(-radius / 2, radius / 2, 1001)
    seen = np.abs((0.6 + c * steps) - c * steps - 0.6).max()
    assert 0 < seen < eta * growth * radius
