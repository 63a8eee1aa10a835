"""An audit as one dict: everything a report shows."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from sklearn.pipeline import Pipeline

from holdfast.audit.accuracy import (
    accuracy_curve,
    chance_of_difference,
    class_table,
    errors_at,
    radius_grid,
    radius_histograms,
)
from holdfast.audit.metrics import metrics_and_margins
from holdfast.audit.moves import feature_moves, listed_predictions
from holdfast.audit.verdict import verdict
from holdfast.numerics.formatting import json_value, short_name, significant
from holdfast.report.summary_format import FORMAT, KIND

if TYPE_CHECKING:
    from holdfast.audit.result import AuditResult

_MAX_NAMES = 40  # frozen features that are listed
_MAX_STEPS = 500  # of a training curve

_NORMS = {
    "ellipsoid": "the root of the sum of squares over all features",
    "l2": "the root of the sum of squares over all features",
    "linf": "the largest change of any one feature",
    "l1": "the sum of the changes of all features",
}


def summarise(result: "AuditResult") -> dict:
    """Everything a report shows, as one dict of JSON types.

    Parameters
    ----------
    result : AuditResult

    Returns
    -------
    dict
        Its size is bounded whatever the number of rows and features. Values that are not finite are None.
        ``certified_error`` is the share of test rows that are wrong or not proven to stay right within the
        radius, ``attacked_error`` of those that are wrong or were found to change, ``clean_error`` of those
        that are wrong: ``clean ≤ attacked ≤ certified`` at every radius, and the error under the worst
        attack lies between the last two.
    """
    models = [{"key": key, "method": short_name(result.methods.get(key, key))} for key in result.models]
    keys = [model["key"] for model in models]
    certificates = {key: result.certificates[key] for key in keys}
    y = np.asarray(result.y_test)
    right = {key: certificate.prediction == y for key, certificate in certificates.items()}
    at_radius = {key: errors_at(result.radius, certificates[key], right[key]) for key in keys}
    radii = radius_grid(certificates.values(), result.radius)
    norm = certificates[keys[-1]].norm
    p_value = chance_of_difference(certificates, right, result.radius)
    summary = {
        "kind": KIND,
        "format": FORMAT,
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "data": _data(result),
        "radius": {"value": float(result.radius), "norm": norm, "meaning": _NORMS.get(norm, norm)},
        "models": models,
        "verdict": verdict(models, at_radius, result.radius, p_value),
        "at_radius": at_radius,
        "curve": {
            "radii": significant(radii, 8),
            "at": int(np.searchsorted(radii, result.radius)),
            "models": {key: accuracy_curve(certificates[key], right[key], radii) for key in keys},
        },
        "radii": radius_histograms(certificates, right, radii[-1]),
        **metrics_and_margins(result, keys),
        "features": feature_moves(result, certificates),
        "predictions": {key: listed_predictions(result, key, right[key]) for key in keys},
        "classes": class_table(y, result.classes, certificates, right, result.radius),
        "training": {key: _training(result.models[key]) for key in keys},
        "settings": result.settings,
        "versions": result.versions,
        "seconds": {key: significant(value, 4) for key, value in result.seconds.items()},
        "notes": [str(note) for note in result.notes],
    }
    return json_value(summary)


def _data(result: "AuditResult") -> dict:
    """Name, size and hash of the data."""
    frozen = np.flatnonzero(result.frozen)
    return {
        "name": short_name(result.name),
        "target": short_name(result.target),
        "n_train": len(result.X_train),
        "n_test": len(result.X_test),
        "n_features": len(result.feature_names),
        "n_classes": len(result.classes),
        "n_frozen": frozen.size,
        "frozen": [short_name(result.feature_names[f]) for f in frozen[:_MAX_NAMES]],
        "hash": result.data_hash,
    }


def _training(model) -> dict | None:
    """The objective of the learner, iteration by iteration."""
    trace = _objective_trace(model)
    if trace is None:
        return None
    shown = np.unique(np.linspace(0, trace.size - 1, min(trace.size, _MAX_STEPS)).round().astype(int))
    return {"iteration": shown, "objective": significant(trace[shown], 6)}


def _objective_trace(model) -> np.ndarray | None:
    """``objective_`` of the learner inside a pipeline or classifier, if it has one."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    for step in reversed(steps):
        estimator = step
        while estimator is not None:
            trace = getattr(estimator, "objective_", None)
            if trace is not None and np.size(trace) > 1:
                return np.asarray(trace, dtype=np.float64).ravel()
            estimator = getattr(estimator, "learner_", None)
    return None
