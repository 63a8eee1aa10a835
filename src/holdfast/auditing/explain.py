"""Explanations of rows, and dependence on sensitive columns."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from holdfast.auditing.allowed_moves import AllowedMoves, in_table_columns
from holdfast.auditing.prepare import StageProgress, no_progress
from holdfast.auditing.sections import largest_changes, sentence
from holdfast.base.inputs import check_count, with_names
from holdfast.base.text import short_name, significant
from holdfast.certificates.api import DEFAULT_BUDGET
from holdfast.certificates.fairness import Dependence, dependence
from holdfast.certificates.readers import voter_for
from holdfast.certificates.threat import Threat
from holdfast.certificates.threat_text import TRAINING
from holdfast.explanations import Counterfactuals, counterfactuals
from holdfast.explanations.result import change_text, entry_data, entry_sentence, proof_text

if TYPE_CHECKING:
    from holdfast.auditing.result import AuditResult

EXPLAINED = 40  # test rows that are explained; each takes about as long as three certificates
ENDS = 3  # rows at each end of certainty that every report lists; readers pick among all that are explained
_VOTERS = 5_000  # reference points up to which it is: with more, a prediction takes too long
_BLOCK = 4  # rows between two reports of progress: a second or so of searches
_BLOCKS = 200  # that many rows are divided into
_SINGLE = 100  # features up to which a change of one feature alone is looked for: one certificate for each
_SHOWN = 8  # changes of a row in its table
_SAID = 3  # in a sentence


@dataclass(frozen=True, eq=False)
class Explained:
    """Answers to "what would have to change?" for some test rows.

    Attributes
    ----------
    key : str
        The model.
    rows : int ndarray
        Positions of the rows among the test rows, the one that is easiest to change first.
    closest : Counterfactuals
        The smallest change.
    single : Counterfactuals or None
        The smallest change of one feature alone; None if there are very many features or reference points.
    whole : list of str
        Features that stay whole numbers.
    within_data : bool
        Whether values stay within the range of the training rows: if these are known.
    no_single : str
        Why a change of one feature alone was not looked for; empty if it was.
    """

    key: str
    rows: np.ndarray
    closest: Counterfactuals
    single: Counterfactuals | None
    whole: list[str]
    within_data: bool
    no_single: str = ""


def choose_rows(certificate, y: np.ndarray, count: int) -> np.ndarray:
    """Which rows to explain: a quarter from each end of certainty, then wrong ones, then others, evenly.

    Returns
    -------
    int ndarray
        Positions, the least certain first.
    """
    order = np.lexsort((certificate.upper, certificate.radius))
    if len(order) <= count or not count:
        return order[:count]
    quarter = max(count // 4, 1)
    place = np.zeros(len(order), bool)  # in the order of certainty
    place[:quarter] = place[len(order) - quarter :] = True
    wrong = np.flatnonzero((certificate.prediction != y)[order] & ~place)
    place[wrong[: min(quarter, count - place.sum())]] = True
    rest = np.flatnonzero(~place)
    place[rest[np.linspace(0, len(rest) - 1, max(count - place.sum(), 0)).round().astype(int)]] = True
    return order[place]


def picked_rows(result: "AuditResult", picked: Sequence, order: np.ndarray) -> np.ndarray:
    """Positions of test rows that are named by their number in the table, or by their name."""
    names = {str(name): t for t, name in enumerate([] if result.test_ids is None else result.test_ids)}
    numbers = np.arange(1, len(result.y_test) + 1) if result.test_rows is None else result.test_rows
    places = {str(number): t for t, number in enumerate(numbers.tolist())} | names
    unknown = [str(row) for row in picked if str(row) not in places]
    if unknown:
        raise ValueError(
            f"Only test rows are explained, and {', '.join(unknown[:5])}{', …' if len(unknown) > 5 else ''} "
            f"{'is none' if len(unknown) == 1 else 'are none'} of them: holdfast explain answers for any row."
        )
    wanted = {places[str(row)] for row in picked}
    return np.array([t for t in order if t in wanted], dtype=np.int64)


def explain_rows(
    result: "AuditResult",
    rows: int | Sequence = EXPLAINED,
    *,
    reference=None,
    budget: int = DEFAULT_BUDGET,
    n_jobs: int | None = None,
    progress: StageProgress = no_progress,
) -> Explained | None:
    """The closest changes of some test rows, by the model that is recommended, or by the user's own.

    What is possible is what the threat of the audit allows. Besides, numbers stay within the range of the training
    rows, if these are known, and whole numbers stay whole.

    Parameters
    ----------
    result : AuditResult
    rows : int or sequence
        How many rows, or which: their numbers or names in the table. 0 explains none.
    reference : tuple, optional
        The rows a model of the user's was trained on, as it takes them.
    budget, n_jobs
        As for :func:`holdfast.counterfactuals`.
    progress : callable, optional
    """
    key = "yours" if "yours" in result.models else result.recommended
    certificate, y = result.certificates[key], np.asarray(result.y_test)
    if isinstance(rows, int | np.integer):
        check_count("audit", "explain", rows, at_least=0)
        chosen = choose_rows(certificate, y, int(rows))
    else:
        chosen = picked_rows(result, rows, choose_rows(certificate, y, len(y)))
    if not len(chosen):
        return None
    stage = f"Explaining: {result.methods.get(key, key)}"
    model, is_own_model = result.models[key], key == "yours"
    test_rows = result.X_test if result.rows_given is None or not is_own_model else result.rows_given
    known = reference if is_own_model else (with_names(result.X_train, model), result.y_train)
    whole = _whole_columns(result)
    by_name = is_own_model and result.encoder is None and getattr(model, "feature_names_in_", None) is not None
    threat = _threat(result, by_name, np.flatnonzero(whole))
    chosen_rows = test_rows.iloc[chosen] if hasattr(test_rows, "iloc") else with_names(test_rows[chosen], model)

    def ask(rows, **options) -> Counterfactuals:
        answers = counterfactuals(model, rows, threat=threat, reference=known, n_jobs=n_jobs, **options)
        if key != "yours" or result.encoder is not None:
            names = list(result.feature_names)
            answers = (
                replace(answers, columns=names) if result.encoder is None else in_table_columns(answers, result.encoder)
            )
        names = [short_name(name) for name in answers.columns]
        return replace(answers, columns=names, prediction=_short(answers.prediction), target=_short(answers.target))

    n, n_free = len(chosen), int((~result.frozen).sum())
    no_single = _no_single(n_free, len(getattr(voter_for(model, known), "points", ())))
    alone = n_free > 1 and not no_single
    steps = n * (2 if alone else 1)

    def ask_all(before: int, **options) -> Counterfactuals:
        return in_blocks(
            lambda block: ask(block, **options), chosen_rows, lambda done: progress(stage, before + done, steps)
        )

    closest = ask_all(0, budget=budget)
    # The searches for each feature alone share what one row may take.
    single = ask_all(n, max_features=1, budget=budget // n_free) if alone else None
    within_data = known is not None or hasattr(model, "reference_")
    names = [short_name(result.feature_names[f]) for f in np.flatnonzero(whole)]
    return Explained(key, chosen, closest, single, names, within_data, no_single)


def in_blocks(ask: Callable, rows, report: Callable[[int], None]) -> Counterfactuals:
    """The answers of ``ask`` about a few rows at a time, as one; ``report`` gets the number of rows done."""
    size = max(_BLOCK, len(rows) // _BLOCKS)
    parts = []
    for start in range(0, len(rows), size):
        report(start)
        parts.append(ask((rows.iloc if hasattr(rows, "iloc") else rows)[start : start + size]))
    report(len(rows))
    return Counterfactuals.concatenate(parts)


def _no_single(n_free: int, n_voters: int) -> str:
    """Why a change of one feature alone is not looked for; empty if it is."""
    if n_voters > _VOTERS:
        return f"the model votes among {n_voters:,} rows, more than {_VOTERS:,}"
    return f"there are {n_free:,} columns that can move, more than {_SINGLE}" if n_free > _SINGLE else ""


def _whole_columns(result: "AuditResult") -> np.ndarray:
    """A mask of the columns that hold whole numbers: in the rows of training, if these or their encoder are known."""
    if result.encoder is not None and not result.trained_here:
        return np.isin(result.feature_names, result.encoder.how_read.whole) & ~result.frozen
    data = np.vstack([result.X_train, result.X_test])
    return (np.isnan(data) | (data == np.round(data))).all(axis=0) & ~result.frozen


def _threat(result: "AuditResult", as_given: bool, whole: np.ndarray) -> Threat:
    """What was allowed to move in the audit, whole numbers as whole numbers, whatever the class."""
    if result.allowed is None:
        threat = Threat(unit=result.scale, frozen=result.frozen if result.frozen.any() else None)
    else:
        threat = result.allowed.threat if as_given else result.allowed.numbered
    integer = whole.tolist() if threat.integer is None and whole.size else threat.integer
    return Threat(**threat.get_params() | {"classes": None, "integer": integer})


def _short(labels: np.ndarray) -> np.ndarray:
    """Labels as lines of text; None stays."""
    return np.array([None if label is None else short_name(label) for label in labels.tolist()], dtype=object)


def explained_summary(result: "AuditResult") -> dict | None:
    """What the report shows of the explained rows, in JSON's types after ``json_value``; None if there are none."""
    explained = result.explained
    if explained is None:
        return None
    closest, single = explained.closest, explained.single
    status, certificate = closest.status, result.certificates[explained.key]
    numbers, ids = result.test_rows, result.test_ids
    rows = []
    for place, t in enumerate(explained.rows.tolist()):
        entry = entry_data(closest, place)
        rows.append(
            {
                "row": t + 1 if numbers is None else int(numbers[t]),
                "id": None if ids is None else short_name(ids[t]),
                "prediction": entry["prediction"],
                "true": short_name(result.y_test[t]),
                "right": bool(certificate.prediction[t] == result.y_test[t]),
                "target": entry["target"],
                "status": entry["status"],
                "size": entry["size"],
                "lower_bound": entry["lower_bound"],
                "closest": entry["closest"],
                "changes": _changes(closest, place),
                "others": max(len(entry["changes"]) - _SHOWN, 0),
                "sentence": entry_sentence(closest, place, _SAID),
                "change": change_text(closest, place, _SAID),
                "proof": proof_text(closest, place),
                "single": None if single is None else _single(single, place),
            }
        )
    n = len(rows)
    return {
        "model": explained.key,
        "of": len(result.y_test),
        "norm": closest.norm,
        "units": result.units,
        "rounding": closest.rounding,
        "answers": int(closest.valid.sum()),
        "closest": int(closest.closest.sum()),
        "impossible": int((status == "impossible").sum()),
        "not_found": int((status == "not found").sum()),
        "whole": explained.whole,
        "whole_in": TRAINING if result.trained_here or result.encoder is not None else "these rows",
        "within_data": explained.within_data,
        "no_single": explained.no_single,
        "least": list(range(min(ENDS, n))),
        "most": list(range(max(n - ENDS, min(ENDS, n)), n))[::-1],
        "rows": rows,
    }


