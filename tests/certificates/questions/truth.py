"""Brute force: the model's own answers on a grid of rows, and the smallest move to one that is wanted."""

from dataclasses import dataclass

import numpy as np
from scipy.ndimage import minimum_filter

from tests.certificates.questions.models import THREATS, WORDS, Table
from tests.sizes import FULL

STEP = 1 / 16 if FULL else 1 / 8
AXIS = np.arange(0.5, 6.5 + STEP / 2, STEP)  # whole numbers are on it
ROWS = np.array([[2.5, 2.0], [4.5, 3.75], [3.5, 3.5], [2.0, 4.0]])[: 4 if FULL else 2]  # on the grid
ROW_WORDS = np.array(["p", "q", "r", "p"])[: len(ROWS)]
CLOSE = 1.0 + 1e-9


@dataclass
class Grid:
    """All answers of a model: for rows of each word, and for rows with a gap in the second column.

    Attributes
    ----------
    model : fitted pipeline
    table : Table
    answers : dict
        Word, or "gap" → the answers (n, n), or (n, 1) with a gap.
    """

    model: object
    table: Table
    answers: dict

    @classmethod
    def of(cls, model, table: Table) -> "Grid":
        """The answers of a model."""
        full = np.stack(np.meshgrid(AXIS, AXIS, indexing="ij"), axis=-1)
        answers = {}
        for word in WORDS if table.words else ("p",):
            answers[word] = model.predict(table.make(full.reshape(-1, 2), word)).reshape(full.shape[:2])
        if table.gaps:
            answers["gap"] = model.predict(np.column_stack([AXIS, np.full(AXIS.size, np.nan)]))[:, None]
        return cls(model, table, answers)

    def rows(self):
        """The rows that are asked about, as the model takes them."""
        numbers = ROWS.copy()
        if self.table.gaps:
            numbers[1, 1] = np.nan
        return self.table.make(numbers, ROW_WORDS)

    def line(self, t: int) -> str:
        """The grid that row t is on."""
        if self.table.words:
            return str(ROW_WORDS[t])
        return "gap" if self.table.gaps and t == 1 else "p"


@dataclass(frozen=True)
class Truth:
    """What moves of the grid do to one row under one threat.

    Attributes
    ----------
    grid : Grid
    t : int
        The row.
    threat : str
    norm : float
    """

    grid: Grid
    t: int
    threat: str
    norm: float

    @property
    def limits(self) -> dict:
        """The options of the threat."""
        return THREATS[self.threat]

    @property
    def lines(self) -> list[str]:
        """The grids that the row can come to."""
        changes = {"free", "categories"} & set(self.limits)
        return list(WORDS) if self.grid.table.words and changes else [self.grid.line(self.t)]

    @property
    def unit(self) -> np.ndarray:
        """The move of size 1 in each column."""
        given = self.limits.get("unit", {})
        return np.array([given.get(0, 1.0), given.get(1, 1.0)])

    @property
    def gap(self) -> bool:
        """Whether the second column has a gap."""
        return self.grid.line(self.t) == "gap"

    def places(self) -> tuple[np.ndarray, np.ndarray]:
        """All points of a grid (n, n or 1, 2), and their sizes as moves of the row; a gap does not move."""
        second = ROWS[self.t, 1:] if self.gap else AXIS
        points = np.stack(np.meshgrid(AXIS, second, indexing="ij"), axis=-1)
        return points, self.size(points - ROWS[self.t])

    def size(self, move: np.ndarray) -> np.ndarray:
        """The size of a move."""
        return np.linalg.norm(move / self.unit, ord=self.norm, axis=-1)

    def possible(self, points: np.ndarray) -> np.ndarray:
        """True for points that the limits of the threat allow."""
        x, given, out = ROWS[self.t], self.limits, np.ones(points.shape[:-1], bool)
        for column in (0, 1):
            value = points[..., column]
            out &= value >= min(given.get("lower", {}).get(column, -np.inf), x[column])
            out &= value <= max(given.get("upper", {}).get(column, np.inf), x[column])
            if column in given.get("frozen", []):
                out &= value == x[column]
            if column in given.get("only_up", []):
                out &= value >= x[column]
            if column in given.get("only_down", []):
                out &= value <= x[column]
            if column in given.get("integer", []):
                out &= (value == np.rint(value)) | (value == x[column])
        for weights, _, limit in given.get("relations", []):
            out &= sum(weight * points[..., column] for column, weight in weights.items()) <= limit
        return out

    def smallest(self, wanted, slack: float = 0.0, columns: int = 2, more=None) -> float:
        """The smallest possible move to a point with an answer that is wanted, of so many columns; infinite if none.

        With ``slack`` all points nearer to it have its answer. ``more`` says which points are possible besides.
        """
        points, size = self.places()
        changed = (points != ROWS[self.t]).sum(axis=-1)
        allowed = self.possible(points) & (True if more is None else more(points))
        best = np.inf
        for line in self.lines:
            recoded = line != self.grid.line(self.t)
            answers = self.grid.answers[line]
            found = wanted(answers) & allowed & (changed + recoded <= columns)
            if slack:
                found &= self.held(answers, slack)
            for at in np.argwhere(found & (size < best))[np.argsort(size[found & (size < best)], kind="stable")]:
                place = tuple(at)
                if size[place] < best and (not slack or self.held_between(points[place], line, answers[place], slack)):
                    best = float(size[place])
                    break
        return best

    def noise(self, width: float) -> np.ndarray:
        """Moves of a grid within a size, in every column that is not frozen: a mask of offsets, odd in both sizes."""
        reach = np.ceil(width * self.unit / STEP).astype(int)
        if self.gap or 1 in self.limits.get("frozen", []):
            reach[1] = 0
        steps = np.stack(np.meshgrid(*(np.arange(-r, r + 1) * STEP for r in reach), indexing="ij"), axis=-1)
        return np.linalg.norm(steps / self.unit, ord=self.norm, axis=-1) <= width

    def held(self, answers: np.ndarray, slack: float) -> np.ndarray:
        """True for points whose neighbours on the grid, a little beyond the slack, have the same answer."""
        near, out = self.noise(slack + STEP / self.unit.min()), np.zeros(answers.shape, bool)
        for answer in np.unique(answers):
            out |= minimum_filter((answers == answer).astype(int), footprint=near, mode="constant", cval=0) == 1
        return out

    def held_between(self, point: np.ndarray, line: str, answer, slack: float) -> bool:
        """Whether random points within the slack have the answer as well."""
        rng = np.random.default_rng(0)
        step = rng.uniform(-1.0, 1.0, (400, 2))
        step /= np.linalg.norm(step, ord=self.norm, axis=1, keepdims=True) / rng.random((400, 1)) ** 0.3
        step *= slack * self.unit * 0.999999
        if self.gap or 1 in self.limits.get("frozen", []):
            step[:, 1] = 0.0
        numbers = point + step
        if self.gap:
            numbers[:, 1] = np.nan
        table = self.grid.table
        return bool((self.grid.model.predict(table.make(numbers, line if table.words else "p")) == answer).all())
