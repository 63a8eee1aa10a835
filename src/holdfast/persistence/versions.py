"""The versions that results depend on."""

import platform
from importlib.metadata import PackageNotFoundError, version


def versions() -> dict[str, str]:
    """Versions of Python, of this package and of those that results depend on."""
    numbers = {"python": platform.python_version()}
    for name in ("holdfast", "numpy", "scipy", "scikit-learn", "numba", "skops"):
        try:
            numbers[name] = version(name)
        except PackageNotFoundError:
            continue
    return numbers
