"""The garbage collector rests while numba compiles; inner kernels have no machine code of their own."""

import gc
import os
import subprocess
import sys

import numpy as np
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


def test_inner_kernels_live_in_their_callers_only():
    from holdfast.numerics.inner_library import InnerLibrary
    from tests.numerics.two_kernels import doubled_sum, square

    assert doubled_sum(np.arange(4.0)) == 28.0
    library = next(iter(square.overloads.values())).library
    assert isinstance(library, InnerLibrary)
    assert not list(library.get_defined_functions())


def test_callers_of_inner_kernels_are_loaded_from_the_cache(tmp_path):
    script = "import numpy as np; from tests.numerics.two_kernels import doubled_sum as f, other_sum as g; "
    first = script + "print(f(np.arange(4.0)), sum(f.stats.cache_hits.values()))"
    second = script + "print(f(np.arange(4.0)), sum(f.stats.cache_hits.values()), g(np.arange(4.0)))"
    environment = {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}
    said = [
        subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, check=True).stdout
        for code in (first, second)
    ]
    assert said == ["28.0 0\n", "28.0 1 14.0\n"]  # the second caller takes the inner kernel from the cache too
