"""Random numbers that depend on what they are for, and on nothing else."""

import zlib

import numpy as np


def generator(*purpose: str | int) -> np.random.Generator:
    """A generator for a purpose, such as ("noise", "iris", 3): the same on every machine and in every order."""
    return np.random.default_rng([_number(word) for word in purpose])


def seed(*purpose: str | int) -> int:
    """A seed for a purpose, for what takes an integer."""
    return int(generator(*purpose).integers(2**31 - 1))


def _number(word: str | int) -> int:
    return zlib.crc32(word.encode()) if isinstance(word, str) else word
