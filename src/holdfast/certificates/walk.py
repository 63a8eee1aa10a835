"""The segment attack where the reference is large: votes of the points near both ends, each checked by the model."""

from collections.abc import Iterator, Sequence

import numpy as np
from numba import njit

from holdfast.certificates.view import View
from holdfast.certificates.votes import insert, winner
from holdfast.constraints.search import nearest

_NEAR = 32  # voters around each end of a segment; 8k if that is more
_HALVINGS, _BEYOND = 45, 1e-9  # and a hair beyond the boundary


def walk(seen: View, rows: np.ndarray, codes: np.ndarray, ends: Sequence[np.ndarray], lengths, n_jobs) -> np.ndarray:
    """As :func:`~holdfast.attacks.segment.segment`; the model is asked once or twice an end, not forty times.

    On the way from u to e, ``‖u(t) − p‖² = (1 − t)‖u − p‖² + t‖e − p‖²`` but for a term all points share. So the
    vote among the points near u and those near e is followed along t without a search, and where it changes
    the model's own ``predict`` is asked, the shortest way first. What happens in the middle of a long way, far
    from both ends, is not seen: where the model disagrees on every way, the ends themselves are tried.
    """
    m, k = len(rows), seen.n_neighbors
    count = min(max(_NEAR, 8 * k), len(seen.points))
    U, *E = (seen.fold(np.where(np.isfinite(place), place, rows)) for place in (rows, *ends))
    near = nearest(seen.points, np.vstack([U, *E]), count, n_jobs)  # one pass over the points for all
    changes = []
    for number, end in enumerate(ends, start=1):
        voters = np.sort(np.hstack([near[:m], near[number * m : (number + 1) * m]]), axis=1)
        t = np.empty(m)
        lowest = seen.ties == "lowest"
        _first_change(seen.points, seen.codes, U, E[number - 1], voters, codes, k, len(seen.classes), lowest, t)
        changes.append(rows + np.minimum(t * (1.0 + _BEYOND), 1.0)[:, None] * (end - rows))
    found = np.full(rows.shape, np.nan)
    for moved in (*_by_length(changes, rows, lengths), *_by_length(ends, rows, lengths)):
        left = np.flatnonzero(np.isnan(found[:, 0]) & np.isfinite(moved).all(axis=1))
        if left.size:
            hit = left[seen.predict(moved[left]) != codes[left]]
            found[hit] = moved[hit]
    return found


def _by_length(choices: Sequence[np.ndarray], rows: np.ndarray, lengths) -> Iterator[np.ndarray]:
    """The shortest move of every row, then the second shortest, …; NaN rows come last."""
    moved = np.stack(choices)
    size = np.array([lengths(each - rows) for each in moved])
    for order in np.argsort(size, axis=0, kind="stable"):
        yield moved[order, np.arange(len(rows))]


@njit(nogil=True, cache=True)
def _first_change(P, labels, U, E, voters, codes, k, n_classes, lowest, out):
    """The least t found at which the vote among a row's voters is not for its code; NaN if at 1 it still is.

    Voters are sorted by index; one that is named twice votes once.
    """
    m, width = voters.shape
    at_u, at_e = np.empty(width), np.empty(width)
    keys, chosen = np.empty(k), np.empty(k, np.int64)
    for row in range(m):
        for i in range(width):
            p = voters[row, i]
            at_u[i] = at_e[i] = 0.0
            for r in range(P.shape[1]):
                at_u[i] += (U[row, r] - P[p, r]) ** 2
                at_e[i] += (E[row, r] - P[p, r]) ** 2
        low, high = 0.0, 1.0
        out[row] = np.nan
        t = 1.0
        for _ in range(_HALVINGS + 1):
            count = 0
            for i in range(width):
                if i == 0 or voters[row, i] != voters[row, i - 1]:
                    key = (1.0 - t) * at_u[i] + t * at_e[i]
                    count = insert(key, voters[row, i], keys, chosen, count, k)
            if winner(labels, chosen, count, n_classes, lowest) != codes[row]:
                high = t
                out[row] = t
            elif t == 1.0:
                break
            else:
                low = t
            t = 0.5 * (low + high)
