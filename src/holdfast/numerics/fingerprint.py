"""A digest of all that a fitted scikit-learn object holds: the same digest, the same object to the last bit."""

import hashlib

import numpy as np
from sklearn import __version__
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import BallTree, KDTree

_MOST = 1024  # digests that are remembered
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, type)


def fingerprint(estimator) -> bytes | None:
    """The digest of the type of an object and of its attributes; None if one of them is neither number nor word.

    Only scikit-learn's own types have one: a class of a user's may be defined again under the same name, and then do
    something else with the same attributes.

    Arrays count with their type, shape and bytes, so an array that was written into gives another digest; search trees
    with their arrays and their metric. Objects of which more would have to be known (functions, generators, other
    estimators) have none.
    """
    if not type(estimator).__module__.startswith("sklearn."):
        return None
    digest = hashlib.blake2b(f"{__version__} {type(estimator).__module__}.{type(estimator).__qualname__}".encode())
    return digest.digest() if _add(digest, vars(estimator)) else None


def _add(digest, value) -> bool:
    """Put a value into the digest; False if that cannot be done."""
    if isinstance(value, np.ndarray):
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        if value.dtype.hasobject:
            return _add(digest, value.tolist())
        digest.update(np.ascontiguousarray(value).reshape(-1).view(np.uint8) if value.size else b"")
        return True
    if type(value) in (KDTree, BallTree):
        metrics = [part for part in value.__getstate__() if isinstance(part, DistanceMetric)]
        digest.update(f"{type(value).__name__} {[type(metric).__name__ for metric in metrics]}".encode())
        arrays = [np.asarray(array) for array in value.get_arrays()]
        return len(metrics) == 1 and _add(digest, [*arrays, metrics[0].__getstate__()])
    if isinstance(value, _PLAIN):
        digest.update(f"{type(value).__name__} {value!r};".encode())
        return True
    if isinstance(value, dict):
        value = [part for pair in value.items() for part in pair]
    if isinstance(value, list | tuple):
        digest.update(f"{len(value)}[".encode())
        return all(_add(digest, part) for part in value)
    return False


class Passed:
    """Digests of objects that passed a check, which need not be checked again while they are as they were."""

    def __init__(self) -> None:
        self._digests: dict[bytes, None] = {}

    def __contains__(self, digest: bytes | None) -> bool:
        return digest is not None and digest in self._digests

    def add(self, digest: bytes | None) -> None:
        """Remember an object that passed."""
        if digest is None:
            return
        if len(self._digests) >= _MOST:
            self.clear()
        self._digests[digest] = None

    def clear(self) -> None:
        """Forget all: every object is checked again."""
        self._digests.clear()
