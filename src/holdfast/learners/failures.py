"""Failures of linear algebra, in one sentence."""

from collections.abc import Iterator
from contextlib import contextmanager

import numpy as np


@contextmanager
def explained_failures(owner: str) -> Iterator[None]:
    """Turn a ``LinAlgError``, which NaN and infinity cause, into a ``ValueError`` that says what to do."""
    try:
        yield
    except np.linalg.LinAlgError as failed:
        raise ValueError(
            f"{owner}: the numbers left the range of floating point on the way ({failed}); bring the features to an "
            "ordinary scale, for example with StandardScaler."
        ) from failed
