"""Does the answer depend on a sensitive column? Asked of every model of an audit."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from holdfast.audit.allowed_moves import AllowedMoves
from holdfast.audit.changes import largest_changes, sentence
from holdfast.certificates.fairness import Dependence, dependence
from holdfast.certificates.threat import Threat
from holdfast.certificates.threat_words import TRAINING
from holdfast.numerics.formatting import short_name

if TYPE_CHECKING:
    from holdfast.audit.result import AuditResult

_MAX_ROWS = 300  # of the test in which the numbers move too: every value of the column is a search of its own
_EXAMPLES = 3  # changed rows that are shown


@dataclass(frozen=True, eq=False)
class ColumnDependence:
    """For which rows the answers of the models depend on one column.

    Attributes
    ----------
    column : str
    alone : dict of str to Dependence
        By model; nothing but the column changes.
    within : dict of str to Dependence
        By model; other features move besides, by up to the radius.
    rows : ndarray of int
        The test rows that ``within`` is about.
    """

    column: str
    alone: dict[str, Dependence]
    within: dict[str, Dependence]
    rows: np.ndarray


def sensitive_columns(allowed: AllowedMoves, listed: Sequence[str]) -> list[str]:
    """The columns that are asked about: those that are listed, or else those that the threat frees."""
    known = [*dict.fromkeys([*allowed.groups, *allowed.names])]
    wrong = [name for name in listed if name not in known]
    if wrong:
        raw = [name for name in known if not any(name.startswith(f"{column}=") for column in allowed.groups)]
        raise ValueError(
            f"sensitive names {', '.join(map(repr, wrong))}, but the columns are {', '.join(raw[:8])}"
            f"{', …' if len(raw) > 8 else ''}."
        )
    if listed:
        return list(listed)
    free = allowed.threat.free
    return [] if free is None else [name for name in allowed.changing if name in map(str, free)]


def ask_dependence(
    models: dict, columns: Sequence[str], allowed: AllowedMoves, rows_of: Callable, values: np.ndarray, radius: float,
    progress: Callable, **options,
) -> list[ColumnDependence]:  # fmt: skip
    """Ask every model about every column.

    Parameters
    ----------
    models : dict
    columns : sequence of str
    allowed : AllowedMoves
    rows_of : callable
        Key of a model -> its test rows, whether they are as the user gave them, and its own options of ``certify``.
    values : ndarray of shape (n_rows, n_features)
        Rows of training, for the values of a column of numbers.
    radius : float
        By how much other features may move.
    progress : callable
    **options
        Of :func:`holdfast.certify`.
    """
    answers = []
    for column in columns:
        freed = allowed.with_free(column)
        alone: dict[str, Dependence] = {}
        within: dict[str, Dependence] = {}
        picked = np.empty(0, np.int64)
        for done, (key, model) in enumerate(models.items()):
            progress(f"Does the answer depend on {column}?", done, len(models))
            rows, as_given, own_options = rows_of(key)
            picked = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MAX_ROWS)).round().astype(int))
            known = freed.with_values(values)
            threat = known.threat if as_given else known.numbered
            on = threat.free
            base = Threat(**threat.get_params() | {"free": None})
            sample = rows.iloc[picked] if hasattr(rows, "iloc") else rows[picked]
            for table, shown, at in ((alone, rows, 0.0), (within, sample, radius)):
                answer = dependence(model, shown, on, at=at, threat=base, **own_options, **options)
                table[key] = replace(answer, columns=[column], tried=[_tried(answer, known, column)])
        answers.append(ColumnDependence(column, alone, within, picked))
    return answers


def _tried(answer: Dependence, known: AllowedMoves, column: str) -> str:
    """The values of a column that were tried, and where they are from."""
    rows = TRAINING if known.words[known.members(column)].all() else known.values_in
    (tried,) = answer.tried
    return tried.replace(" given", f" in {rows}")


def dependence_tables(result: "AuditResult", best: str) -> list[dict]:
    """Tables for the report: shares by column and model, and examples of the recommended model."""
    tables = []
    for each in result.dependence:
        models = {
            key: {"alone": _shares(each.alone[key]), "within": _shares(each.within[key])} for key in result.models
        }
        tables.append(
            {
                "column": short_name(each.column),
                "values": each.alone[best].tried[0],
                "at": float(result.radius),
                "models": models,
                "sentences": _sentences(each, best, result),
                "examples": _examples(each, best, result),
            }
        )
    return tables


def _shares(answer: Dependence) -> dict:
    shares = answer.to_dict()
    return {kind: shares[kind] for kind in ("rows", "independent", "dependent", "undecided")}


def _sentences(each: ColumnDependence, best: str, result: "AuditResult") -> list[str]:
    """Both answers of the recommended model."""
    alone, within = each.alone[best].sentences(), each.within[best].sentences()
    moved = f", with other features changed by up to {result.radius:g}"
    return [
        *alone, *(line.replace(moved, f"{moved} {result.units}") for line in within if "alone is enough" not in line)
    ]  # fmt: skip


def _examples(each: ColumnDependence, best: str, result: "AuditResult") -> list[dict]:
    """Rows whose answer changes with the column alone; if there are none, with moves besides."""
    rows = np.arange(len(result.X_test))
    for answer, of in ((each.alone[best], rows), (each.within[best], each.rows)):
        changed = [k for k, verdict in enumerate(answer.certificate.stable.tolist()) if verdict is False][:_EXAMPLES]
        if changed:
            return [_example(answer, k, int(of[k]), result, best) for k in changed]
    return []


def _example(answer: Dependence, k: int, row: int, result: "AuditResult", best: str) -> dict:
    witness = result.as_numbers(best, answer.certificate.adversarial[k : k + 1], np.array([row]))[0]
    categories, rest = result.changed_categories(row, witness)
    numbers, others = largest_changes(result.X_test[row], rest, result.feature_names, result.scale)
    ids, listed = result.test_ids, result.test_rows
    return {
        "row": row + 1 if listed is None else int(listed[row]),
        "id": None if ids is None else short_name(ids[row]),
        "prediction": short_name(answer.certificate.prediction[k]),
        "becomes": short_name(result.predict(best, witness[None], np.array([row]))[0]),
        "sentence": sentence([*categories, *numbers]),
        "others": others,
    }
