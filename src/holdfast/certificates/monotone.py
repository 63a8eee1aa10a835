"""Votes behind monotone maps: a radius from verdicts in boxes."""

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np

from holdfast.base.affine import AffineMap
from holdfast.certificates.chain import Chain, Vote
from holdfast.certificates.engines import solve
from holdfast.certificates.maps import Warp
from holdfast.certificates.moves import Moves
from holdfast.certificates.norms import LInf, Norm
from holdfast.certificates.questions import Bounds, Effort, Problem

_STEPS = 24  # most verdicts for a row by engines without a search
_SEARCHES = 6  # and by engines with one, which are slow
_SMALLEST, _LARGEST = 1e-12, 1e12  # sizes between which a radius is sought
_MEET = 2e-5  # relative distance of two sizes, one certified and one not, at which the search ends
_GUESSES = 3  # failures in a row after which sizes are halved and no longer guessed: maps that jump mislead guesses
_STRIDE = 2.0  # least factor between two sizes where searches, which end as soon as they say yes, have not failed yet
_LONGER = 16  # most searches then
_GROW = 16.0  # largest factor between two sizes
_CHEAP = 1e6  # how many times a move of the size in question could cross the interval of a blurred coordinate
_DOUBLINGS, _HALVINGS = 24, 50  # to invert a monotone map
_NOISE = 4.0  # changes of a coordinate up to so many times its rounding move no feature: a bin is not left for 1e-12
_SECANTS = (0.02, 0.2, 1.0)  # steps of a feature, relative to 1 + |x|, at which a map's slope is taken


