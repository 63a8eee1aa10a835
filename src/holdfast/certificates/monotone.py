"""Votes behind monotone maps: a radius from verdicts in boxes."""

from dataclasses import replace

import numpy as np

from holdfast.certificates.engines import solve
from holdfast.certificates.moves import Moves
from holdfast.certificates.norms import LInf, Norm
from holdfast.certificates.questions import Bounds, Effort
from holdfast.certificates.vote import Voter

_STEPS = 24  # most verdicts for a row by engines without a search
_SEARCHES = 6  # and by engines with one, which are slow
_SMALLEST, _LARGEST = 1e-12, 1e12  # sizes between which a radius is sought
_MEET = 2e-5  # relative distance of two sizes, one certified and one not, at which the search ends
_GUESSES = 3  # failures in a row after which sizes are halved and no longer guessed: maps that jump mislead guesses
_GROW = 16.0  # largest factor between two sizes
_CHEAP = 1e6  # how many times a move of the size in question could cross the interval of a blurred coordinate
_DOUBLINGS, _HALVINGS = 24, 50  # to invert a monotone map


def warped_bounds(voter: Voter, moves: Moves, rows: np.ndarray, codes: np.ndarray, effort: Effort) -> Bounds:
    """Radii and moves of rows whose features pass monotone maps (Lemmas M1, M2 and M3).

    At size ε every feature lies in an interval, and so does every coordinate after its monotone map: a box, in which an
    engine decides. In L∞ and boxes nothing is lost by that; in L2 and L1 the coordinates move by at most their largest
    slope. A few verdicts bracket the radius.
    """
    lower, delta = np.zeros(len(rows)), np.full(rows.shape, np.nan)
    for t in range(len(rows)):
        own = replace(effort, budget=effort.budget.part(slice(t, t + 1)))
        lower[t], delta[t] = _Row(voter, moves, rows[t], int(codes[t]), own).search()
    return Bounds(lower, np.full(len(rows), np.inf), delta)


