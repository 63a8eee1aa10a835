"""Counterfactuals of encoded rows in the columns of the table: a category changes from one word to another."""

from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.audit.allowed_moves import category_groups
from holdfast.audit.category_cells import category_of
from holdfast.explanations import Counterfactuals


def in_table_columns(answers: Counterfactuals, encoder) -> Counterfactuals:
    """The same answers, their columns those of the table that the encoder took.

    Parameters
    ----------
    answers : Counterfactuals
        Of rows as the encoder makes them.
    encoder : TableEncoder
    """
    from pandas import DataFrame  # installed: the encoder took a table

    groups, origins = category_groups(encoder), encoder.origins()
    columns = list(dict.fromkeys(origins))
    first = np.array([origins.index(name) for name in columns])
    recoded = np.zeros((len(answers), len(columns)), bool)
    before: dict[str, Any] = {}
    after: dict[str, Any] = {}
    for c, name in enumerate(columns):
        if name not in groups:
            before[name], after[name] = answers.rows[:, first[c]], answers.values[:, first[c]]
            continue
        members = groups[name]
        there = answers.valid & np.isfinite(answers.values[:, members]).all(axis=1)
        changed = (answers.values[:, members] != answers.rows[answers.row][:, members]).any(axis=1)
        recoded[:, c] = there & changed
        known = encoder.categories_[name]
        before[name] = [category_of(row[members], known) for row in answers.rows]
        after[name] = [
            category_of(row[members], known) if ok else None for row, ok in zip(answers.values, there, strict=True)
        ]
    numbers = np.array([name not in groups for name in columns])
    values, rows = (np.where(numbers, each[:, first], 0.0) for each in (answers.values, answers.rows))
    values[~answers.valid] = np.nan
    return replace(
        answers,
        points=DataFrame(after, columns=columns),
        original=DataFrame(before, columns=columns),
        values=values,
        rows=rows,
        columns=columns,
        unit=None if answers.unit is None else answers.unit[first],
        recoded=recoded,
    )
