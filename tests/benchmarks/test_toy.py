"""The paper's toy examples behave as printed."""

import pytest

from benchmarks.yang.toy import run


@pytest.mark.parametrize("seed", range(4))
def test_separability_moves_weight_to_the_robust_feature(seed):
    found = run("separability", seed)
    M, M_pl = found["LMNN"][0], found["LMNN-PL"][0]
    assert M[0, 0] > M[1, 1]
    assert M_pl[1, 1] > M_pl[0, 0]
    assert all(accuracy > 0.97 for _, _, accuracy in found.values())


@pytest.mark.parametrize("seed", range(2))
def test_multicollinearity_margins_differ_tenfold(seed):
    found = run("multicollinearity", seed)
    assert found["LMNN-PL"][1] >= 10 * found["LMNN"][1]
    assert found["LMNN-PL"][2] >= found["LMNN"][2] - 0.02
