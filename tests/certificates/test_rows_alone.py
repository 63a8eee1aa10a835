"""A certificate of a row is the same, to the last bit, alone and in a batch."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import CertifiedKNeighborsClassifier, certify
from holdfast.base.blocks import product_by_rows
from holdfast.certificates.moves import Moves
from holdfast.certificates.norms import L1, L2, Ellipsoid, LInf
from holdfast.certificates.readers import voter_for
from holdfast.certificates.witnesses import _rounding_safe


@pytest.mark.parametrize("norm", [L2(), L1(), LInf(), Ellipsoid(np.eye(5) + 0.3)])
def test_lengths_do_not_depend_on_the_rows_beside(norm):
    moves = np.random.default_rng(0).normal(size=(40, 9))[:, [0, 2, 3, 5, 8]]  # picked: not in the order of rows
    alone = np.concatenate([norm.lengths(moves[i : i + 1]) for i in range(40)])
    np.testing.assert_array_equal(norm.lengths(moves), alone)


@pytest.mark.parametrize(("d", "r"), [(1, 1), (3, 2), (13, 7), (64, 10), (257, 3)])
def test_products_do_not_depend_on_the_rows_beside(d, r):
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(40, d)), rng.normal(size=(r, d))
    for right in (B, np.asfortranarray(B)):
        alone = np.vstack([product_by_rows(A[i : i + 1], right) for i in range(40)])
        np.testing.assert_array_equal(product_by_rows(A, right), alone)
    np.testing.assert_allclose(product_by_rows(A, B), A @ B.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [1, 3])
def test_certificates_do_not_depend_on_the_rows_beside(k):
    X, y = load_wine(return_X_y=True)
    model = make_pipeline(StandardScaler(), PCA(7), CertifiedKNeighborsClassifier(n_neighbors=k)).fit(X[::2], y[::2])
    rows = X[1:41:4]
    together = certify(model, rows, n_jobs=1)
    alone = [certify(model, row[None], n_jobs=1) for row in rows]
    for name in ("radius", "upper"):
        np.testing.assert_array_equal(getattr(together, name), np.concatenate([getattr(c, name) for c in alone]))


@pytest.mark.parametrize("offset", [0.0, 1e3, 1e6])
@pytest.mark.parametrize("n_neighbors", [1, 3])
def test_answers_proven_safe_from_rounding_are_the_same_alone(offset, n_neighbors):
    """At rows within rounding of a border, where a product of matrices may decide otherwise alone (Lemma F2)."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(150, 12)) + offset, rng.integers(0, 3, 150)
    model = make_pipeline(PCA(5), KNeighborsClassifier(n_neighbors)).fit(X, y)
    border = _on_borders(model, rng.normal(size=(60, 12)) + offset, rng.normal(size=(60, 12)) + offset)
    toward = (1.0 + offset) ** 2 * rng.normal(size=border.shape)  # squares of the numbers round
    rows = np.vstack([border + size * toward for size in (0.0, 1e-14, 1e-12, 1e-11, 1e-10, 1e-9)])
    voter = voter_for(model)
    problem = voter.chain.question(voter.problem, Moves())
    answers = voter.predict(rows)
    safe = _rounding_safe(voter, problem, rows, answers)
    alone = np.concatenate([voter.predict(row[None]) for row in rows])
    np.testing.assert_array_equal(alone[safe], answers[safe])
    assert 20 < safe.sum() < len(rows)  # some are proven, and some are too near


def test_limited_moves_prove_nothing_about_rounding():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), rng.integers(0, 2, 40)
    voter = voter_for(KNeighborsClassifier(1).fit(X, y))
    problem = voter.chain.question(voter.problem, Moves(frozen=np.ones(3, dtype=bool)))
    assert not _rounding_safe(voter, problem, X, voter.predict(X)).any()


def _on_borders(model, starts, ends) -> np.ndarray:
    """Rows on the ways from starts to ends at which the answer changes, by bisection to the last digits."""
    changes = model.predict(starts) != model.predict(ends)
    low, high = starts[changes], ends[changes]
    at_start = model.predict(low)
    for _ in range(60):
        middle = 0.5 * (low + high)
        same = model.predict(middle) == at_start
        low, high = np.where(same[:, None], middle, low), np.where(same[:, None], high, middle)
    return high
