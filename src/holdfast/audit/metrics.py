"""The learned metrics of an audit, and the adversarial margins under them."""

from typing import TYPE_CHECKING

import numpy as np
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline

from holdfast.audit.accuracy import median
from holdfast.certificates.voting import NeighborVoter, voter_for
from holdfast.learn import Euclidean
from holdfast.numerics.formatting import short_name, significant
from holdfast.numerics.frames import with_names
from holdfast.report.model_metrics import input_margins, input_metric

if TYPE_CHECKING:
    from holdfast.audit.result import AuditResult

_MAX_FEATURES = 40  # in the heat map
_BINS = 30


def metrics_and_margins(result: "AuditResult", keys: list[str]) -> dict:
    """``{"margins": ..., "metric": ...}`` of the models that are votes of points; None where no model is."""
    frozen = np.asarray(result.frozen, dtype=bool)
    matrices, margins = {}, {}
    for key in keys:
        takes_table = result.rows_given is not None and key in result.given_to  # then X_train holds codes of words
        known = (with_names(result.X_train, result.models[key]), result.y_train) if result.trained_here else None
        known = None if takes_table else known
        voter = _as_vote(result.models[key], known)
        if voter is not None:
            matrices[key] = input_metric(voter, result.scale)
            row_margins = None
            if voter.encoding.keeps_rows:  # a margin is of rows of numbers
                row_margins = input_margins(voter, result.X_test, np.asarray(result.y_test), result.scale, frozen)
            if row_margins is not None:
                margins[key] = row_margins
    learned = {key: M for key, M in matrices.items() if _is_learned(result.models[key])}
    matrices = learned or matrices  # beside a learned one, the plain distance says nothing
    return {"margins": _margin_histograms(margins), "metric": _heat_maps(matrices, result)}


def _as_vote(model, reference) -> NeighborVoter | None:
    """The model as a vote among points; None if it is none."""
    try:
        voter = voter_for(model, reference)
    except (TypeError, ValueError):
        return None
    if not isinstance(voter, NeighborVoter) or voter.encoding.warps:  # behind a monotone map there is no one matrix
        return None
    return voter


def _margin_histograms(margins: dict[str, np.ndarray]) -> dict | None:
    """Histograms on common edges; the outermost bins also hold what lies beyond them."""
    if not margins:
        return None
    all_margins = np.concatenate(list(margins.values()))
    low, high = min(np.quantile(all_margins, 0.01), 0.0), max(np.quantile(all_margins, 0.99), 0.0)
    if low == high:
        low, high = -1.0, 1.0
    width = (high - low) / _BINS
    edges = np.arange(np.floor(low / width), np.ceil(high / width) + 1) * width  # 0 is an edge
    models = {
        key: {
            "counts": np.histogram(np.clip(margin, edges[0], edges[-1]), edges)[0],
            "median": median(margin),
            "positive": float((margin > 0).mean()),
        }
        for key, margin in margins.items()
    }
    return {"edges": significant(edges), "models": models}


def _is_learned(model) -> bool:
    """False for the plain distance."""
    last = model[-1] if isinstance(model, Pipeline) else model
    return not isinstance(getattr(last, "learner_", None), Euclidean) and not isinstance(last, KNeighborsClassifier)


def _heat_maps(matrices: dict[str, np.ndarray], result: "AuditResult") -> dict | None:
    """``M / tr M`` over the features that may move and have most weight, and the spectra."""
    movable = np.flatnonzero(~np.asarray(result.frozen, dtype=bool))
    if not matrices or not movable.size:
        return None
    names = [result.feature_names[f] for f in movable]
    matrices = {key: M[np.ix_(movable, movable)] for key, M in matrices.items()}
    scaled = {key: M / (np.trace(M) or 1.0) for key, M in matrices.items()}
    weight = np.max([np.diag(M) for M in scaled.values()], axis=0)
    shown = np.argsort(-weight, kind="stable")[:_MAX_FEATURES]
    models = {}
    for key, M in scaled.items():
        values = np.maximum(np.linalg.eigvalsh(M)[::-1], 0.0)
        models[key] = {
            "trace": significant(np.trace(matrices[key])),
            "matrix": significant(M[np.ix_(shown, shown)], 3),
            "weights": significant(np.diag(M)[shown], 4),
            "spectrum": significant(values[:_MAX_FEATURES], 4),
            # Participation ratio (Σλ)² / Σλ²: the number of equal eigenvalues with the same spread.
            "effective": significant(values.sum() ** 2 / (values @ values), 4) if values.any() else None,
        }
    return {
        "features": [short_name(names[f]) for f in shown],
        "left_out": len(names) - shown.size,
        "models": models,
    }
