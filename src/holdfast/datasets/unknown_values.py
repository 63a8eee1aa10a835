"""Values of new rows that a model was not trained on."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

_MAX_LISTED = 20  # columns that are named in a message

_DESCRIPTIONS = {
    "category": "categories not seen in training",
    "gap": "no value",
    "word": "words instead of numbers",
    "infinite": "infinite numbers",
    "day": "dates far outside those of the training rows",
}


@dataclass(frozen=True, eq=False)
class UnknownValues:
    """The values of one column, all of one kind, that a model was not trained on.

    Attributes
    ----------
    column : str
    kind : {"category", "gap", "word", "infinite", "day"}
    rows : ndarray of int
        Positions of the rows that have such a value, from 0.
    first_row : int
        Number of the first of them in the user's table, from 1.
    example : str or None
        Its value; None for a gap.
    """

    column: str
    kind: str
    rows: np.ndarray
    first_row: int
    example: str | None = None

    def describe(self) -> str:
        """``column 'site' has categories not seen in training in 3 rows, such as 'lake' in row 2``."""
        count = len(self.rows)
        example = f", such as {self.example!r} in" if self.example is not None else ", the first is"
        where = f"{count:,} rows{example} row {self.first_row}" if count > 1 else f"row {self.first_row}"
        if count == 1 and self.example is not None:
            where += f" ({self.example!r})"
        return f"column {self.column!r} has {_DESCRIPTIONS[self.kind]} in {where}"

    def to_dict(self) -> dict:
        """The same for a JSON document."""
        return {
            "column": self.column,
            "kind": self.kind,
            "rows": len(self.rows),
            "first_row": self.first_row,
            "example": self.example,
        }


def describe_all(values: Sequence[UnknownValues]) -> str:
    """All findings in one line; of very many columns, the first ones."""
    text = "; ".join(each.describe() for each in values[:_MAX_LISTED])
    return text + (f"; and {len(values) - _MAX_LISTED} more" if len(values) > _MAX_LISTED else "")


def count_rows(values: Sequence[UnknownValues]) -> int:
    """The number of rows with at least one such value."""
    return len(np.unique(np.concatenate([each.rows for each in values]))) if values else 0
