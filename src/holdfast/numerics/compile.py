"""Compilation of kernels: a decorator for kernels called from Python, and one for those that only kernels call.

Both release the GIL, are cached on disk, and leave out what costs compile time and no kernel needs: the C wrapper, the
exception for a division by zero (all our divisions are guarded), and for inner kernels the Python wrapper, which would
unpack every array of every tuple. Nor do kernels count references: the arrays they are given live as long as the call,
and to count was half of the time of short kernels. So a kernel makes no arrays; one that does says ``allocates=True``.
Measured: docs/guide/scale.md.
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


def entry(function=None, *, allocates: bool = False, **options):
    """Compile a kernel that Python calls.

    Parameters
    ----------
    function : callable, optional
        Without, a decorator is returned.
    allocates : bool, default=False
        Whether the kernel makes arrays of its own.
    **options
        For ``numba.njit``.
    """
    options |= _OPTIONS | {"_nrt": allocates}
    return njit(**options) if function is None else njit(**options)(function)


def inner(function=None, **options):
    """Compile a kernel that only other kernels call; the same arguments."""
    return entry(function, no_cpython_wrapper=True, **options)
