"""Read a threat for the columns of one model; one error lists all its problems."""

import warnings
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from holdfast.certificates.categories import LIMIT, Categories, Category, read_categories
from holdfast.certificates.columns import Columns
from holdfast.certificates.moves import Moves
from holdfast.certificates.norms import as_norm
from holdfast.certificates.relations import Relations

if TYPE_CHECKING:
    from holdfast.certificates.threat import Threat

_UNITS = 1e-290, 1e290  # smallest and largest unit: sizes in such units are still numbers of float64
_SENSES = ("<=", ">=", "==")


@dataclass(frozen=True)
class Reading:
    """A threat in arrays over the columns of one model.

    Attributes
    ----------
    moves : Moves
        Moves of the numbers; the columns of categories are frozen.
    categories : Categories or None
        Which categories may change; each choice of them is certified as a separate row.
    names : list of str
        Of the columns.
    gaps : dict of int to list of int
        Column -> the coordinates of an encoded row of which one is 1 where it has a gap.
    """

    moves: Moves
    categories: Categories | None
    names: list[str]
    gaps: dict[int, list[int]] = field(default_factory=dict)

    def check_rows(self, rows: np.ndarray) -> None:
        """Refuse rows that break the relations themselves, or that have no category; warn of a threat without moves."""
        problems = [] if self.categories is None else self.categories.strange(rows)
        if self.categories is None and not self.moves.can_move(rows.shape[1]).any():
            warnings.warn(
                "The threat lets nothing move: every feature is frozen, or can go neither up nor down, and no category "
                "may change. So every answer stands, which says nothing about the model. Free some feature.",
                UserWarning,
                stacklevel=3,
            )
        if self.moves.relations is not None:
            A, b = self.moves.relations
            for column, at in self.gaps.items():
                gap = rows[:, at].any(axis=1)
                if A[:, column].any() and gap.any():
                    problems.append(
                        f"A relation names {self.names[column]}, which has a gap in {int(gap.sum())} of {len(rows)} "
                        f"rows, the first is row {int(np.argmax(gap))}: leave out such rows, or drop the relation."
                    )
            broken = Relations(A, b).broken(rows)
            for k in np.flatnonzero(broken.any(axis=0)):
                first = int(np.argmax(broken[:, k]))
                problems.append(
                    f"{int(broken[:, k].sum())} of {len(rows)} rows break the relation {self._words(A[k], b[k])} "
                    f"before any move, the first is row {first}: correct or leave out such rows, or drop the relation."
                )
        if problems:
            raise ValueError(" ".join(problems))

    def _words(self, a: np.ndarray, b: float) -> str:
        terms = " + ".join(f"{a[i]:g} {self.names[i]}" for i in np.flatnonzero(a))
        return f"{terms} <= {b:g}".replace("+ -", "- ")


