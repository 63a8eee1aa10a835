"""Counterfactuals of the most and the least certain rows, as plain data for a report."""

import numpy as np

from holdfast.explanations.result import Counterfactuals
from holdfast.explanations.text import entry_sentence
from holdfast.numerics.formatting import json_value


def counterfactual_section(found: Counterfactuals, count: int = 3, rows=None) -> dict:
    """Counts, and the answers of chosen rows: those of the smallest and of the largest changes.

    Parameters
    ----------
    found : Counterfactuals
    count : int, default=3
        Rows at each end.
    rows : sequence of int, optional
        Positions of rows to list besides, as a reader picked them.

    Returns
    -------
    dict
        ``rows, answers, closest, impossible, not_found`` (counts), ``norm``, and lists of answers
        ``least_certain, most_certain, picked``: each a dict of row, number, prediction, target, status, size,
        lower_bound, closest, changes (column, from, to) and sentence. All in JSON's own types.
    """
    status = found.status
    first = np.flatnonzero((found.number == 1) & (status == "found"))
    order = first[np.argsort(found.size[first], kind="stable")]
    least = order[:count]
    most = order[count:][::-1][:count]
    picked = np.flatnonzero(np.isin(found.row, [] if rows is None else list(rows)))
    return json_value(
        {
            "rows": len(found.rows),
            "answers": int(found.valid.sum()),
            "closest": int(found.closest.sum()),
            "impossible": int((status == "impossible").sum()),
            "not_found": int((status == "not found").sum()),
            "norm": found.norm,
            "least_certain": [entry_data(found, entry) for entry in least],
            "most_certain": [entry_data(found, entry) for entry in most],
            "picked": [entry_data(found, entry) for entry in picked],
        }
    )


def entry_data(found: Counterfactuals, entry) -> dict:
    """One answer as a dict."""
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