@dataclass(frozen=True)
class Monotone(Chain):
    """``x → (x, t) → u``: a coordinate ``t = g(weight · x_j + offset)`` for each monotone map g, then an affine map.

    Attributes
    ----------
    warps : tuple of Warp
    tail : AffineMap
        Over (x, t).
    """

    warps: tuple[Warp, ...]
    tail: AffineMap

    most_variants = 8  # each bound takes many verdicts
    tangents = 3
    defined_everywhere = False

    def lifted(self, X: np.ndarray) -> np.ndarray:
        """(x, t) of rows; t is NaN outside of the domain of its map."""
        inner, _, missing = self.inputs(X)
        return np.hstack([X, np.where(missing, 0.0, self.bend(inner))])

    def image(self, X: np.ndarray, fixed: bool = False) -> np.ndarray:
        """NaN where a map has no value."""
        return self.tail(self.lifted(X), fixed)

    def shift(self, X: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """By the moves of (x, t)."""
        return np.linalg.norm(self.tail.linear_part(self.lifted(moved) - self.lifted(X)), axis=1)

    def magnitude(self, X: np.ndarray) -> np.ndarray:
        """Of the numbers behind the tail."""
        return np.linalg.norm(self.tail.magnitudes(self.lifted(X)), axis=1)

    def reads(self, column: int) -> bool:
        """Whether the tail or a map does."""
        return bool(self.tail.W[:, column].any()) or any(warp.source == column for warp in self.warps)

    def defined(self, X: np.ndarray) -> np.ndarray:
        """Where all maps have values."""
        return np.isfinite(self.image(X)).all(axis=1)

    def near(self, x: np.ndarray) -> AffineMap:
        """By secants: the least step, of 2, 20 or 100 % of x and 1, at which a map changes."""
        W = self.tail.W[:, : len(x)].copy()
        at, t = self._sources, self.lifted(x[None])[0, len(x) :]
        size, slope = 1.0 + np.abs(x[at]), np.zeros(len(at))
        for step in (*_SECANTS, *(-share for share in _SECANTS)):
            moved = self.bend((self._weights * (x[at] + step * size) + self._offsets)[None])[0]
            secant = (moved - t) / (step * size)
            slope = np.where((slope == 0) & np.isfinite(secant), secant, slope)
        for i, j in enumerate(at):
            W[:, j] += self.tail.W[:, len(x) + i] * slope[i]
        return AffineMap.step(W, self.image(x[None])[0] - W @ x)

    def then(self, step: AffineMap) -> "Monotone":
        """One more step of the tail."""
        return replace(self, tail=self.tail.then(step))

    def question(self, vote: Vote, moves: Moves) -> Problem:
        """The vote on (x, t), whose moves are boxes in :meth:`bounds`."""
        return vote(self.tail, Moves())

    def quick(self, problem: Problem, fast: bool) -> bool:
        """A bound takes many verdicts."""
        return False

    def bounds(self, problem: Problem, moves: Moves, rows: np.ndarray, codes: np.ndarray, effort: Effort) -> Bounds:
        """Radii from verdicts in boxes (Lemmas M1, M2 and M3).

        At size ε every feature lies in an interval, and so does every coordinate after its monotone map: a box, in
        which an engine decides. In L∞ and boxes nothing is lost by that; in L2 and L1 the coordinates move by at most
        their largest slope. A few verdicts bracket the radius.
        """
        lower, delta = np.zeros(len(rows)), np.full(rows.shape, np.nan)
        for t in range(len(rows)):
            own = replace(effort, budget=effort.budget.part(slice(t, t + 1)))
            lower[t], delta[t] = _Row(self, problem, moves, rows[t], int(codes[t]), own).search()
        return Bounds(lower, np.full(len(rows), np.inf), delta)

    def towards(self, rows: np.ndarray, shifts: np.ndarray, free: np.ndarray) -> np.ndarray:
        """By the pseudo-inverse of the tail, and each monotone map turned back."""
        d, used = rows.shape[1], (self.tail.W != 0).any(axis=0)
        raw = np.array([j for j in free if used[j]], dtype=int)
        bent = [i for i, warp in enumerate(self.warps) if warp.source in set(free.tolist()) and used[d + i]]
        columns = np.array([*raw, *(d + i for i in bent)], dtype=int)
        back, lifted = np.linalg.pinv(self.tail.W[:, columns]), self.lifted(rows)
        moved = np.full(rows.shape, np.nan)
        for t in np.flatnonzero(np.isfinite(shifts).all(axis=1) & np.isfinite(lifted).all(axis=1)):
            change = np.zeros(lifted.shape[1])
            change[columns] = back @ shifts[t]
            moved[t] = rows[t] + self.turned_back(lifted[t], change, raw, bent, np.ones(d))
        return moved

    def turned_back(self, row: np.ndarray, change: np.ndarray, raw: np.ndarray, bent: list[int], unit) -> np.ndarray:
        """The move of features for a change of (x, t): the least x as far as each t goes, or as its map reaches.

        The least and not just any: behind a clip every x beyond the range of training has the same image.

        Parameters
        ----------
        row, change : ndarrays of shape (d + n_warps,)
        raw, bent : features that move by themselves, and numbers of maps whose features follow from t
        unit : ndarray
            Units of the features.
        """
        source, weight, offset = self._sources, self._weights, self._offsets
        d = len(row) - len(source)
        out = np.zeros(d)
        out[raw] = change[raw]
        x, change = row[source], change[d:]
        sign = np.sign(change)
        start = 1e-6 * unit[source] * np.sign(weight) * sign  # all of these maps are increasing

        def progress(moves: np.ndarray) -> np.ndarray:
            """How far the coordinates of each row have gone; NaN outside of the domain."""
            return (self.bend(weight * (x + moves) + offset) - row[d:]) * sign

        doubled = start * 4.0 ** np.arange(_DOUBLINGS + 1)[:, None]
        gone = progress(doubled)
        ends = np.isnan(gone) | (gone >= np.abs(change))  # here the aim, or the domain, ends
        aim = np.where(ends.any(axis=0), np.abs(change), gone[-1])
        first = (ends | (gone >= aim)).argmax(axis=0)
        columns = np.arange(len(source))
        near, far = np.where(first > 0, doubled[first - 1, columns], 0.0), doubled[first, columns]
        for _ in range(_HALVINGS):
            middle = 0.5 * (near + far)
            over = ~(progress(middle[None])[0] < aim)
            near, far = np.where(over, near, middle), np.where(over, middle, far)
        far = np.where(np.isnan(progress(far[None])[0]), near, far)
        for i in bent:
            seen = abs(change[i]) > _NOISE * self.warps[i].map.error(row[d + i], row[d + i] + change[i])
            if source[i] not in raw and seen and abs(far[i]) > abs(out[source[i]]):
                out[source[i]] = far[i]
        return out

    def inputs(self, rows: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """The inputs of the maps, bounds on how much the model's own inputs differ, and which are gaps.

        Three arrays (m, n_warps). Where nothing comes before a map, its input is the number in the row itself.
        """
        inner, error, missing = (np.zeros((len(rows), len(self.warps))) for _ in range(3))
        for i, warp in enumerate(self.warps):
            gap = np.zeros(len(rows), bool) if warp.gap is None else rows[:, warp.gap] > 0
            x = rows[:, warp.source]
            known = warp.inner(x)
            inner[:, i] = np.where(gap, known if warp.filled is None else warp.filled, known)
            if (warp.weight, warp.offset) != (1.0, 0.0):
                error[:, i] = 1e-14 * (np.abs(warp.weight * x) + np.abs(inner[:, i]) + abs(warp.offset))
            missing[:, i] = gap & (warp.filled is None)
        return inner, error, missing > 0

    def blur(self, X: np.ndarray) -> np.ndarray:
        """By rounding before the maps: large at a jump (Lemma M3)."""
        inner, error, _ = self.inputs(X)
        width = np.abs(self.bend(inner + error) - self.bend(inner - error))
        return np.hstack([np.zeros_like(X), np.nan_to_num(width)]) @ self.tail.absolute.T

    def bend(self, inner: np.ndarray) -> np.ndarray:
        """The maps of their inputs (m, n_warps), with one call of each step."""
        out = np.empty_like(inner)
        for map_ in {id(warp.map.step): warp.map for warp in self.warps}.values():  # one map for each step
            at = [i for i, warp in enumerate(self.warps) if warp.map.step is map_.step]
            columns = [self.warps[i].map.column for i in at]
            twice = len(set(columns)) < len(columns)  # a column of the step that two warps use
            for part in [[i] for i in at] if twice else [at]:
                probe = np.ones((len(inner), map_.width))
                probe[:, [self.warps[i].map.column for i in part]] = inner[:, part]
                out[:, part] = map_.images(probe)[:, [self.warps[i].map.column for i in part]]
        return out

    @cached_property
    def _sources(self) -> np.ndarray:
        return np.array([warp.source for warp in self.warps])

    @cached_property
    def _weights(self) -> np.ndarray:
        return np.array([warp.weight for warp in self.warps])

    @cached_property
    def _offsets(self) -> np.ndarray:
        return np.array([warp.offset for warp in self.warps])


class _Row:
    """The verdicts at several sizes for one row, and the radius that follows from them."""

    def __init__(self, chain: Monotone, problem: Problem, moves: Moves, row: np.ndarray, code: int, effort: Effort):
        self.chain, self.problem, self.moves, self.code, self.effort = chain, problem, moves, code, effort
        self.budget = effort.budget if effort.budget.spent is not None else effort.budget.metered(1)
        self.warps, self.first = chain.warps, row.size
        self.free = moves.free(row.size)
        self.row = chain.lifted(row[None])[0]  # (x, t)
        self.unit = np.ones(self.row.size)
        self.unit[: row.size] = 1.0 if moves.unit is None else moves.unit
        self.query = chain.image(row[None])
        self.down, self.up = np.full(self.row.size, np.inf), np.full(self.row.size, np.inf)
        if moves.confined:
            down, up = moves.room(row[None])
            self.down[self.free], self.up[self.free] = down[0] * self.unit[self.free], up[0] * self.unit[self.free]
        # Coordinates that a feature moves: itself, where a step reads it, and its warps.
        used = (chain.tail.W != 0).any(axis=0)
        self.raw = np.array([j for j in self.free if used[j]], dtype=int)
        free = set(self.free.tolist())
        self.bent = [i for i, warp in enumerate(self.warps) if warp.source in free and used[self.first + i]]
        self.blurred = self._blurred([i for i in np.flatnonzero(used[self.first :]).tolist() if i not in self.bent])
        copies = np.zeros(self.row.size)  # coordinates that move at once with each feature
        np.add.at(copies, [*self.raw.tolist(), *(self.warps[i].source for i in self.bent)], 1.0)
        self.lift = moves.norm.lifted_units(np.ones(self.row.size), copies)
        self.moving = np.array([*self.raw, *(self.first + i for i in (*self.bent, *self.blurred))], dtype=int)

    def _blurred(self, still: list[int]) -> dict[int, tuple[float, float]]:
        """Warps of frozen features whose image rounding may change: the interval that it lies in (Lemma M3).

        Where no step comes before a map, the model applies it to the very number in the row, and nothing is blurred.
        """
        inner, error, _ = self.chain.inputs(self.row[None, : self.first])
        still = [i for i in still if error[0, i] > 0]
        if not still:
            return {}
        ends = np.vstack([inner - error, inner + error])
        images = np.sort(self.chain.bend(ends), axis=0)
        image = self.row[self.first :]
        return {i: (min(images[0, i], image[i]), max(images[1, i], image[i])) for i in still}

    def box(self, size: float) -> tuple[np.ndarray, np.ndarray]:
        """The interval of every coordinate for moves of at most ``size`` in every feature."""
        low, high = self.row.copy(), self.row.copy()
        reach = size * self.unit[self.free] * (1.0 + 1e-12)
        low[self.free] -= np.minimum(reach, self.down[self.free])
        high[self.free] += np.minimum(reach, self.up[self.free])
        low[self.free], high[self.free] = np.nextafter(low[self.free], -np.inf), np.nextafter(high[self.free], np.inf)
        warps = self.warps
        ends = np.array([self._inner(warp, low[warp.source], high[warp.source]) for warp in warps]).T
        images = np.sort(self.chain.bend(ends), axis=0)  # two rows; NaN outside of the domain
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
            relations=None, integer=None,
        )  # fmt: skip
        # What is left of the budget is for so many verdicts; one that comes cheap leaves more to the next.
        budget = replace(self.budget, work=self.budget.left().work // verdicts, at=least + 2.0 * error)
        problem = replace(self.problem, moves=box)  # type: ignore[type-var]
        bounds = solve(
            problem, self.query, np.array([self.code]), self.row[None], fast=fast, budget=budget,
            n_jobs=1, memory=self.effort.memory,
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
            warp, at = self.warps[i], self.first + i
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
        low, _, move = self._verdicts(0.0, self._start(), _STEPS, fast=True)
        if not self.effort.fast and low < _LARGEST:
            high = np.inf
            if low > 0:
                low, high, closer = self._verdicts(low, low * (1.0 + 1e-3), _SEARCHES, fast=False)
                move = move if closer is None else closer
            if np.isinf(high) and low < _LARGEST:  # no search has failed, or an engine without one had no bound at all
                start = low * _STRIDE if low > 0 else self._start()
                low, _, closer = self._verdicts(low, start, _LONGER, fast=False, stride=_STRIDE)
                move = move if closer is None else closer
        return low, np.full(self.first, np.nan) if move is None else self.chain.turned_back(
            self.row, move, self.raw, self.bent, self.unit
        )

    def _verdicts(
        self, low: float, size: float, steps: int, fast: bool, stride: float = 1.0 + _MEET
    ) -> tuple[float, float, np.ndarray | None]:
        """The largest size certified, the smallest that is not, and a move of the coordinates that changes the vote."""
        high, move, failed = np.inf, None, 0
        for step in range(steps):
            ratio, delta = self.ratio(size, fast, steps - step)
            if ratio >= 1.0:
                low, failed = max(low, size), 0
                size = low * np.clip(ratio * (1.0 - 1e-6), stride, _GROW)
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
