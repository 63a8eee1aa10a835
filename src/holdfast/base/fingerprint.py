"""Digests of fitted objects, so that a model that passed its checks is not asked again."""

import hashlib

import numpy as np
from sklearn import __version__
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import BallTree, KDTree

from holdfast.base.inputs import numbers_of_functions

_MAX_DIGESTS = 1024  # that are remembered: 32 bytes each
_PLAIN = (bool, int, float, complex, str, bytes, type(None), np.generic, type)


def fingerprint(estimator) -> bytes | None:
    """The digest of the type and the attributes of an object of scikit-learn's own types, arrays with their bytes, the
    class's functions that decide an answer by identity; None for other types and where an attribute cannot be digested.
    """
    if not type(estimator).__module__.startswith("sklearn."):
        return None
    content = _Content()
    content.words.append(f"{__version__} {type(estimator).__module__}.{type(estimator).__qualname__}")
    content.words.append(f"{numbers_of_functions(type(estimator))}")
    return content.digest() if content.add(vars(estimator)) else None


class _Content:
    """What a digest is made of: the words, in which every array is named by its type and shape, then the arrays."""

    def __init__(self) -> None:
        self.words: list[str] = []
        self._arrays: dict[tuple, np.ndarray] = {}  # by address: a tree often has the array of its owner

    def add(self, value) -> bool:
        """Add a value; False if that cannot be done."""
        if isinstance(value, _PLAIN):
            self.words.append(f"{type(value).__name__} {value!r};")
            return True
        if isinstance(value, np.ndarray):
            return self._add_array(value)
        if type(value) in (KDTree, BallTree):
            metrics = [part for part in value.__getstate__() if isinstance(part, DistanceMetric)]
            self.words.append(f"{type(value).__name__} {[type(metric).__name__ for metric in metrics]}")
            arrays = [np.asarray(array) for array in value.get_arrays()]
            return len(metrics) == 1 and self.add([*arrays, metrics[0].__getstate__()])
        if isinstance(value, dict):
            value = [part for pair in value.items() for part in pair]
        if isinstance(value, list | tuple):
            self.words.append(f"{len(value)}[")
            return all(self.add(part) for part in value)
        return False

    def _add_array(self, value: np.ndarray) -> bool:
        self.words.append(f"{value.dtype.str}{value.shape}")
        if value.dtype.hasobject:
            return self.add(value.tolist())
        address = (value.__array_interface__["data"][0], value.dtype.str, value.shape, value.strides)
        known = list(self._arrays)
        self.words.append(f"array {known.index(address) if address in known else len(known)};")
        self._arrays[address] = value
        return True

    def digest(self) -> bytes:
        """The digest of all that was added."""
        digest = hashlib.sha256("".join(self.words).encode())  # most processors have instructions for it
        for array in self._arrays.values():
            digest.update(np.ascontiguousarray(array).reshape(-1).view(np.uint8) if array.size else b"")
        return digest.digest()


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
        if len(self._digests) >= _MAX_DIGESTS:
            self.clear()
        self._digests[digest] = None

    def clear(self) -> None:
        """Forget all: every object is checked again."""
        self._digests.clear()
