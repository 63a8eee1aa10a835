"""A threat: which moves of an input are possible, and what they cost."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
from sklearn.base import BaseEstimator

from holdfast.certificates.norms import L2, Norm, as_norm


class Threat(BaseEstimator):
    """``{δ : ‖δ / unit‖ ≤ r, lower ≤ x + δ ≤ upper, δ_i ≥ 0 (only up), δ_i ≤ 0 (only down), δ_i = 0 (frozen)}``.

    Features are named as the model's columns are, or numbered. What is given for all features is a number or a
    sequence; what is given for some is a mapping.

    Parameters
    ----------
    norm : {2, numpy.inf, 1} or array-like of shape (n_features, n_features), default=2
        How moves are measured; a matrix ``A_0`` is the norm ``√(δᵀ A_0 δ)``.
    unit : float, array-like or mapping, optional
        The move that counts as size 1 in each feature; 1 for features that a mapping leaves out.
    lower, upper : float, array-like or mapping, optional
        A box: features of a moved row can only lie within it. A row that lies outside may stay there.
    frozen : array-like of bool, int or str, optional
        Features that cannot move, as a mask, as numbers or as names.
    only_up, only_down : array-like of bool, int or str, optional
        Features that can only grow, or only shrink.

    Examples
    --------
    >>> from holdfast import Threat
    >>> threat = Threat(norm=2, unit={"income": 1000.0}, frozen=["sex"], only_up=["age"])
    >>> threat
    Threat(frozen=['sex'], only_up=['age'], unit={'income': 1000.0})
    >>> moves = threat.moves(3, names=["age", "income", "sex"])
    >>> moves.unit.tolist(), moves.frozen.tolist(), moves.only_up.tolist()
    ([1.0, 1000.0, 1.0], [False, False, True], [True, False, False])
    """

    def __init__(
        self, norm=2, *, unit=None, lower=None, upper=None, frozen=None, only_up=None, only_down=None
    ):  # fmt: skip
        self.norm = norm
        self.unit = unit
        self.lower = lower
        self.upper = upper
        self.frozen = frozen
        self.only_up = only_up
        self.only_down = only_down

    def moves(self, n_features: int, names: Sequence[str] | None = None) -> "Moves":
        """The threat for a model with these columns; one ``ValueError`` lists everything that is wrong with it."""
        columns = _Columns(n_features, names)
        norm = as_norm(self.norm, n_features)
        unit = columns.values("unit", self.unit, 1.0)
        lower = columns.values("lower", self.lower, -np.inf)
        upper = columns.values("upper", self.upper, np.inf)
        frozen = columns.mask("frozen", self.frozen)
        up = columns.mask("only_up", self.only_up)
        down = columns.mask("only_down", self.only_down)
        if unit is not None and not (np.isfinite(unit) & (unit > 0)).all():
            columns.problem(f"unit must be a positive number; that of {columns.first(~(unit > 0))} is not.")
        if lower is not None and upper is not None and (lower > upper).any():
            columns.problem(f"lower is above upper for feature {columns.first(lower > upper)}.")
        if columns.problems:
            raise ValueError(" ".join(columns.problems))
        if unit is not None and (unit == 1.0).all():
            unit = None
        return Moves(norm, unit, lower, upper, frozen, up, down)


class _Columns:
    """Turns names, numbers and masks into arrays over all features, and collects what is wrong."""

    def __init__(self, n_features: int, names: Sequence[str] | None):
        self.n_features = n_features
        self.index = {} if names is None else {str(name): i for i, name in enumerate(names)}
        self.problems: list[str] = []

    def problem(self, sentence: str) -> None:
        """Add one sentence."""
        self.problems.append(sentence)

    def first(self, mask: np.ndarray) -> str:
        """The first feature of a mask, by name if it has one."""
        at = int(np.argmax(mask))
        return next((name for name, i in self.index.items() if i == at), str(at))

    def values(self, what: str, given, default: float) -> np.ndarray | None:
        """One number for each feature; None if nothing is given."""
        if given is None:
            return None
        if isinstance(given, Mapping):
            out = np.full(self.n_features, default)
            for column, value in given.items():
                at = self._find(what, column)
                if at is not None:
                    out[at] = value
            return out
        value = np.asarray(given, dtype=np.float64)
        if value.shape not in ((), (self.n_features,)) or np.isnan(value).any():
            self.problem(f"{what} must be a number, or one for each of the {self.n_features} features.")
            return None
        return np.broadcast_to(value, (self.n_features,)).copy()

    def mask(self, what: str, given) -> np.ndarray | None:
        """A mask of the features named, numbered or masked; None if nothing is given."""
        if given is None:
            return None
        given = np.asarray(given)
        if given.dtype == bool:
            if given.shape != (self.n_features,):
                self.problem(f"{what} must be a mask of {self.n_features} features, or their indices.")
                return None
            return given.copy()
        out = np.zeros(self.n_features, bool)
        for column in np.atleast_1d(given).ravel().tolist():
            at = self._find(what, column)
            if at is not None:
                out[at] = True
        return out

    def _find(self, what: str, column) -> int | None:
        """The number of a column; None, and a sentence, if there is no such column."""
        if isinstance(column, str):
            if column in self.index:
                return self.index[column]
            known = f"the columns are {', '.join(list(self.index)[:8])}" if self.index else "the columns have no names"
            self.problem(f"{what} names {column!r}, but {known}{', …' if len(self.index) > 8 else ''}.")
            return None
        if isinstance(column, float) and not column.is_integer():
            self.problem(f"{what} must name features or number them; got {column!r}.")
            return None
        if not 0 <= int(column) < self.n_features:
            self.problem(f"{what} names feature {int(column)}, but there are {self.n_features}.")
            return None
        return int(column)


@dataclass(frozen=True, eq=False)
class Moves:
    """A threat in arrays over all features of one model, as the engines take it.

    Sizes are in units: δ is measured as ``‖e‖``, ``e = δ / unit``.

    Attributes
    ----------
    norm : Norm
    unit : ndarray of shape (d,) or None
        None: all 1.
    lower, upper : ndarrays of shape (d,) or None
    frozen, only_up, only_down : bool ndarrays of shape (d,) or None
    relations : tuple of ndarrays (A, b), of shapes (n_relations, d) and (n_relations,), or None
        ``A (x + δ) ≤ b``: the moved row keeps them. Dropping them keeps a lower bound sound.
    """

    norm: Norm = field(default_factory=L2)
    unit: np.ndarray | None = None
    lower: np.ndarray | None = None
    upper: np.ndarray | None = None
    frozen: np.ndarray | None = None
    only_up: np.ndarray | None = None
    only_down: np.ndarray | None = None
    relations: tuple[np.ndarray, np.ndarray] | None = None

    @property
    def confined(self) -> bool:
        """True if a moved input must stay in a box or go one way."""
        return any(limit is not None for limit in (self.lower, self.upper, self.only_up, self.only_down))

    def free(self, d: int) -> np.ndarray:
        """Indices of the inputs, of d, that can move."""
        return np.arange(d) if self.frozen is None else np.flatnonzero(~self.frozen)

    @cached_property
    def free_norm(self) -> Norm:
        """The norm of a move of the free inputs."""
        return self.norm if self.frozen is None else self.norm.restricted(np.flatnonzero(~self.frozen))

    def in_units(self, columns: np.ndarray) -> np.ndarray:
        """Columns of a map of δ, for ``e = δ / unit``; the free ones."""
        free = self.free(columns.shape[1])
        return np.ascontiguousarray(columns[:, free] if self.unit is None else columns[:, free] * self.unit[free])

    def in_units_of(self, beta: float, d: int) -> "Moves":
        """The same moves of d inputs, measured in units ``beta`` times as large."""
        return replace(self, unit=beta * (np.ones(d) if self.unit is None else self.unit))

    def room(self, inputs: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """The room of each free input, down and up, in units: two arrays (m, n_free)."""
        d = inputs.shape[1]
        free = self.free(d)
        x = np.ascontiguousarray(np.asarray(inputs, dtype=np.float64)[:, free])
        down, up = np.full(x.shape, np.inf), np.full(x.shape, np.inf)
        if self.lower is not None:
            down = np.maximum(x - np.broadcast_to(self.lower, d)[free], 0.0)
        if self.upper is not None:
            up = np.maximum(np.broadcast_to(self.upper, d)[free] - x, 0.0)
        if self.only_up is not None:
            down[:, self.only_up[free]] = 0.0
        if self.only_down is not None:
            up[:, self.only_down[free]] = 0.0
        if self.unit is not None:
            # Rounded outwards: a box that is a hair too large keeps a lower bound sound.
            down, up = (side / self.unit[free] * (1.0 + 4 * np.finfo(float).eps) for side in (down, up))
        return down, up

    def lengths(self, delta: np.ndarray) -> np.ndarray:
        """The size of moves of all inputs (m, d)."""
        free = self.free(delta.shape[1])
        return self.free_norm.lengths(delta[:, free] if self.unit is None else delta[:, free] / self.unit[free])

    def spread(self, move: np.ndarray, d: int) -> np.ndarray:
        """Moves of the free inputs in units (m, n_free) as moves of all inputs (m, d)."""
        out = np.zeros((move.shape[0], d))
        free = self.free(d)
        out[:, free] = move if self.unit is None else move * self.unit[free]
        return out

    def enforce(self, moved: np.ndarray, rows: np.ndarray) -> np.ndarray:
        """Moved rows, frozen features put back and the box and the one-sided features respected."""
        if self.frozen is not None:
            moved = np.where(self.frozen, rows, moved)
        low = -np.inf if self.lower is None else np.minimum(self.lower, rows)
        high = np.inf if self.upper is None else np.maximum(self.upper, rows)
        if self.only_up is not None:
            low = np.where(self.only_up, rows, low)
        if self.only_down is not None:
            high = np.where(self.only_down, rows, high)
        return np.clip(moved, low, high)
