"""Find out whether numba has to compile before it can compute."""

import sys
from collections.abc import Iterable
from pathlib import Path

NOTICE = "compiling, once, about 10 s …"  # measured on two cores from an empty cache


def is_compiled(kernel) -> bool:
    """True if numba's cache holds machine code of the kernel for this Python, newer than its source.

    numba keeps an index file ``module.kernel-line.pyXY.nbi`` for each function that is compiled with
    ``cache=True``: beside the source, in ``NUMBA_CACHE_DIR``, or in the user's cache folder.

    Parameters
    ----------
    kernel : function compiled by ``numba.njit(cache=True)``

    Returns
    -------
    bool
    """
    if not hasattr(kernel, "py_func"):  # numba is switched off (NUMBA_DISABLE_JIT)
        return True
    if kernel.stats.cache_path is None:  # it cannot be cached: compiled in this process, or not at all
        return bool(kernel.signatures)
    source = Path(kernel.py_func.__code__.co_filename)
    pattern = f"{source.stem}.{kernel.py_func.__qualname__}-*.py{sys.version_info.major}{sys.version_info.minor}*.nbi"
    changed = source.stat().st_mtime
    return any(index.stat().st_mtime >= changed for index in Path(kernel.stats.cache_path).glob(pattern))


def compiling_notice(kernels: Iterable) -> str | None:
    """:data:`NOTICE` if none of the kernels has been compiled, else None.

    Parameters
    ----------
    kernels : iterable of functions compiled by ``numba.njit(cache=True)``
        One for each way the coming computation may go; any of them shows that such a computation was made before.

    Returns
    -------
    str or None
    """
    return None if any(is_compiled(kernel) for kernel in kernels) else NOTICE
