"""The same table, model and budget give the same certificates, whoever asks and whatever else the machine does."""

import importlib.util

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import Threat, certify
from tests.adversary import repeats
from tests.adversary.families import small
from tests.adversary.tally import Tally


@pytest.mark.parametrize("model", sorted(repeats.MODELS))
@small(1)
@given(st.integers(0, 2**32 - 1), st.sampled_from(["l2", "linf"]), st.sampled_from(sorted(repeats.THREATS)))
def test_another_way(model, seed, norm, threat):
    further = ["row by row", *(["dask"] if importlib.util.find_spec("dask") else [])]
    repeats.attack(repeats.Repeat(seed, model, norm, 10, "8 threads", threat), *further).check()


@pytest.mark.parametrize("threat", ["free", "relations"])
@pytest.mark.parametrize("model", ["scaled holdfast 3", "logistic", "table 3"])
def test_counterfactuals(model, threat):
    fitted, rows, _ = repeats.fitted(1, model)
    tally = Tally()
    repeats.compare_counterfactuals(tally, fitted, rows[:3], Threat(**repeats.THREATS[threat]))
    tally.check()
    assert tally.tries > 10


def test_under_load():
    model, rows, _ = repeats.fitted(0, "holdfast 7", n=200, d=10)
    tally = Tally()
    idle = certify(model, rows, budget=4, n_jobs=1)
    assert not idle.exact.all()  # the budget binds: a clock would show
    with repeats.load(2):
        for n_jobs in (1, 8):
            repeats.compare(tally, idle, certify(model, rows, budget=4, n_jobs=n_jobs), f"load, {n_jobs} threads")
    tally.check()
