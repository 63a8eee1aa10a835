"""The same table, model and budget give the same certificates, whoever asks and whatever else the machine does."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from holdfast import certify
from tests.adversary import repeats
from tests.adversary.families import small
from tests.adversary.tally import Tally


@pytest.mark.parametrize("way", repeats.WAYS)
@small(2)
@given(st.integers(0, 2**32 - 1), st.sampled_from(sorted(repeats.MODELS)), st.sampled_from(["l2", "linf"]))
def test_another_way(way, seed, model, norm):
    if way == "dask":
        pytest.importorskip("dask.array")
    repeats.attack(repeats.Repeat(seed, model, norm, 10, way)).check()


def test_under_load():
    model, rows, _ = repeats.fitted(0, "holdfast 7", n=200, d=10)
    tally = Tally()
    idle = certify(model, rows, budget=4, n_jobs=1)
    assert not idle.exact.all()  # the budget binds: a clock would show
    with repeats.load(4):
        for n_jobs in (1, 8):
            repeats.compare(tally, idle, certify(model, rows, budget=4, n_jobs=n_jobs), f"load, {n_jobs} threads")
    tally.check()
