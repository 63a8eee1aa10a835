import os
import subprocess
import sys
import threading

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from threadpoolctl import threadpool_info

from holdfast.base.blocks import Workers, blocks, count_blocks, map_blocks, n_threads, single_threaded_blas


@given(st.integers(0, 100_000), st.integers(1, 50))
def test_blocks_cover_every_row_once(n, count):
    parts = blocks(n, count)
    assert len(parts) == count
    covered = np.concatenate([np.arange(part.start, part.stop) for part in parts])
    np.testing.assert_array_equal(covered, np.arange(n))
    assert np.ptp([part.stop - part.start for part in parts]) <= 1


def test_little_work_is_not_cut():
    assert count_blocks(0.0) == count_blocks(1e5) == 1
    assert 1 < count_blocks(1e6) < count_blocks(1e9) == count_blocks(1e12)


@pytest.mark.parametrize("threads", [1, 2, 5])
def test_workers_return_results_in_order_and_pass_errors_on(threads):
    parts = blocks(3000, 8)
    with Workers(threads) as workers:
        assert workers.map(lambda part: part.start, parts) == [part.start for part in parts]

        def broken(part):
            raise RuntimeError("no")

        with pytest.raises(RuntimeError, match="no"):
            workers.map(broken, parts)


@pytest.mark.parametrize("n_jobs", [1, 2, None])
def test_map_blocks_returns_results_in_order_and_ends_its_threads(n_jobs):
    before = threading.active_count()
    assert map_blocks(lambda part: part.start, blocks(3000, 8), n_jobs) == [part.start for part in blocks(3000, 8)]
    assert map_blocks(abs, [], n_jobs) == []
    assert threading.active_count() == before


def _limits():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]


def test_blas_is_limited_inside_and_given_back_by_the_last_to_leave():
    before = _limits()
    inside, leave = threading.Event(), threading.Event()

    def other():
        with single_threaded_blas():
            inside.set()
            leave.wait()

    thread = threading.Thread(target=other)
    with single_threaded_blas():
        thread.start()
        inside.wait()
        assert set(_limits()) == {1}
    assert set(_limits()) == {1}  # the other is still inside
    leave.set()
    thread.join()
    assert _limits() == before


_INTERRUPTED = """
import threading
import numpy
from threadpoolctl import threadpool_info
from holdfast.base.blocks import single_threaded_blas

def limits():
    return [pool["num_threads"] for pool in threadpool_info() if pool["user_api"] == "blas"]

def interrupted(thread):
    start(thread)
    raise KeyboardInterrupt

before, start = limits(), threading.Thread.start
threading.Thread.start = interrupted
try:
    with single_threaded_blas():
        raise AssertionError("not interrupted")
except KeyboardInterrupt:
    threading.Thread.start = start
while threading.active_count() > 1:
    pass
assert limits() == before, (limits(), before)
with single_threaded_blas():
    assert set(limits()) == {1}
assert limits() == before
threading.Thread.start = interrupted
try:
    single_threaded_blas().__enter__()
except KeyboardInterrupt:
    print("ends")
"""


def test_ctrl_c_while_blas_is_limited_gives_the_limit_back_and_does_not_hang():
    """The worst moment: the extra thread has started, and nobody knows of it yet."""
    environment = {**os.environ, "OMP_NUM_THREADS": "2", "OPENBLAS_NUM_THREADS": "2", "MKL_NUM_THREADS": "2"}
    done = subprocess.run(
        [sys.executable, "-c", _INTERRUPTED], env=environment, capture_output=True, text=True, timeout=120
    )
    assert (done.returncode, done.stdout) == (0, "ends\n"), done.stderr


def test_n_threads():
    assert n_threads(1) == 1
    assert n_threads(3) == 3
    assert n_threads(None) >= 1
    assert n_threads(-1) >= 1
