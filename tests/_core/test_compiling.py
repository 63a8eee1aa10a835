"""numba's cache is looked at, not guessed."""

import importlib.util
import os
import time

import numpy as np
import pytest

from holdfast._core.compiling import NOTICE, compiling_notice, is_compiled


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