def read_threat(threat: "Threat", n_features: int, names) -> Reading:
    """The threat for a model with these columns; one ``ValueError`` lists everything that is wrong with it."""
    columns = Columns(n_features, names)
    norm = as_norm(threat.norm, n_features)
    unit = None if "unit" in threat.needs_rows else columns.values("unit", threat.unit, 1.0)
    if isinstance(threat.unit, str) and threat.unit not in ("std", "range"):
        columns.problem(f'unit must be numbers, "std" or "range"; got {threat.unit!r}.')
    elif "unit" in threat.needs_rows:
        columns.problem(
            f"unit={threat.unit!r} needs rows of training: Threat(...).fitted_to(X_train), or give certify "
            "reference=(X_train, y_train)."
        )
    lower = columns.values("lower", threat.lower, -np.inf)
    upper = columns.values("upper", threat.upper, np.inf)
    frozen, up, down, integer = (
        columns.mask(what, getattr(threat, what)) for what in ("frozen", "only_up", "only_down", "integer")
    )
    if unit is not None and not (np.isfinite(unit) & (unit > 0)).all():
        columns.problem(f"unit must be a positive number; that of {columns.first(~(unit > 0))} is not.")
    elif unit is not None and ((unit < _UNITS[0]) | (unit > _UNITS[1])).any():
        strange = (unit < _UNITS[0]) | (unit > _UNITS[1])
        columns.problem(
            f"unit must be between {_UNITS[0]:g} and {_UNITS[1]:g}, so that sizes are numbers of float64; that of "
            f"{columns.first(strange)} is not."
        )
    if lower is not None and upper is not None and (lower > upper).any():
        columns.problem(f"lower is above upper for feature {columns.first(lower > upper)}.")
    groups = read_categories(columns, "free", threat.free, limited=False)
    groups += read_categories(columns, "categories", threat.categories, limited=True)
    categories = _categories(columns, groups, threat, frozen)
    relations = _relations(columns, threat.relations)
    if columns.problems:
        raise ValueError(" ".join(columns.problems))
    if unit is not None and (unit == 1.0).all():
        unit = None
    if categories is not None:  # their values are enumerated, so these columns do not move as numbers
        frozen = np.zeros(n_features, bool) if frozen is None else frozen
        frozen[categories.columns] = True
    if integer is not None and frozen is not None:
        integer = integer & ~frozen
    integer = None if integer is None or not integer.any() else integer
    return Reading(
        Moves(norm, unit, lower, upper, frozen, up, down, relations, integer), categories,
        [columns.name(i) if columns.index else f"feature {i}" for i in range(n_features)],
    )  # fmt: skip


def _categories(columns: Columns, groups: list[Category], threat: "Threat", frozen) -> Categories | None:
    """The categories together; a column twice, a column that is also frozen, and too many choices are problems."""
    most = threat.max_changes
    if most is not None and threat.categories is None:
        columns.problem("max_changes limits the changes of categories=, but that names none.")
    if most is not None and (isinstance(most, bool) or not isinstance(most, int | np.integer) or most < 0):
        columns.problem(f"max_changes must be a whole number of at least 0; got {most!r}.")
        return None
    if not groups:
        return None
    used = np.bincount(np.concatenate([group.columns for group in groups]), minlength=columns.n_features)
    if (used > 1).any():
        columns.problem(f"Column {columns.first(used > 1)} is in two categories.")
    if frozen is not None and (frozen & (used > 0)).any():
        columns.problem(f"Column {columns.first(frozen & (used > 0))} is frozen, and a category that may change.")
    combined = Categories(groups, None if most is None else int(most))
    if combined.count() > LIMIT:
        columns.problem(
            f"The categories have {combined.count():,} combinations a row, more than {LIMIT:,}: free fewer of them, or "
            "limit how many change at once (categories= with max_changes=)."
        )
    return combined


def _relations(columns: Columns, given) -> tuple[np.ndarray, np.ndarray] | None:
    """``A z ≤ b``; an equality is two of them."""
    rows, levels = [], []
    for number, relation in enumerate([] if given is None else given):
        try:
            terms, sense, value = relation
            level = float(value)
            terms = dict(terms)
        except (TypeError, ValueError):
            columns.problem(f'Relation {number} must be ({{column: factor}}, "<=", number); got {relation!r}.')
            continue
        if sense not in _SENSES:
            columns.problem(f"Relation {number} must say one of {', '.join(_SENSES)}; got {sense!r}.")
            continue
        a = columns.values(f"relation {number}", terms, 0.0)
        if a is None or not np.isfinite(a).all() or not np.isfinite(level):
            columns.problem(f"Relation {number} must have finite numbers.")
            continue
        if not a.any():
            columns.problem(f"Relation {number} names no column with a factor other than 0.")
            continue
        if sense in ("<=", "=="):
            rows.append(a)
            levels.append(level)
        if sense in (">=", "=="):
            rows.append(-a)
            levels.append(-level)
    return (np.array(rows), np.array(levels)) if rows else None
