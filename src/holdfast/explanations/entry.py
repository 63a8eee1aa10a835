"""One answer as plain data, for JSON and for tables."""

from holdfast.explanations.result import Counterfactuals
from holdfast.explanations.text import entry_sentence


def entry_data(answers: Counterfactuals, entry) -> dict:
    """One answer as a dict: row, number, prediction, target, status, size, lower_bound, closest, changes, sentence.

    ``changes`` is a list of dicts of column, from and to, the largest change first; empty where there is no answer.
    """
    return {
        "row": answers.labels[entry],
        "number": answers.number[entry],
        "prediction": answers.prediction[entry],
        "target": answers.target[entry],
        "status": answers.status[entry],
        "size": answers.size[entry],
        "lower_bound": answers.lower_bound[entry],
        "closest": bool(answers.closest[entry]),
        "changes": [{"column": name, "from": old, "to": to} for name, old, to in answers.changed(entry)]
        if answers.valid[entry]
        else [],
        "sentence": entry_sentence(answers, entry),
    }
