"""Kernels compile with and without a cache, which is looked at, not guessed; inner kernels have no machine code."""

import importlib.util
import os
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from numba.core import event
from numba.core.caching import CacheImpl

from holdfast._core import compiling as compile
from holdfast._core.compiling import NOTICE, compiling_notice, is_compiled


def test_kernels_work_where_no_cache_can_be_written(monkeypatch):
    """A container with packages that are read-only and without a home; the process is told so once."""
    monkeypatch.setattr(CacheImpl, "_locator_classes", [])
    compile._warn_uncached.cache_clear()
    spec = importlib.util.spec_from_file_location("uncached", Path(__file__).with_name("two_kernels.py"))
    kernels = importlib.util.module_from_spec(spec)
    with pytest.warns(RuntimeWarning) as said:
        spec.loader.exec_module(kernels)
    assert len(said) == 1
    assert "set the environment variable NUMBA_CACHE_DIR to a folder" in str(said[0].message)
    assert compiling_notice([kernels.doubled_sum]) == NOTICE
    assert kernels.doubled_sum(np.arange(4.0)) == 28.0
    assert compiling_notice([kernels.doubled_sum]) is None


def test_compilation_changes_nothing_for_other_code_of_the_process():
    assert not event._registered.get("numba:compile")


def test_inner_kernels_live_in_their_callers_and_in_the_cache(tmp_path):
    """The second process loads one caller; the other caller, which is new, takes the inner kernel from the cache."""
    script = "import numpy as np; from tests._core.two_kernels import *; print(doubled_sum(np.arange(4.0)), end=' '); "
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
    from holdfast._core.compiling import _compilers

    assert _compilers((0, 59)) == {} == _compilers((1, 0))
    assert set(_compilers((0, 60))) == {"entry", "inner"}


def test_flags_of_a_kernel_are_equal_where_the_same_options_are_set():
    from holdfast._core.compiling import KernelFlags

    one, other = KernelFlags(), KernelFlags()
    one.release_gil = True
    assert one != other
    other.release_gil = True
    assert one == other
    assert hash(one) == hash(other)
    assert one.copy() == one
    other.release_gil = False
    assert one != other


@pytest.fixture
def kernel(tmp_path):
    source = tmp_path / "kernels.py"
    source.write_text("from numba import njit\n\n\n@njit(cache=True)\ndef add(x):\n    return x + 1.0\n")
    os.utime(source, (1e9, 1e9))
    spec = importlib.util.spec_from_file_location("kernels", source)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.add


def test_a_kernel_is_compiled_once_it_has_run_and_until_its_source_changes(kernel):
    assert not is_compiled(kernel)
    assert compiling_notice([kernel]) == NOTICE
    kernel(1.0)
    assert is_compiled(kernel)
    assert compiling_notice([kernel]) is None
    later = time.time() + 10
    os.utime(kernel.py_func.__code__.co_filename, (later, later))
    assert not is_compiled(kernel)


def test_without_numba_nothing_is_to_be_compiled():
    assert is_compiled(np.sqrt)  # what a kernel is when numba is switched off: a function
