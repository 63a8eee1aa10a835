import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import Bounds, LinearConstraint, milp

from holdfast import LMNN, CertifiedKNeighborsClassifier, FixedMetric
from holdfast.models.pruning import conflicts, prune


def brute_force(X, y, L, radius):
    """Pairs in conflict, by the formula, one at a time."""
    M, found = L.T @ L, set()
    for j in range(len(X)):
        for l in range(j + 1, len(X)):
            v = X[l] - X[j]
            slope = np.linalg.norm(M @ v)
            if y[j] != y[l] and (slope == 0 or v @ M @ v / (2 * slope) <= radius):
                found.add((j, l))
    return found


def fewest(pairs, n):
    """The size of a minimum vertex cover, by a mixed-integer program."""
    if not pairs:
        return 0
    A = np.zeros((len(pairs), n))
    for row, pair in enumerate(pairs):
        A[row, list(pair)] = 1
    return round(
        milp(np.ones(n), constraints=LinearConstraint(A, lb=1), integrality=np.ones(n), bounds=Bounds(0, 1)).fun
    )


def emptied(pairs, y):
    """True if every row of some class is in a conflict, so that a cover may take them all."""
    touched = {row for pair in pairs for row in pair}
    return any(set(np.flatnonzero(y == c)) <= touched for c in set(y))


def problem(seed, n, p, n_classes):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, p)).round(1)  # some rows coincide
    return X, rng.integers(n_classes, size=n), rng.normal(size=(rng.integers(1, p + 1), p))


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 10**6), st.integers(4, 40), st.integers(1, 4), st.integers(2, 4), st.floats(0.01, 0.6))
def test_the_fewest_rows_go(seed, n, p, n_classes, radius):
    X, y, L = problem(seed, n, p, n_classes)
    pairs = brute_force(X, y, L, radius)
    assert {tuple(sorted(pair)) for pair in conflicts(X, y, L, radius).tolist()} == pairs
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", "Pruning would drop", UserWarning)
        kept = prune(X, y, L, radius)
    assert set(y[kept]) == set(y)
    if any(set(pair) <= set(kept.tolist()) for pair in pairs):
        return  # a class had to keep a row, with a warning
    least = fewest(pairs, n)
    assert least <= n - len(kept)
    if not emptied(pairs, y):
        assert n - len(kept) <= (1 if len(set(y)) == 2 else 2) * least


@pytest.mark.parametrize("seed", range(20))
def test_for_two_classes_exactly_the_fewest(seed):
    X, y, L = problem(seed, 60, 3, 2)
    for radius in (0.02, 0.05, 0.1):
        pairs = brute_force(X, y, L, radius)
        kept = prune(X, y, L, radius)
        assert len(X) - len(kept) == fewest(pairs, len(X))
        assert not {pair for pair in pairs if set(pair) <= set(kept.tolist())}


@pytest.mark.parametrize("n_classes", [2, 4])
def test_kept_rows_are_certified(n_classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(120, 4))
    y = (X[:, 0] + 0.5 * rng.normal(size=120) > 0).astype(int) + (n_classes // 2) * (X[:, 1] > 0)
    clf = CertifiedKNeighborsClassifier(LMNN(), n_neighbors=1, prune=0.3).fit(X, y)
    assert 0 < clf.n_pruned_ == len(X) - len(clf.kept_)
    certificate = clf.certify(clf.reference_, y[clf.kept_])
    assert (certificate.radius >= 0.3 * (1 - 1e-6)).all()
    assert (certificate.prediction == y[clf.kept_]).all()
    plain = CertifiedKNeighborsClassifier(clf.learner_, n_neighbors=1).fit(X, y)
    assert (plain.certify(clf.reference_).radius < 0.3).any()  # it was not so before


def test_no_class_vanishes():
    X = np.r_[np.linspace(-1, 1, 21), 0.02][:, None]
    y = np.r_[np.zeros(21, int), 1]
    clf = CertifiedKNeighborsClassifier(FixedMetric([[1.0]]), n_neighbors=1, prune=0.2).fit(X, y)
    assert set(clf.reference_codes_) == {0, 1}  # the single row of class 1 stays, and those near it go
    assert (clf.certify(clf.reference_).radius > 0.2 * (1 - 1e-6)).all()
    with pytest.warns(UserWarning, match="still nearer than prune"):
        clf = CertifiedKNeighborsClassifier(n_neighbors=1, prune=5.0).fit(X, y)
    assert set(clf.reference_codes_) == {0, 1}


def test_too_much_is_refused_in_a_sentence():
    X, y, _ = problem(1, 60, 3, 2)
    with pytest.raises(ValueError, match="fewer than n_neighbors=41"):
        CertifiedKNeighborsClassifier(n_neighbors=41, prune=0.5).fit(X, y)
    with pytest.raises(ValueError, match="prune"):
        CertifiedKNeighborsClassifier(prune=-1.0).fit(X, y)


def test_without_pruning_every_row_votes():
    X, y, _ = problem(2, 30, 2, 2)
    clf = CertifiedKNeighborsClassifier().fit(X, y)
    assert clf.n_pruned_ == 0
    assert clf.reference_.shape == X.shape
    np.testing.assert_array_equal(clf.kept_, np.arange(30))
