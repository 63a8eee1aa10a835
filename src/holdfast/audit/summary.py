"""An audit as one dict: everything a report shows."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

import numpy as np
from sklearn.pipeline import Pipeline

from holdfast.audit.accuracy import accuracy_curve, class_table, errors_at, radius_grid, radius_histograms
from holdfast.audit.dependence import dependence_tables
from holdfast.audit.effects import column_effects, column_groups, subgroups
from holdfast.audit.explained import explained_summary
from holdfast.audit.metrics import metrics_and_margins
from holdfast.audit.moves import Listing, feature_moves
from holdfast.audit.scores import (
    chance_of_accuracy,
    chance_of_difference,
    confusion,
    majority_scores,
    round_scores,
    scores,
)
from holdfast.audit.verdict import Compared, Verdict, recommend, verdict
from holdfast.certificates.threat import Threat
from holdfast.numerics.formatting import json_value, short_name, significant
from holdfast.report.summary_format import FORMAT, KIND

if TYPE_CHECKING:
    from holdfast.audit.result import AuditResult

_MAX_NAMES = 40  # frozen features that are listed
_MAX_STEPS = 500  # of a training curve
_MAX_ROWS = 1_200  # test rows whose radii the report holds one by one

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
    models = [
        {"key": key, "method": short_name(result.methods.get(key, key)), "about": str(result.about.get(key, ""))}
        for key in result.models
    ]
    keys = [model["key"] for model in models]
    certificates = {key: result.certificates[key] for key in keys}
    y = np.asarray(result.y_test)
    right = {key: certificate.prediction == y for key, certificate in certificates.items()}
    at_radius = {key: errors_at(result.radius, certificates[key], right[key]) for key in keys}
    scores_by_model = {key: scores(certificates[key], y, result.radius) for key in keys}
    best = recommend(scores_by_model)
    majority = majority_scores(np.asarray(result.y_train), y)
    radii = radius_grid(certificates.values(), result.radius, result.extent or np.inf)
    norm = certificates[best].norm
    verdict = _verdict(result, models, scores_by_model, best, majority)
    listing = Listing(result)
    summary = {
        "kind": KIND,
        "format": FORMAT,
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "data": _data(result),
        "radius": {
            "value": float(result.radius),
            "norm": norm,
            "meaning": _NORMS.get(norm, norm),
            "units": result.units,
        },
        "threat": _threat(result, best),
        "dependence": dependence_tables(result, best),
        "models": models,
        "recommended": best,
        "verdict": verdict.to_dict(),
        "majority": round_scores(majority),
        "scores": {key: round_scores(each) for key, each in scores_by_model.items()},
        "at_radius": at_radius,
        "curve": {
            "radii": significant(radii, 8),
            "at": int(np.searchsorted(radii, result.radius)),
            "models": {key: accuracy_curve(certificates[key], right[key], radii) for key in keys},
        },
        "radii": radius_histograms(certificates, right, radii[-1]),
        **metrics_and_margins(result, keys),
        "effects": column_effects(result, keys),
        "features": feature_moves(result, certificates),
        "predictions": {key: listing.predictions(key, right[key]) for key in keys},
        "far": listing.far(),
        "counterfactuals": explained_summary(result),
        "classes": class_table(y, result.classes, certificates, right, result.radius, best),
        "rows": _rows(result, certificates, right, y),
        "confusion": {key: confusion(y, certificates[key].prediction, result.classes) for key in keys},
        "subgroups": subgroups(result, best),
        "training": {key: _training(result.models[key]) for key in keys},
        "findings": [finding.to_dict() for finding in result.findings],
        "settings": result.settings,
        "versions": result.versions,
        "seconds": {key: significant(value, 4) for key, value in result.seconds.items()},
        "notes": [str(note) for note in result.notes],
    }
    return json_value(summary)


def _verdict(result: "AuditResult", models: list[dict], scores_by_model: dict, best: str, majority: dict) -> Verdict:
    """The verdict, with the chances of differences."""
    y = np.asarray(result.y_test)
    proven = {
        key: (certificate.prediction == y) & (certificate.radius > result.radius)
        for key, certificate in result.certificates.items()
    }
    compared = [
        Compared(m["key"], m["method"], scores_by_model[m["key"]], chance_of_difference(proven[m["key"]], proven[best]))
        for m in models
    ]
    chance = chance_of_accuracy(result.certificates[best].prediction, y)
    return verdict(compared, best, majority, result.radius, len(y), chance, len(np.unique(y)), result.units)


def _rows(result: "AuditResult", certificates: dict, right: dict, y: np.ndarray) -> dict | None:
    """Class and radii of each test row, for the slider; None if there are very many rows."""
    if len(y) > _MAX_ROWS:
        return None
    codes = {label: c for c, label in enumerate(result.classes)}
    return {
        "class": [codes[label] for label in y.tolist()],
        "models": {
            key: {
                "right": [int(ok) for ok in right[key]],
                "radius": significant(certificate.radius, 6),
                "upper": significant(certificate.upper, 6),
            }
            for key, certificate in certificates.items()
        },
    }


def _threat(result: "AuditResult", best: str) -> dict | None:
    """Sentences on what was allowed to move, the threat that was given, and columns that no move changes, with why."""
    if result.allowed is None:
        return None
    given, sentences = result.allowed.given, result.allowed.sentences()
    frozen: dict[str, str] = {}
    for label, why in result.certificates["yours" if "yours" in result.certificates else best].frozen.items():
        feature = label if isinstance(label, int) else result.feature_names.index(str(label))
        column = result.origins[feature] if result.origins else result.feature_names[feature]
        frozen[short_name(column)] = "words" if result.allowed.words[feature] else why
    unread = [name for name, why in frozen.items() if why == "no step reads it"]
    if unread:
        sentences += [
            f"{sentence.removesuffix('.')} the answer: no step of the model reads it."
            for sentence in Threat(frozen=unread).describe()[1:]
        ]
    return {
        "sentences": sentences,
        "given": None if given is None else given.to_dict(),
        "frozen": dict(list(frozen.items())[:_MAX_NAMES]),
    }


def _data(result: "AuditResult") -> dict:
    """Name, size and hash of the data; columns are those of the user's table."""
    columns = column_groups(result)
    still = result.frozen if result.allowed is None else result.allowed.still
    frozen = [name for name, members in columns.items() if still[members].all()]
    return {
        "name": short_name(result.name),
        "target": short_name(result.target),
        "n_train": len(result.X_train) if result.trained_here else 0,
        "n_test": len(result.X_test),
        "n_columns": len(columns),
        "n_features": len(result.feature_names),
        "n_classes": len(result.classes),
        "n_frozen": len(frozen),
        "frozen": [short_name(name) for name in frozen[:_MAX_NAMES]],
        "extent": significant(result.extent, 4),
        "ids": result.test_ids is not None,
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