def _changes(closest: Counterfactuals, place: int) -> list[dict]:
    """The largest changes of one answer, with their sizes in units."""
    if not closest.valid[place]:
        return []
    moved = zip(closest.changed(place)[:_SHOWN], closest.moved(place)[:_SHOWN], strict=True)
    return [{"feature": name, "from": old, "to": to, "way": significant(way, 4)} for (name, old, to), (_, way) in moved]


def _single(single: Counterfactuals, place: int) -> dict:
    """The smallest change of one feature alone."""
    entry = entry_data(single, place)
    fields = {key: entry[key] for key in ("status", "size", "lower_bound", "closest", "changes")}
    alone = "change of one column alone"
    impossible = entry["status"] == "impossible"
    text = proof_text(single, place, alone) if impossible else f"in one column alone: {change_text(single, place)}"
    return fields | {"sentence": text}


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
        done, stage = 0, f"Does the answer depend on {column}?"
        for key, model in models.items():
            rows, as_given, own_options = rows_of(key)
            picked = np.unique(np.linspace(0, len(rows) - 1, min(len(rows), _MAX_ROWS)).round().astype(int))
            known = freed.with_values(values)
            threat = known.threat if as_given else known.numbered
            on = threat.free
            base = Threat(**threat.get_params() | {"free": None})
            sample = rows.iloc[picked] if hasattr(rows, "iloc") else rows[picked]
            steps = len(models) * (len(rows) + len(sample))
            progress(stage, done, steps)
            for table, shown, at in ((alone, rows, 0.0), (within, sample, radius)):
                report = partial(_report, progress, stage, done, steps)
                answer = dependence(model, shown, on, at=at, threat=base, progress=report, **own_options, **options)
                done += len(shown)
                table[key] = replace(answer, columns=[column], tried=[_tried(answer, known, column)])
        answers.append(ColumnDependence(column, alone, within, picked))
    return answers


def _report(progress: Callable, stage: str, before: int, steps: int, done: int, _: int) -> None:
    """So many rows of one part of a stage are done."""
    progress(stage, before + done, steps)


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
