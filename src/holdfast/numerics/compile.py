"""Compilation of kernels: a decorator for kernels called from Python, and one for those that only kernels call.

Both release the GIL, are cached on disk where numba finds a folder to write to, and leave out what costs compile time
and no kernel needs: the C wrapper, the exception for a division by zero (all our divisions are guarded), and for inner
kernels the Python wrapper, which would unpack every array of every tuple, and machine code of their own
(:mod:`holdfast.numerics.inner_library`). Further steps of numba's compiler are left out by
:mod:`holdfast.numerics.kernel_compiler`. Measured: benchmarks/speed/README.md.
"""

import warnings
from functools import cache, partial
from typing import cast

import numba
import numpy as np
from numba import njit

# Versions of numba that our compilers were tested with: they replace steps that are not public.
_FIRST_TESTED, _LAST_TESTED = (0, 60), (0, 68)

_OPTIONS = {"nogil": True, "error_model": "numpy", "no_cfunc_wrapper": True}

# Sums may be reordered and fused; rounding budgets hold for every order. NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz"}

# Initial values of integers that are later passed to a kernel. For numba a literal 0 has a type of its own, so that it
# would compile the kernel, and all that it calls, once for this type and once for integers.
ZERO, NONE = cast(int, np.int64(0)), cast(int, np.int64(-1))


def entry(function=None, **options):
    """Compile a kernel that Python calls.

    Parameters
    ----------
    function : callable, optional
        Without, a decorator is returned.
    **options
        For ``numba.njit``.
    """
    return _njit(function, "entry", options)


def inner(function=None, **options):
    """Compile a kernel that only other kernels call; arguments as for :func:`entry`."""
    return _njit(function, "inner", options | {"no_cpython_wrapper": True})


def _njit(function, kind: str, options: dict):
    """A kernel, or a decorator, with the options that all kernels have; not cached where no folder can be written."""
    if function is None:
        return partial(_njit, kind=kind, options=options)
    options = options | _OPTIONS | ({"pipeline_class": _COMPILERS[kind]} if _COMPILERS else {})
    try:
        return njit(cache=True, **options)(function)
    except RuntimeError:  # numba: "no locator available"
        _warn_uncached()
        return njit(**options)(function)


@cache  # once a process
def _warn_uncached() -> None:
    """Say that nothing that is compiled here will be kept."""
    warnings.warn(
        "numba finds no folder to keep compiled code in, so each process compiles for some 10 seconds before its first "
        "answer: set the environment variable NUMBA_CACHE_DIR to a folder that can be written to.",
        RuntimeWarning,
        stacklevel=4,  # the file of the first kernel
    )


def _compilers(version: tuple[int, ...]) -> dict:
    """Our compilers of entries and of inner kernels; empty for other versions, where numba's own compiles, slower."""
    if not _FIRST_TESTED <= version[:2] <= _LAST_TESTED:
        return {}
    from holdfast.numerics.inner_library import InnerCompiler
    from holdfast.numerics.kernel_compiler import KernelCompiler

    return {"entry": KernelCompiler, "inner": InnerCompiler}


_COMPILERS = _compilers(numba.version_info.short)
