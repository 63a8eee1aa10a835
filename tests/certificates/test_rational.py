"""Certificates against exact arithmetic: votes are taken in rational numbers, where nothing is rounded."""

from fractions import Fraction

import numpy as np
import pytest

from holdfast import CertifiedKNeighborsClassifier, FixedMetric, certify
from tests.sizes import every_pair


def image(L, row):
    """L x in exact arithmetic."""
    row = [Fraction(v) for v in row]
    return [sum(Fraction(a) * b for a, b in zip(line, row, strict=True)) for line in L.tolist()]


def exact_vote(L, images, codes, k, n_classes, x):
    """The winner at x in exact arithmetic, and whether it wins alone; the documented tie rules."""
    u = image(L, x)
    d = [sum((a - b) ** 2 for a, b in zip(each, u, strict=True)) for each in images]
    nearest = sorted(range(len(d)), key=lambda j: (d[j], j))[:k]
    votes = np.bincount(codes[nearest], minlength=n_classes)
    ahead = [c for c in range(n_classes) if votes[c] == votes.max()]
    return next(codes[j] for j in nearest if codes[j] in ahead), len(ahead) == 1


METRICS = {
    "identity": np.eye(3),
    "random": np.cov(np.random.default_rng(0).normal(size=(3, 9))),
    "condition 1e12": np.diag([1e6, 1.0, 1e-6]),
    "rotated, condition 1e12": None,
    "rank 1": np.outer([1.0, 2.0, -1.0], [1.0, 2.0, -1.0]),
}
Q = np.linalg.qr(np.random.default_rng(1).normal(size=(3, 3)))[0]
METRICS["rotated, condition 1e12"] = Q @ np.diag([1e6, 1.0, 1e-6]) @ Q.T
KINDS = ["random", "near-ties", "duplicates", "far from the origin"]


@pytest.mark.parametrize(("metric", "kind", "k"), every_pair(METRICS, KINDS, [1, 2, 3, 4]))
def test_no_false_certificate(metric, k, kind):
    rng = np.random.default_rng(k)
    X, y = rng.normal(size=(14, 3)), rng.integers(0, 3, 14)
    if kind == "near-ties":
        X = np.round(2 * X) / 2 + 1e-15 * rng.normal(size=X.shape)
    elif kind == "duplicates":
        X[7:] = X[:7]  # some of them in another class
    elif kind == "far from the origin":
        X += 1e6
    clf = CertifiedKNeighborsClassifier(FixedMetric(METRICS[metric]), n_neighbors=k).fit(X, y)
    queries = np.vstack([X[:2], X.mean(axis=0) + rng.normal(size=(2, 3))])
    certificate = certify(clf, queries)
    lower = certify(clf, queries, method="lower", witness=False)
    codes = np.searchsorted(clf.classes_, certificate.prediction)
    images = [image(clf.components_, point) for point in X.tolist()]
    for row, x in enumerate(queries):
        towards = certificate.adversarial[row] - x
        for trial in range(4):
            D = rng.normal(size=3) if trial % 2 or not np.isfinite(towards).all() else towards
            for radius, any_rule in ((certificate.radius[row], False), (lower.radius[row], True)):
                if radius == 0 or np.linalg.norm(D) == 0:
                    continue
                size = min(radius, 1e3) * (1 - 1e-12)
                moved = x + D * (size / np.linalg.norm(D))
                step = [Fraction(a) - Fraction(b) for a, b in zip(moved.tolist(), x.tolist(), strict=True)]
                if sum(s * s for s in step) >= Fraction(radius) ** 2:
                    continue  # rounding the moved point took it out of the ball
                winner, alone = exact_vote(clf.components_, images, clf.reference_codes_, k, 3, moved)
                assert winner == codes[row]
                assert alone or not any_rule  # the lower bound holds for every tie rule
