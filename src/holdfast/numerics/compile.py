"""Compilation of kernels: a decorator for kernels called from Python, and one for those that only kernels call.

Both release the GIL, are cached on disk, and leave out what costs compile time and no kernel needs: the C wrapper, the
exception for a division by zero (all our divisions are guarded), and for inner kernels the Python wrapper, which would
unpack every array of every tuple, and machine code of their own (:mod:`holdfast.numerics.inner_library`). Kernels do
not count references either: their arguments live as long as the call, and counting took half of the time of short
kernels. So a kernel may not create arrays, unless it is declared with ``allocates=True``. Further steps of numba's
compiler are left out by :mod:`holdfast.numerics.kernel_compiler`. Measured: benchmarks/speed/README.md.
"""

import gc
from typing import cast

import numba
import numpy as np
from numba import njit
from numba.core import event

# Versions of numba that our compilers were tested with: they replace steps that are not public.
_FIRST_TESTED, _LAST_TESTED = (0, 60), (0, 68)

_OPTIONS = {"nogil": True, "cache": True, "error_model": "numpy", "no_cfunc_wrapper": True}

# Sums may be reordered and fused; rounding budgets hold for every order. NaN and infinity keep their meaning.
FAST = {"reassoc", "contract", "arcp", "nsz"}

# Initial values of integers that are later passed to a kernel. For numba a literal 0 has a type of its own, so that it
# would compile the kernel, and all that it calls, once for this type and once for integers.
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
    return _njit(function, _COMPILERS.get("entry"), allocates, options)


def inner(function=None, **options):
    """Compile a kernel that only other kernels call; arguments as for :func:`entry`, without ``allocates``."""
    return _njit(function, _COMPILERS.get("inner"), False, options | {"no_cpython_wrapper": True})


def _njit(function, compiler, allocates: bool, options: dict):
    """A kernel, or a decorator, with the options that all kernels have."""
    options = options | _OPTIONS | {"_nrt": allocates} | ({"pipeline_class": compiler} if compiler else {})
    return njit(**options) if function is None else njit(**options)(function)


def _compilers(version: tuple[int, ...]) -> dict:
    """Our compilers of entries and of inner kernels; empty for other versions, where numba's own compiles, slower."""
    if not _FIRST_TESTED <= version[:2] <= _LAST_TESTED:
        return {}
    from holdfast.numerics.inner_library import InnerCompiler
    from holdfast.numerics.kernel_compiler import KernelCompiler

    return {"entry": KernelCompiler, "inner": InnerCompiler}


_COMPILERS = _compilers(numba.version_info.short)


class _PausedCollector(event.Listener):
    """Pause Python's cyclic garbage collector while numba compiles: a ninth of the time went into it.

    The compiler makes millions of small objects, and the collector would walk through all that the process has
    imported again and again. When it is over, what was made goes to the oldest generation as it is: the next full
    collection looks at it. Compilation holds numba's lock, so that starts and ends come in pairs.
    """

    def __init__(self):
        self._depth, self._was_enabled = 0, False

    def on_start(self, event):
        """Stop the collector when the outermost compilation starts."""
        if self._depth == 0:
            self._was_enabled = gc.isenabled()
            gc.disable()
        self._depth += 1

    def on_end(self, event):
        """Start it again when that compilation ends, if it was running."""
        self._depth -= 1
        if self._depth == 0 and self._was_enabled:
            if gc.get_freeze_count() == 0:  # to the oldest generation without a walk, unless the user keeps objects out
                gc.freeze()
                gc.unfreeze()
            gc.enable()


event.register("numba:compile", _PausedCollector())
