"""Corners of floating point: each is certified soundly, or refused with a sentence."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.adversary import corners
from tests.adversary.families import small
from tests.adversary.setups import quietly

EXAMPLES = {"float32": 3, "clipping": 3, "units beyond the squares": 3}  # 2 of the others


@pytest.mark.parametrize("name", sorted(corners.CORNERS))
def test_corner(name):
    @small(EXAMPLES.get(name, 2))
    @given(corners.CORNERS[name])
    def attack(case):
        corners.attack(case).check()

    attack()


@small(1)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["brute", "kd_tree", "ball_tree"]))
def test_ordinary_models_are_not_refused(seed, algorithm):
    """The other side: a check that refuses everything would be sound as well."""
    for corner, exponent in (("units", 0), ("units", 20), ("units", -20), ("ellipsoid", 4), ("mahalanobis", 2)):
        tally = corners.attack(corners.Corner(corner, seed, exponent, algorithm))
        tally.check()
        assert not tally.refused
        assert tally.tries > 100


def test_float32_rows_get_the_prediction_of_predict():
    """A certificate of float32 rows is one of the model's answers to these rows, or refused."""

    def run():
        from sklearn.decomposition import PCA
        from sklearn.neighbors import KNeighborsClassifier
        from sklearn.pipeline import make_pipeline

        from tests.adversary.probes import near_boundary
        from tests.adversary.setups import certified
        from tests.adversary.tally import Tally

        tally = Tally()
        for seed in range(3):
            rng = np.random.default_rng(seed)
            X = rng.normal(size=(80, 4)) + 1e3
            y = (X[:, 0] > 1e3).astype(int)
            model = make_pipeline(PCA(), KNeighborsClassifier(1, algorithm="brute")).fit(X, y)
            rows = near_boundary(model, X, 60, rng).astype(np.float32)
            certificate = certified(tally, model, rows, reference=(X, y))
            if certificate is not None:
                wrong = (certificate.prediction != model.predict(rows)) & (certificate.radius > 0)
                tally.expect(not wrong.any(), f"seed {seed}: {wrong.sum()} of {len(rows)} predictions are others")
        tally.check()

    quietly(run)
