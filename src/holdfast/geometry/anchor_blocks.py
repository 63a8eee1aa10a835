"""Blocks of anchors whose triplets fit the cache of a core."""

from itertools import pairwise
from typing import NamedTuple

import numpy as np

from holdfast.constraints import Triplets
from holdfast.numerics.threads import balanced

# Triplets in a block: six arrays of them (a, b, h and their derivatives), 1.5 MB, fit the cache of a core.
_TRIPLETS_PER_BLOCK = 32768


class AnchorBlock(NamedTuple):
    """A range of anchors, with the ranges of the pairs, triplets and members of S that belong to them."""

    anchors: slice
    pairs: slice
    triplets: slice
    targets: slice


def anchor_blocks(triplets: Triplets) -> list[AnchorBlock]:
    """Cut the anchors into blocks with nearly equal numbers of triplets, at most about 32,768 each."""
    rows = balanced(triplets.indptr, -(-len(triplets) // _TRIPLETS_PER_BLOCK))
    edges = np.array([0] + [part.stop for part in rows])
    of_triplets = triplets.indptr[edges]
    of_targets = np.searchsorted(triplets.targets, of_triplets)
    cuts = (edges, triplets.pairs.indptr[edges], of_triplets, of_targets)
    ranges = [[slice(*ends) for ends in pairwise(cut.tolist())] for cut in cuts]
    return [AnchorBlock(*block) for block in zip(*ranges, strict=True)]
