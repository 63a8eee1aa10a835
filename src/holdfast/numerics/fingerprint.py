"""A digest of all that a fitted scikit-learn object holds: the same digest, the same object to the last bit."""

import hashlib

import numpy as np
from sklearn import __version__

_MOST = 1024  # digests that are remembered
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, type)


def fingerprint(estimator) -> bytes | None:
    """The digest of the type of an object and of its attributes; None if one of them is neither number nor word.

    Arrays count with their type, shape and bytes, so an array that was written into gives another digest. Objects of
    which more than that would have to be known (search trees, functions, generators, other estimators) have none.
    """
    digest = hashlib.blake2b(f"{__version__} {type(estimator).__module__}.{type(estimator).__qualname__}".encode())
    return digest.digest() if _add(digest, vars(estimator)) else None


def _add(digest, value) -> bool:
    """Put a value into the digest; False if that cannot be done."""
    if isinstance(value, np.ndarray):
        if value.dtype.hasobject:
            return False
        digest.update(f"{value.dtype.str}{value.shape}".encode())
        digest.update(np.ascontiguousarray(value).view(np.uint8) if value.size else b"")
        return True
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
            self._digests.clear()
        self._digests[digest] = None
