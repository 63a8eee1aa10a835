"""The columns a model uses (answers that change when a column is shuffled), and its scores in groups of rows."""

from typing import TYPE_CHECKING

import numpy as np

from holdfast.datasets.columns import MISSING
from holdfast.numerics.formatting import short_name, significant

if TYPE_CHECKING:
    from holdfast.audit.result import AuditResult

_MAX_COLUMNS = 40  # in the table
_MAX_CELLS = 4_000_000  # test rows × training rows × columns that are shuffled; fewer test rows are taken beyond
_MIN_ROWS = 60
_MAX_GROUPS = 12  # categories of a column
_MAX_GROUP_ROWS = 100  # of the table; whole columns only


def column_groups(result: "AuditResult") -> dict[str, list[int]]:
    """The features that come from each column of the user's table."""
    origins = result.origins or result.feature_names
    groups: dict[str, list[int]] = {}
    for k, name in enumerate(origins):
        groups.setdefault(name, []).append(k)
    return groups


def column_effects(result: "AuditResult", keys: list[str]) -> dict:
    """Share of the test rows whose answer changes when one column is shuffled among them; the strongest come first."""
    groups = column_groups(result)
    n = min(len(result.X_test), max(_MIN_ROWS, _MAX_CELLS // max(1, len(result.X_train) * len(groups))))
    of = np.arange(len(result.X_test))[:n]
    rng = np.random.RandomState(0)
    order = rng.permutation(n)
    changed_shares = {}
    for key in keys:
        before = result.predict(key, result.X_test[of], of)
        shares = []
        for members in groups.values():
            moved = result.X_test[of].copy()
            moved[:, members] = moved[order][:, members]
            shares.append(float(np.mean(_predict(result, key, moved, of, order, members) != before)))
        changed_shares[key] = np.array(shares)
    shown = np.argsort(-np.max(list(changed_shares.values()), axis=0), kind="stable")[:_MAX_COLUMNS]
    names = list(groups)
    return {
        "rows": n,
        "columns": [short_name(names[c]) for c in shown],
        "frozen": [bool(result.frozen[groups[names[c]]].all()) for c in shown],
        "left_out": len(names) - shown.size,
        "models": {key: significant(shares[shown], 4) for key, shares in changed_shares.items()},
    }


def _predict(result: "AuditResult", key: str, moved: np.ndarray, of: np.ndarray, order: np.ndarray, members: list[int]):
    """Labels after the shuffle; columns of words are shuffled in the data frame, since the matrix holds only codes."""
    if result.rows_given is None or key not in result.given_to or not result.frozen[members].any():
        return result.predict(key, moved, of)
    frame = result.rows_given.iloc[of].copy()
    for k in members:
        frame[frame.columns[k]] = frame[frame.columns[k]].to_numpy()[order]
    return result.models[key].predict(frame)


def subgroups(result: "AuditResult", key: str) -> list[dict]:
    """Accuracy and certified accuracy of one model in each category of the frozen columns."""
    certificate, y = result.certificates[key], np.asarray(result.y_test)
    right = certificate.prediction == y
    proven = right & (certificate.radius > result.radius)
    groups: list[dict] = []
    for name, categories, codes in _category_columns(result):
        if not 2 <= len(categories) <= _MAX_GROUPS or len(groups) + len(categories) > _MAX_GROUP_ROWS:
            continue
        for c, category in enumerate(categories):
            rows = codes == c
            if rows.any():
                groups.append(
                    {
                        "column": short_name(name),
                        "category": short_name(category),
                        "rows": int(rows.sum()),
                        "accuracy": float(right[rows].mean()),
                        "certified": float(proven[rows].mean()),
                    }
                )
    return groups


def _category_columns(result: "AuditResult"):
    """Name, categories and codes of the columns of words."""
    if result.encoder is not None:
        groups = column_groups(result)
        for name, categories in result.encoder.categories_.items():
            one_hot = result.X_test[:, groups[name]]
            yield name, categories, np.where(one_hot.any(axis=1), one_hot.argmax(axis=1), -1)
    elif result.rows_given is not None:
        for k, known in result.words.items():
            named = [MISSING if value is None or value != value else str(value) for value in known]
            yield result.feature_names[k], named, result.X_test[:, k]
