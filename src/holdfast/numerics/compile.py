"""Compilation of kernels: a decorator for kernels called from Python, and one for those that only kernels call.

Both release the GIL, are cached on disk, and leave out what costs compile time and no kernel needs: the C wrapper, the
exception for a division by zero (all our divisions are guarded), and for inner kernels the Python wrapper, which would
unpack every array of every tuple. Measured: docs/guide/scale.md.
"""

from typing import cast

import numpy as np
from numba import njit

_OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}

# Sums may be reordered and fused; rounding budgets hold for every order. NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz"}

# Where a whole number starts that is later passed to a kernel. numba takes a Python 0 for a type of its own, and would
# compile the kernel, and all that it calls, once for this type and once for integers.
ZERO, NONE = cast(int, np.int64(0)), cast(int, np.int64(-1))


def entry(function=None, **options):
    """Compile a kernel that Python calls."""
    return njit(**_OPTIONS, **options) if function is None else njit(**_OPTIONS)(function)


def inner(function=None, **options):
    """Compile a kernel that only other kernels call."""
    options |= _OPTIONS | {"no_cpython_wrapper": True}
    return njit(**options) if function is None else njit(**options)(function)
