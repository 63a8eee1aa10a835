"""How much is tried: little in ``make test``, all of it in ``make attack``."""

import os
from collections.abc import Sequence
from itertools import product

FULL = os.environ.get("HOLDFAST_FULL") == "1"


def every_pair(first: Sequence, second: Sequence, third: Sequence) -> list[tuple]:
    """Triples in which every two values stand together at least once; at full size all triples.

    The third sequence must be the shortest: its value goes round with the sum of the other two places.
    """
    first, second, third = list(first), list(second), list(third)
    assert len(third) <= min(len(first), len(second))
    if FULL:
        return list(product(first, second, third))
    return [(a, b, third[(i + j) % len(third)]) for i, a in enumerate(first) for j, b in enumerate(second)]
