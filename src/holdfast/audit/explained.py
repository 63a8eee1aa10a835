"""What would have to change for another answer: the closest such change of some test rows of an audit."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from holdfast.audit.progress import StageProgress, no_progress
from holdfast.audit.table_columns import in_table_columns
from holdfast.certificates.certify import DEFAULT_BUDGET
from holdfast.certificates.threat import Threat
from holdfast.certificates.voting import voter_for
from holdfast.explanations import Counterfactuals, counterfactuals
from holdfast.explanations.entry import entry_data
from holdfast.explanations.text import change_text, entry_sentence, proof_text
from holdfast.numerics.formatting import short_name, significant
from holdfast.numerics.frames import with_names
from holdfast.parameters import check_count

if TYPE_CHECKING:
    from holdfast.audit.result import AuditResult

EXPLAINED = 40  # test rows that are explained; each takes about as long as three certificates
ENDS = 3  # rows at each end of certainty that every report lists; readers pick among all that are explained
_VOTERS = 5_000  # reference points up to which it is: with more, a prediction takes too long
_BLOCK = 10  # rows between two reports of progress
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
    """

    key: str
    rows: np.ndarray
    closest: Counterfactuals
    single: Counterfactuals | None
    whole: list[str]
    within_data: bool


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
    data = np.vstack([result.X_train, result.X_test])
    whole = (np.isnan(data) | (data == np.round(data))).all(axis=0) & ~result.frozen
    threat = _threat(result, is_own_model and result.encoder is None, np.flatnonzero(whole))
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
    voters = getattr(voter_for(model, known), "points", ())
    alone = 1 < n_free <= _SINGLE and len(voters) <= _VOTERS
    steps = n * (2 if alone else 1)

    def ask_by_blocks(before: int, **options) -> Counterfactuals:
        parts = []
        for start in range(0, n, _BLOCK):
            progress(stage, before + start, steps)
            block = slice(start, start + _BLOCK)
            parts.append(
                ask(chosen_rows.iloc[block] if hasattr(chosen_rows, "iloc") else chosen_rows[block], **options)
            )
        return Counterfactuals.concatenate(parts)

    closest = ask_by_blocks(0, budget=budget)
    # The searches for each feature alone share what one row may take.
    single = ask_by_blocks(n, max_features=1, budget=budget // n_free) if alone else None
    progress(stage, steps, steps)
    within_data = known is not None or hasattr(model, "reference_")
    names = [short_name(result.feature_names[f]) for f in np.flatnonzero(whole)]
    return Explained(key, chosen, closest, single, names, within_data)


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
        "within_data": explained.within_data,
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
