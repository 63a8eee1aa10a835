"""The moves that change answers: how far they move each feature, and those of single predictions."""

from typing import TYPE_CHECKING

import numpy as np

from holdfast.audit.changes import largest_changes, sentence
from holdfast.numerics.formatting import short_name, significant
from holdfast.numerics.frames import with_names

if TYPE_CHECKING:
    from holdfast.audit.result import AuditResult

_MAX_FEATURES = 40  # in the table
_LISTED = 8  # predictions easiest to change, and as many hardest


def feature_moves(result: "AuditResult", certificates: dict) -> dict:
    """Mean size of the shortest moves found, feature by feature; the features that move most come first."""
    moves, models = [], {}
    for certificate in certificates.values():
        attacked = np.isfinite(certificate.adversarial).all(axis=1)
        move = np.abs(certificate.adversarial[attacked] - result.X_test[attacked])
        moves.append((move, move / result.scale))
    reach = np.max([sd.mean(axis=0) if len(sd) else np.zeros(sd.shape[1]) for _, sd in moves], axis=0)
    shown = np.argsort(-reach, kind="stable")[:_MAX_FEATURES]
    for key, (move, sd) in zip(certificates, moves, strict=True):
        if not len(move):
            models[key] = {"rows": 0, "raw": None, "sd": None, "share": None}
            continue
        square = sd**2
        share = square / np.maximum(square.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        models[key] = {
            "rows": len(move),
            "raw": significant(move.mean(axis=0)[shown], 4),
            "sd": significant(sd.mean(axis=0)[shown], 4),
            "share": significant(share.mean(axis=0)[shown], 4),
        }
    return {
        "features": [short_name(result.feature_names[f]) for f in shown],
        "frozen": [bool(result.frozen[f]) for f in shown],
        "left_out": len(result.feature_names) - shown.size,
        "models": models,
    }


def listed_predictions(result: "AuditResult", key: str, right: np.ndarray) -> dict:
    """The predictions of a model that are easiest and hardest to change."""
    certificate = result.certificates[key]
    order = np.lexsort((certificate.upper, certificate.radius))
    least, most = order[:_LISTED], order[::-1][: min(_LISTED, max(0, order.size - _LISTED))]
    return {
        "least": [_prediction(result, key, right, int(row)) for row in least],
        "most": [_prediction(result, key, right, int(row)) for row in most],
    }


def _prediction(result: "AuditResult", key: str, right: np.ndarray, row: int) -> dict:
    """One prediction, its radii, and the move that changes it."""
    certificate, model = result.certificates[key], result.models[key]
    witness = certificate.adversarial[row]
    listed, others = largest_changes(result.X_test[row], witness, result.feature_names, result.scale)
    becomes = short_name(model.predict(with_names(witness[None], model))[0]) if listed else None
    return {
        "row": row,
        "prediction": short_name(certificate.prediction[row]),
        "true": short_name(result.y_test[row]),
        "right": bool(right[row]),
        "radius": certificate.radius[row],
        "upper": certificate.upper[row],
        "becomes": becomes,
        "changes": listed,
        "others": others,
        "sentence": sentence(listed),
    }
