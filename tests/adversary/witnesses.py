"""Witnesses: each changes the answer alone as in the batch, is possible, and is as long as ``upper`` says."""

import numpy as np
from hypothesis import strategies as st

from tests.adversary.probes import alone, near_boundary, predict
from tests.adversary.setups import (
    D,
    Setup,
    build,
    certified,
    limits_for,
    quietly,
    table,
)
from tests.adversary.tally import Tally

# Principal components behind large offsets: the same row has other bits alone than in a batch.
offsets = st.builds(
    Setup,
    seed=st.integers(0, 2**32 - 1),
    steps=st.sampled_from(["pca", "pca 2", "whitening", "pca, standard", "svd", "lda", "pca, normalizer"]),
    classifier=st.sampled_from(["brute 1", "brute 3", "kd_tree 1", "holdfast 1", "holdfast 3", "centroid", "logistic"]),
    data=st.just("offset"),
    exponent=st.integers(4, 8),
    norm=st.sampled_from(["l2", "l2", "linf", "l1"]),
    threat=st.sampled_from(["free", "free", "box", "frozen", "up"]),
    budget=st.just(20),
)


def attack(setup: Setup) -> Tally:
    """Certify, and look at every witness."""
    return quietly(_attack, setup)


def _attack(setup: Setup) -> Tally:
    rng, tally = np.random.default_rng(setup.seed), Tally()
    X, y = table(setup, rng)
    try:
        model, reference = build(setup, rng, X, y)
        model.predict(X)
    except (ValueError, np.linalg.LinAlgError):
        return tally
    limits = limits_for(setup, X, rng)
    rows = np.vstack([X[:6] + 0.3 * rng.normal(size=(6, D)) * X.std(axis=0), near_boundary(model, X, 10, rng)])
    certificate = certified(tally, model, rows, threat=limits.threat, reference=reference, budget=setup.budget)
    if certificate is None:
        return tally
    upper, moved, said = certificate.upper, certificate.adversarial, certificate.prediction
    found = np.isfinite(upper)
    tally.expect(bool((certificate.radius <= upper).all()), "a radius is longer than its own witness")
    tally.expect(np.isnan(moved[~found]).all(), "a row without upper has a witness")
    if not found.any():
        return tally
    rows, moved, said, upper = rows[found], moved[found], said[found], upper[found]
    tally.expect(bool(np.isfinite(moved).all()), "a witness is not finite")
    possible = limits.possible(moved, rows)
    together, single = predict(model, moved) != said, alone(model, moved) != said
    length = limits.lengths(moved - rows)
    for i in range(len(rows)):
        tally.expect(bool(possible[i]), f"witness {i} leaves the box, or moves a frozen or one-sided feature back")
        tally.expect(bool(together[i]), f"witness {i} does not change the answer in a batch")
        tally.expect(bool(single[i]), f"witness {i} does not change the answer of the row alone")
        tally.expect(
            bool(abs(length[i] - upper[i]) <= 1e-9 * upper[i]),
            f"upper {upper[i]:.6g} is not the length {length[i]:.6g}",
        )
        radius = certificate.radius[found][i]
        tally.expect(
            radius == 0 or limits.compare(moved[i], rows[i], radius) >= 0,
            f"witness {i} is shorter than the radius {radius:.6g} in rational arithmetic",
        )
    return tally
