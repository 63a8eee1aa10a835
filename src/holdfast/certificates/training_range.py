"""Numbers far outside of the rows of training, where these are known."""

import numpy as np
from sklearn.compose import ColumnTransformer
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, StandardScaler

from holdfast.certificates.folding.steps import column_numbers, does_nothing
from holdfast.certificates.training_rows import first_at_work
from holdfast.certificates.voting import Voter


def far_rows(voter: Voter, rows: np.ndarray, reference) -> np.ndarray | None:
    """Mask of the encoded rows with a number farther outside of the range of training than that range is wide.

    The range is that of the reference or of the rows that a classifier stores; else what the scalers know: the least
    and the largest value, or the mean and ``√(n − 1)`` standard deviations, beyond which no row of training can be.
    None where no range is known.
    """
    encoding = voter.encoding
    low, high = training_range(voter, reference)
    known = np.isfinite(low) & np.isfinite(high)
    if not known.any():
        return None
    width = (high - low)[known]
    x = rows[:, np.flatnonzero(known)]
    outside = np.maximum(low[known] - x, x - high[known])
    gaps = np.zeros((len(rows), encoding.n_columns), bool)
    for j in encoding.gaps:
        gaps[:, j] = rows[:, encoding.gap(j)] > 0
    return ((outside > width) & (width > 0) & ~gaps[:, known]).any(axis=1)


def training_range(voter: Voter, reference) -> tuple[np.ndarray, np.ndarray]:
    """The least and the largest value of each column of numbers in training; NaN where they are not known."""
    encoding = voter.encoding
    low, high = np.full((2, encoding.n_columns), np.nan)
    steps = [] if voter.front is None else [step for step in voter.front.steps if not does_nothing(step)]
    stored = None
    if not steps:
        last = voter.model[-1] if hasattr(voter.model, "steps") else voter.model
        if hasattr(last, "n_neighbors"):  # prototypes are no rows of training
            stored = getattr(last, "reference_", getattr(last, "_fit_X", None))
    table = stored if reference is None else reference[0]
    table = np.asarray(table) if isinstance(table, list | tuple) else table
    read = [j for j in range(encoding.n_columns) if j not in encoding.categories]
    read = read if encoding.read is None else [j for j in read if j in encoding.read]
    if table is not None and np.ndim(table) == 2:
        for j in read:
            column = table.iloc[:, j].to_numpy(float, na_value=np.nan) if hasattr(table, "iloc") else table[:, j]
            column = np.asarray(column, dtype=np.float64)
            there = column[np.isfinite(column)]
            if there.size:
                low[j], high[j] = there.min(), there.max()
    elif steps:
        known = _of_scalers(steps, list(range(encoding.n_columns)))
        for j in set(read) & set(known):
            low[j], high[j] = known[j]
    return low, high


def _of_scalers(steps, columns: list[int]) -> dict[int, tuple[float, float]]:
    """The range of each column that a scaler knows, if it comes first on it, but for an imputer."""
    step = first_at_work(steps)
    if isinstance(step, Pipeline):
        return _of_scalers(step, columns)
    if isinstance(step, ColumnTransformer):
        out: dict[int, tuple[float, float]] = {}
        for _, inner, chosen in step.transformers_:
            at = column_numbers(chosen, getattr(step, "feature_names_in_", None), step.n_features_in_)
            if not isinstance(inner, str):
                out |= _of_scalers(inner, [columns[i] for i in at])
        return out
    if isinstance(step, MinMaxScaler):
        low, high = step.data_min_, step.data_max_
    elif isinstance(step, MaxAbsScaler):
        low, high = -step.max_abs_, step.max_abs_
    elif isinstance(step, StandardScaler) and step.with_mean and step.with_std:
        reach = np.sqrt(np.maximum(np.asarray(step.n_samples_seen_) - 1.0, 0.0) * step.var_)
        low, high = step.mean_ - reach, step.mean_ + reach
    else:
        return {}
    # Indicators of gaps come after the columns.
    return {j: (float(a), float(b)) for j, a, b in zip(columns, low, high, strict=False)}
