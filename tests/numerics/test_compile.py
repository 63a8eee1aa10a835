"""The garbage collector rests while numba compiles, and only then."""

import gc

import pytest
from numba import njit
from numba.core import event
from numba.core.errors import NumbaError


class Watch(event.Listener):
    """Notes whether the collector runs while something is compiled."""

    def __init__(self):
        self.running = []

    def on_start(self, event):
        self.running.append(gc.isenabled())

    def on_end(self, event):
        pass


@pytest.fixture
def running():
    from holdfast.numerics import compile  # noqa: F401

    with event.install_listener("numba:compile", watch := Watch()):
        yield watch.running


@pytest.mark.parametrize("before", [True, False])
def test_the_collector_rests_during_compilation(running, before):
    @njit
    def inner(x):
        return x + 1.0

    @njit
    def outer(x):
        return inner(x) * 2.0

    was = gc.isenabled()
    try:
        (gc.enable if before else gc.disable)()
        assert outer(1.0) == 4.0
        assert gc.isenabled() == before
        assert running == [False, False]
    finally:
        (gc.enable if was else gc.disable)()


def test_it_runs_again_after_a_failure(running):
    @njit
    def wrong(x):
        return x.nothing

    with pytest.raises(NumbaError):
        wrong(1.0)
    assert running
    assert gc.isenabled()
