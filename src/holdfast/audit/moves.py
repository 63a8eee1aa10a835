"""The moves that change answers: how far they move each feature, and those of single predictions."""

from typing import TYPE_CHECKING

import numpy as np

from holdfast.audit.changes import ColumnRange, largest_changes, sentence
from holdfast.audit.distance import data_distance, filled, voting_rows
from holdfast.numerics.formatting import short_name, significant

if TYPE_CHECKING:
    from holdfast.audit.result import AuditResult

_MAX_FEATURES = 40  # in the table
_LISTED = 8  # predictions easiest to change, and as many hardest
_MAX_FAR = 20  # rows far from the data that are listed


def feature_moves(result: "AuditResult", certificates: dict) -> dict:
    """Mean size of the shortest moves found, feature by feature; the features that move most come first."""
    moves, models = [], {}
    for certificate in certificates.values():
        attacked = np.isfinite(certificate.upper)
        move = np.nan_to_num(np.abs(certificate.adversarial[attacked] - result.X_test[attacked]))  # gaps stay
        moves.append((move, move / result.scale))
    movable = ~np.asarray(result.frozen, dtype=bool)
    reach = np.max([sd.mean(axis=0) if len(sd) else np.zeros(sd.shape[1]) for _, sd in moves], axis=0)
    shown = np.array([f for f in np.argsort(-reach, kind="stable") if movable[f]], dtype=int)[:_MAX_FEATURES]
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
        "left_out": int(movable.sum()) - shown.size,
        "models": models,
    }


class Listing:
    """Descriptions of single predictions of an audit; what all models share is computed once.

    Parameters
    ----------
    result : AuditResult
    """

    def __init__(self, result: "AuditResult"):
        self.result = result
        self.extent = result.extent
        self.distance = None
        if result.trained_here:
            words = {k: known for k, known in result.words.items() if not result.encoder}
            self.distance = data_distance(*filled(result.X_train / result.scale, result.X_test / result.scale, words))
        ranges = np.vstack([result.X_train, result.X_test])
        self.ranges = [ColumnRange.of(column) for column in ranges.T]

    def predictions(self, key: str, right: np.ndarray) -> dict:
        """The predictions of a model that are easiest and hardest to change."""
        certificate = self.result.certificates[key]
        order = np.lexsort((certificate.upper, certificate.radius))
        least, most = order[:_LISTED], order[::-1][: min(_LISTED, max(0, order.size - _LISTED))]
        return {
            "least": [self._prediction(key, right, int(row)) for row in least],
            "most": [self._prediction(key, right, int(row)) for row in most],
        }

    def far(self) -> dict | None:
        """The number of test rows that lie outside the data, and the rows."""
        if self.distance is None:
            return None
        rows = np.flatnonzero(self.distance.far)
        order = rows[np.argsort(-self.distance.distance[rows], kind="stable")][:_MAX_FAR]
        return {
            "count": int(rows.size),
            "usual": significant(self.distance.usual, 4),
            "rows": [{**self._where(int(r)), "distance": significant(self.distance.distance[r], 4)} for r in order],
        }

    def _where(self, row: int) -> dict:
        """The number and the name of a test row in the user's table."""
        numbers, ids = self.result.test_rows, self.result.test_ids
        return {
            "row": row + 1 if numbers is None else int(numbers[row]),
            "id": None if ids is None else short_name(ids[row]),
        }

    def _prediction(self, key: str, right: np.ndarray, row: int) -> dict:
        """One prediction, its radii, its neighbours, and the move that changes it."""
        result = self.result
        certificate = result.certificates[key]
        witness = certificate.adversarial[row]
        attacked = np.isfinite(certificate.upper[row])
        categories, rest = result.changed_categories(row, witness) if attacked else ([], witness)
        numbers, others = largest_changes(
            result.X_test[row], rest, result.feature_names, result.scale, ranges=self.ranges
        )
        listed = [*categories, *numbers]
        becomes = short_name(result.predict(key, witness[None], np.array([row]))[0]) if listed else None
        return {
            **self._where(row),
            "prediction": short_name(certificate.prediction[row]),
            "true": short_name(result.y_test[row]),
            "right": bool(right[row]),
            "radius": certificate.radius[row],
            "upper": certificate.upper[row],
            "beyond": bool(certificate.radius[row] > self.extent),
            "far": None if self.distance is None else bool(self.distance.far[row]),
            "neighbors": self._neighbors(key, row),
            "becomes": becomes,
            "changes": listed,
            "others": others,
            "sentence": sentence(listed),
        }

    def _neighbors(self, key: str, row: int) -> list[dict]:
        """The training rows that voted, by number and label; none if the model does not vote, or they are unknown."""
        result = self.result
        if not result.trained_here or result.train_rows is None:
            return []
        voters = voting_rows(result.models[key], result.X_test[row][None])
        if voters is None or len(result.models[key][-1].reference_) != len(result.X_train):
            return []
        ids = result.train_ids
        return [
            {
                "row": int(result.train_rows[j]),
                "id": None if ids is None else short_name(ids[j]),
                "label": short_name(result.y_train[j]),
            }
            for j in voters[0]
        ]
