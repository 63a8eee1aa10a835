"""A column that alone decides the target."""

from collections.abc import Iterator

import numpy as np
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.tree import DecisionTreeClassifier

from holdfast.datasets.checks.finding import Finding, flag_for
from holdfast.datasets.checks.table_view import TableView

_SUSPICIOUS = 0.99  # balanced accuracy of one column alone
_MAX_ROWS, _MAX_COLUMNS = 1_000, 200  # looked at; a leak shows in a sample
_DEPTH = 4


def check_leaks(table: TableView) -> Iterator[Finding]:
    """``balanced accuracy of a small tree on this column alone ≥ 0.99``, in cross-validation."""
    classes, codes = np.unique(table.y, return_inverse=True)
    if np.bincount(codes).min() < 3 or table.frame.shape[1] < 2:
        return
    rng = np.random.RandomState(0)
    rows = np.sort(rng.permutation(len(codes))[:_MAX_ROWS])
    codes = codes[rows]
    counts = np.bincount(codes, minlength=len(classes))
    if counts.min() < 3:
        return
    for name in list(table.frame.columns)[:_MAX_COLUMNS]:
        column = _as_numbers(table.frame[name].iloc[rows])
        tree = DecisionTreeClassifier(max_depth=_DEPTH + int(np.log2(len(classes))), min_samples_leaf=3, random_state=0)
        predicted = cross_val_predict(tree, column, codes, cv=StratifiedKFold(3, shuffle=True, random_state=0))
        recall = np.bincount(codes[predicted == codes], minlength=len(classes)) / counts
        if recall.mean() >= _SUSPICIOUS:
            yield Finding(
                str(name), "leak",
                f"alone tells {table.target!r} in {100 * recall.mean():.0f} % of the rows; is it known only afterwards",
                flag_for("--drop", str(name)),
            )  # fmt: skip


def _as_numbers(column) -> np.ndarray:
    """Two columns: the values as numbers (words by their order), and whether there is none."""
    missing = column.isna().to_numpy()
    if column.dtype.kind in "biuf":
        values = column.to_numpy(dtype=np.float64, na_value=0.0)
    else:
        values = np.unique(column.astype(str).to_numpy(dtype=str), return_inverse=True)[1].astype(np.float64)
    values = np.where(np.isfinite(values), values, 0.0)
    return np.column_stack([np.clip(values, -1e30, 1e30), missing]).astype(np.float64)