class _Row:
    """The verdicts at several sizes for one row, and the radius that follows from them."""

    def __init__(self, voter: Voter, moves: Moves, row: np.ndarray, code: int, effort: Effort):
        self.voter, self.moves, self.row, self.code, self.effort = voter, moves, row, code, effort
        self.budget = effort.budget if effort.budget.spent is not None else effort.budget.metered(1)
        self.encoding, self.map = voter.encoding, voter.fold.before
        self.first = self.encoding.size - len(self.encoding.warps)
        self.free = moves.free(row.size)
        self.unit = np.ones(row.size) if moves.unit is None else moves.unit
        self.query = voter.fold(row[None])
        self.down, self.up = np.full(row.size, np.inf), np.full(row.size, np.inf)
        if moves.confined:
            down, up = moves.room(row[None])
            self.down[self.free], self.up[self.free] = down[0] * self.unit[self.free], up[0] * self.unit[self.free]
        # Coordinates that a feature moves: itself, where a step reads it, and its warps.
        used = (self.map.W != 0).any(axis=0)
        self.raw = np.array([j for j in self.free if used[j]], dtype=int)
        free = set(self.free.tolist())
        self.bent = [i for i, warp in enumerate(self.encoding.warps) if warp.source in free and used[self.first + i]]
        self.blurred = self._blurred([i for i in np.flatnonzero(used[self.first :]).tolist() if i not in self.bent])
        copies = np.zeros(row.size)  # coordinates that move at once with each feature
        np.add.at(copies, [*self.raw.tolist(), *(self.encoding.warps[i].source for i in self.bent)], 1.0)
        self.lift = moves.norm.lifted_units(np.ones(row.size), copies)
        self.moving = np.array([*self.raw, *(self.first + i for i in (*self.bent, *self.blurred))], dtype=int)

    def _blurred(self, still: list[int]) -> dict[int, tuple[float, float]]:
        """Warps of frozen features whose image rounding may change: the interval that it lies in (Lemma M3).

        Where no step comes before a map, the model applies it to the very number in the row, and nothing is blurred.
        """
        inner, error, _ = self.encoding.inputs(self.row[None])
        still = [i for i in still if error[0, i] > 0]
        if not still:
            return {}
        ends = np.vstack([inner - error, inner + error])
        images = np.sort(self.encoding.bend(ends), axis=0)
        image = self.row[self.first :]
        return {i: (min(images[0, i], image[i]), max(images[1, i], image[i])) for i in still}

    def box(self, size: float) -> tuple[np.ndarray, np.ndarray]:
        """The interval of every coordinate for moves of at most ``size`` in every feature."""
        low, high = self.row.copy(), self.row.copy()
        reach = size * self.unit[self.free] * (1.0 + 1e-12)
        low[self.free] -= np.minimum(reach, self.down[self.free])
        high[self.free] += np.minimum(reach, self.up[self.free])
        low[self.free], high[self.free] = np.nextafter(low[self.free], -np.inf), np.nextafter(high[self.free], np.inf)
        warps = self.encoding.warps
        ends = np.array([self._inner(warp, low[warp.source], high[warp.source]) for warp in warps]).T
        images = np.sort(self.encoding.bend(ends), axis=0)  # two rows; NaN outside of the domain
        for i in self.bent:
            low[self.first + i], high[self.first + i] = warps[i].map.outwards(*images[:, i])
        for i, (bottom, top) in self.blurred.items():
            low[self.first + i], high[self.first + i] = warps[i].map.outwards(bottom, top)
        return low, high

    @staticmethod
    def _inner(warp, low: float, high: float) -> np.ndarray:
        """The inputs of a monotone map for an interval of its feature, rounded outwards."""
        ends = np.sort([warp.inner(low), warp.inner(high)])
        error = 1e-14 * (abs(warp.weight) * max(abs(low), abs(high)) + abs(warp.offset))
        return ends + np.array([-error, error])

    def ratio(self, size: float, fast: bool, verdicts: int) -> tuple[float, np.ndarray | None]:
        """A ratio, 1 or more if no move of this size changes the vote; a move of the coordinates that does, or None."""
        low, high = self.box(size)
        if not np.isfinite(low[self.moving]).all() or not np.isfinite(high[self.moving]).all():
            return 0.0, None
        slopes = None if self.lift is None else self._units(low, high, size, self.lift)
        frozen = np.ones(self.row.size, bool)
        frozen[self.moving] = False
        error = 0.0
        norm: Norm
        if slopes is None:  # the box itself is the unit ball
            norm, unit, least = LInf(), np.maximum(high - self.row, self.row - low), 1.0
            unit = np.where(unit > 0, unit, 1.0)
        else:
            norm, (unit, error), least = self.moves.norm, slopes, size
        box = replace(
            self.moves, norm=norm, unit=unit, lower=low, upper=high, frozen=frozen, only_up=None, only_down=None,
            relations=None,
        )  # fmt: skip
        # What is left of the budget is for so many verdicts; one that comes cheap leaves more to the next.
        budget = replace(self.budget, work=self.budget.left().work // verdicts, at=least)
        bounds = solve(
            self.voter.problem(self.map, box), self.query, np.array([self.code]), self.row[None],
            fast=fast, budget=budget, n_jobs=1, memory=self.effort.memory,
        )  # fmt: skip
        delta = bounds.delta[0] if np.isfinite(bounds.delta[0]).all() else None
        return float(max(bounds.lower[0] - error, 0.0) / least), delta

    def _units(self, low, high, size: float, lift: np.ndarray) -> tuple[np.ndarray, float] | None:
        """The most that each coordinate moves for a move of size 1 within the box, and the size of rounding.

        None if a map jumps in the box. A feature with several coordinates moves all of them at once: ``lift`` has the
        factor of their units.
        """
        unit, errors = self.unit.copy(), np.zeros(self.row.size)
        unit[self.raw] *= lift[self.raw]
        for i in self.bent:
            warp, at = self.encoding.warps[i], self.first + i
            ends = self._inner(warp, low[warp.source], high[warp.source])
            slope = abs(warp.weight) * warp.map.slope(float(ends[0]), float(ends[1]))
            if not np.isfinite(slope):
                return None
            rounding = warp.map.error(low[at], high[at])
            errors[at] = rounding + 4e-14 * slope * (np.abs(ends).max() + abs(warp.offset))
            # Where a map is flat, its rounding counts for little; where much cancels in it, for half of the size.
            flat = max(4.0 * rounding, min(1e3 * rounding, 1e-9 * (1.0 + max(abs(low[at]), abs(high[at])))))
            least = flat / size if size > 0 else 1.0
            unit[at] = max(slope * self.unit[warp.source], least) * lift[warp.source]
        for i in self.blurred:  # it costs nothing to go through such an interval, and there is no more room
            at = self.first + i
            errors[at] = max(high[at] - self.row[at], self.row[at] - low[at])
            unit[at] = errors[at] * _CHEAP / size if size > 0 else 1.0
        return unit, float(self.moves.norm.lengths((errors[self.moving] / unit[self.moving])[None])[0])

    def search(self) -> tuple[float, np.ndarray]:
        """The largest size found that is certified, and a move of the features that changes the vote beyond it.

        Engines without a search find a first radius, those with one extend it.
        """
        low, high, move = self._verdicts(0.0, self._start(), _STEPS, fast=True)
        if not self.effort.fast and low < _LARGEST:
            start = low * (1.0 + 1e-3) if low > 0 else high
            low, _, closer = self._verdicts(low, start, _SEARCHES, fast=False)
            move = move if closer is None else closer
        return low, self._to_features(move)

    def _verdicts(self, low: float, size: float, steps: int, fast: bool) -> tuple[float, float, np.ndarray | None]:
        """The largest size certified, the smallest that is not, and a move of the coordinates that changes the vote."""
        high, move, failed = np.inf, None, 0
        for step in range(steps):
            ratio, delta = self.ratio(size, fast, steps - step)
            if ratio >= 1.0:
                low, failed = max(low, size), 0
                size = low * np.clip(ratio * (1.0 - 1e-6), 1.0 + _MEET, _GROW)
                size = size if size < high else np.sqrt(low * high)
            else:
                high = min(high, size)
                move = delta if delta is not None else move
                guess, failed = size * ratio * (1.0 - 1e-9), failed + 1
                size = (
                    guess if low < guess and failed < _GUESSES else (np.sqrt(low * high) if low > 0 else high / _GROW)
                )
            if high <= low * (1.0 + _MEET) or high < _SMALLEST or low > _LARGEST:
                break
        return low, high, move

    def _start(self) -> float:
        """A first size: a tenth of the median value of the row, in units."""
        sizes = np.abs(self.row[self.free]) / self.unit[self.free]
        return float(0.1 * np.median(sizes[sizes > 0])) if (sizes > 0).any() else 1.0

    def _to_features(self, delta: np.ndarray | None) -> np.ndarray:
        """A move of coordinates as a move of features: monotone maps are inverted by doubling and halving."""
        out = np.full(self.row.size, np.nan)
        if delta is None:
            return out
        out[:] = 0.0
        out[self.raw] = delta[self.raw]
        warps = self.encoding.warps
        source = np.array([warp.source for warp in warps])
        weight, offset = (np.array([getattr(warp, name) for warp in warps]) for name in ("weight", "offset"))
        x, change = self.row[source], delta[self.first :]
        aim, sign = self.row[self.first :] + change, np.sign(change)
        direction = np.sign(weight) * sign  # all of these maps are increasing

        def beyond(move: np.ndarray) -> np.ndarray:
            value = self.encoding.bend((weight * (x + move) + offset)[None])[0]
            return ~((value - aim) * sign < 0)

        near, far = np.zeros(len(warps)), 1e-6 * self.unit[source] * direction
        for _ in range(_DOUBLINGS):
            short = ~beyond(far)
            near, far = np.where(short, far, near), np.where(short, 4.0 * far, far)
        for _ in range(_HALVINGS):
            middle = 0.5 * (near + far)
            over = beyond(middle)
            near, far = np.where(over, near, middle), np.where(over, middle, far)
        for i in self.bent:
            if source[i] not in self.raw and change[i] != 0:
                out[source[i]] = far[i]
        return out
