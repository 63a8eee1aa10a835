"""The garbage collector rests while numba compiles; inner kernels have no machine code of their own."""

import gc
import os
import subprocess
import sys

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


def test_inner_kernels_live_in_their_callers_and_in_the_cache(tmp_path):
    """The second process loads one caller; the other caller, which is new, takes the inner kernel from the cache."""
    script = (
        "import numpy as np; from tests.numerics.two_kernels import *; print(doubled_sum(np.arange(4.0)), end=' '); "
    )
    first = (
        "library = next(iter(square.overloads.values())).library; "
        "print(type(library).__name__, len(list(library.get_defined_functions())))"
    )
    second = "print(sum(doubled_sum.stats.cache_hits.values()), other_sum(np.arange(4.0)))"
    options = {"env": {**os.environ, "NUMBA_CACHE_DIR": str(tmp_path)}, "capture_output": True, "text": True}
    said = [
        subprocess.run([sys.executable, "-c", script + code], check=True, **options).stdout for code in (first, second)
    ]
    assert said == ["28.0 InnerLibrary 0\n", "28.0 1 14.0\n"]


def test_kernels_compile_as_usual_where_our_compilers_were_not_tested():
    from holdfast.numerics.compile import _compilers

    assert _compilers((0, 59)) == {} == _compilers((1, 0))
    assert set(_compilers((0, 60))) == {"entry", "inner"}


def test_flags_of_a_kernel_are_equal_where_the_same_options_are_set():
    from holdfast.numerics.kernel_compiler import KernelFlags

    one, other = KernelFlags(), KernelFlags()
    one.release_gil = True
    assert one != other
    other.release_gil = True
    assert one == other
    assert hash(one) == hash(other)
    assert one.copy() == one
    other.release_gil = False
    assert one != other
