"""Walks along segments among many reference points: by the vote of those near both ends, checked by the model."""

from collections.abc import Iterator, Sequence

import numpy as np

from holdfast.base.neighbors import nearest
from holdfast.certificates.kernels.first_change import first_change
from holdfast.certificates.voting import NeighborVoter

_NEAR = 32  # reference points around each end of a segment that vote along it; 8k if that is more
_BEYOND = 1e-9  # a hair beyond the boundary, relative to the move


def walk(
    voter: NeighborVoter, rows: np.ndarray, codes: np.ndarray, ends: Sequence[np.ndarray], lengths, n_jobs
) -> np.ndarray:
    """The shortest witnesses on the segments to ``ends``, with one or two calls of ``predict`` for each end.

    :func:`~holdfast.certificates.witnesses.segment.segment` needs some forty calls for the same.
    At ``u(t) = u + t(e − u)``, ``‖u(t) − p‖² = (1 − t)‖u − p‖² + t‖e − p‖²`` up to a term that all points share. So
    the vote among the points near u and those near e is known for every t without a search; where it changes, the
    model's own ``predict`` is called, the shortest segment first. Points near the middle of a long segment, far from
    both ends, are missed: where ``predict`` does not confirm any change, the ends themselves are tried.
    """
    m, k = len(rows), voter.n_neighbors
    count = min(max(_NEAR, 8 * k), len(voter.points))
    U, *E = (voter.fold(np.where(np.isfinite(place), place, rows)) for place in (rows, *ends))
    near = nearest(voter.points, np.vstack([U, *E]), count, n_jobs)  # one pass over the points for all
    changes = []
    for number, end in enumerate(ends, start=1):
        voters = np.sort(np.hstack([near[:m], near[number * m : (number + 1) * m]]), axis=1)
        t = np.empty(m)
        lowest_wins = voter.ties == "lowest"
        first_change(voter.points, voter.codes, U, E[number - 1], voters, codes, k, len(voter.classes), lowest_wins, t)
        changes.append(rows + np.minimum(t * (1.0 + _BEYOND), 1.0)[:, None] * (end - rows))
    witnesses = np.full(rows.shape, np.nan)
    for moved in (*_by_length(changes, rows, lengths), *_by_length(ends, rows, lengths)):
        left = np.flatnonzero(np.isnan(witnesses[:, 0]) & np.isfinite(moved).all(axis=1))
        if left.size:
            hit = left[voter.predict(moved[left]) != codes[left]]
            witnesses[hit] = moved[hit]
    return witnesses


def _by_length(choices: Sequence[np.ndarray], rows: np.ndarray, lengths) -> Iterator[np.ndarray]:
    """The shortest move of every row, then the second shortest, …; NaN rows come last."""
    moved = np.stack(choices)
    size = np.array([lengths(each - rows) for each in moved])
    for order in np.argsort(size, axis=0, kind="stable"):
        yield moved[order, np.arange(len(rows))]
