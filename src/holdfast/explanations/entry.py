"""One answer as plain data, for JSON and for tables."""

from holdfast.explanations.result import Counterfactuals
from holdfast.explanations.text import entry_sentence


def entry_data(found: Counterfactuals, entry) -> dict:
    """One answer as a dict: row, number, prediction, target, status, size, lower_bound, closest, changes, sentence.

    ``changes`` is a list of dicts of column, from and to, the largest change first; empty where there is no answer.
    """
    return {
        "row": found.labels[entry],
        "number": found.number[entry],
        "prediction": found.prediction[entry],
        "target": found.target[entry],
        "status": found.status[entry],
        "size": found.size[entry],
        "lower_bound": found.lower_bound[entry],
        "closest": bool(found.closest[entry]),
        "changes": [{"column": name, "from": old, "to": to} for name, old, to in found.changed(entry)]
        if found.valid[entry]
        else [],
        "sentence": entry_sentence(found, entry),
    }
