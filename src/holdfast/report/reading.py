"""What a report reads off a fitted model: its metric, its margins, its training curve."""

import numpy as np
from sklearn.pipeline import Pipeline

from holdfast.certificates.view import View, view
from holdfast.constraints.search import nearest_by_class
from holdfast.geometry import adversarial_margin


def viewed(model, reference=None) -> View | None:
    """The model as a vote among points; None if it cannot be seen so."""
    try:
        return view(model, reference)
    except (TypeError, ValueError):
        return None


def metric_of(seen: View, scale: np.ndarray) -> np.ndarray:
    """``M`` over the features in standard deviations, the steps before the metric folded in.

    With a ``Normalizer`` among the steps this is the metric after it, in the directions before it.
    """
    fold = seen.fold
    L = fold.before.W if fold.after is None else fold.after.W @ fold.before.W
    L = L * scale
    return L.T @ L


def margins_of(
    seen: View, X: np.ndarray, y: np.ndarray, scale: np.ndarray, frozen: np.ndarray, n_jobs: int | None = None
) -> np.ndarray | None:
    """Signed adversarial margin (Eq. 3) of each row, for its nearest target and impostor among the voters.

    Measured in standard deviations, over moves of the features that are not frozen. None where it is not
    defined (a ``Normalizer`` is among the steps, or nothing can move); rows whose label has no voter, or
    all of them, are left out.
    """
    if seen.fold.after is not None or frozen.all():
        return None
    codes = np.searchsorted(seen.classes, y)
    known = np.isin(y, seen.classes)
    if not known.any():
        return None
    U, codes = seen.fold(X[known]), codes[known]
    same, other = (found[:, 0] for found in nearest_by_class(seen.points, seen.codes, 1, 1, n_jobs, (U, codes)))
    both = (same >= 0) & (other >= 0)
    if not both.any():
        return None
    # In the voters' space the metric is Euclidean; a move of the input arrives there through D.
    D = (seen.fold.before.W * scale)[:, ~frozen]
    I = np.eye(U.shape[1])
    return adversarial_margin(I, U[both], seen.points[same[both]], seen.points[other[both]], reduction=D)


def objective_of(model) -> np.ndarray | None:
    """The trace of the objective of the learner inside a pipeline or classifier, if it has one."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    for step in reversed(steps):
        seen = step
        while seen is not None:
            trace = getattr(seen, "objective_", None)
            if trace is not None and np.size(trace) > 1:
                return np.asarray(trace, dtype=np.float64).ravel()
            seen = getattr(seen, "learner_", None)
    return None


def predict(model, rows: np.ndarray) -> np.ndarray:
    """The model's own predictions of bare rows."""
    names = getattr(model, "feature_names_in_", None)
    if names is not None:
        from pandas import DataFrame  # the names came from a data frame

        rows = DataFrame(rows, columns=names)
    return model.predict(rows)
