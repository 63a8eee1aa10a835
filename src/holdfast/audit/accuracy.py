"""Certified and attacked accuracy of an audit: at the radius, as curves, as histograms, class by class."""

from collections.abc import Collection

import numpy as np
from scipy.stats import binomtest

from holdfast.certificates.certificate import Certificate
from holdfast.numerics.formatting import short_name, significant

# Sizes that bound the report; none changes a number in it.
_RADII = 300  # positions of the slider
_MAX_FALLS = 300  # steps of a drawn curve
_BINS = 30
_MAX_CLASSES = 100


def count_holding(bound: np.ndarray, right: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """``#{i : right_i, bound_i > r}`` for each radius r; at r = 0, the number of right rows."""
    bound = np.sort(bound[right])
    return np.where(radii == 0, bound.size, bound.size - np.searchsorted(bound, radii, side="right"))


def errors_at(radius: float, certificate: Certificate, right: np.ndarray) -> dict:
    """Clean, attacked and certified error at a radius, their 95 % intervals, and the counts behind them."""
    n, at = right.size, np.array([radius])
    certified = int(count_holding(certificate.radius, right, at)[0])
    not_attacked = int(count_holding(certificate.upper, right, at)[0])
    clean = int(right.sum())
    errors = {"clean_error": n - clean, "attacked_error": n - not_attacked, "certified_error": n - certified}
    return {
        "rows": n,
        **{kind: count / n for kind, count in errors.items()},
        "intervals": {kind: significant(_interval(count, n), 4) for kind, count in errors.items()},
        "counts": {
            "certified": certified,
            "undecided": not_attacked - certified,
            "attacked": clean - not_attacked,
            "wrong": n - clean,
        },
    }


def _interval(count: int, n: int) -> list[float]:
    """The 95 % confidence interval of a share (Wilson)."""
    interval = binomtest(count, n).proportion_ci(method="wilson")
    return [float(interval.low), float(interval.high)]


def radius_grid(certificates: Collection[Certificate], radius: float, extent: float = np.inf) -> np.ndarray:
    """Radii in round steps from 0 to where 99 % of the answers have changed; ``radius`` is one of them.

    The extent of the data ends the axis: what is farther is no longer about them.
    """
    bounds = [np.where(np.isfinite(c.upper), c.upper, c.radius) for c in certificates]
    finite = np.concatenate([bound[np.isfinite(bound)] for bound in bounds])
    top = max(min(np.quantile(finite, 0.99), extent) if finite.size else 0.0, 1.6 * radius) or 1.0
    power = 10.0 ** np.floor(np.log10(top / _RADII))
    step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power * _RADII >= top)
    grid = np.round(np.arange(int(np.ceil(top / step)) + 1) * step, 12)
    near = np.argmin(np.abs(grid - radius))
    if abs(grid[near] - radius) < 1e-6 * step:
        grid[near] = radius
        return grid
    return np.sort(np.append(grid, radius))


def accuracy_curve(certificate: Certificate, right: np.ndarray, radii: np.ndarray) -> dict:
    """Both accuracies at the radii, and the radii at which each falls."""
    n = right.size
    bounds = {"certified": certificate.radius, "attacked": certificate.upper}
    return {
        **{kind: significant(count_holding(bound, right, radii) / n, 8) for kind, bound in bounds.items()},
        "falls": {kind: falls(bound, right, early=kind == "certified") for kind, bound in bounds.items()},
    }


def falls(bound: np.ndarray, right: np.ndarray, early: bool) -> dict:
    """The radii at which an accuracy falls, and its value from there on.

    If there are too many, neighbouring falls are merged at the first of them (``early``) or at the last.
    """
    n = right.size
    where = np.sort(bound[right])
    where = where[np.isfinite(where)]
    left = right.sum() - 1 - np.arange(where.size)
    merged = np.array_split(np.arange(where.size), min(where.size, _MAX_FALLS)) if where.size else []
    return {
        "radius": significant([where[group[0] if early else group[-1]] for group in merged], 8),
        "share": significant([left[group[-1]] / n for group in merged], 8),
    }


def median(values: np.ndarray) -> float | None:
    """The lower median, infinite values included; None if it is infinite, or there are no values."""
    return significant(np.sort(values)[(values.size - 1) // 2]) if values.size else None


def radius_histograms(certificates: dict, right: dict, top: float) -> dict:
    """Histograms of the certified radii up to ``top``, of right and of wrong predictions."""
    edges = np.linspace(0, top, _BINS + 1)
    models = {}
    for key, certificate in certificates.items():
        radius, ok = certificate.radius, right[key]
        models[key] = {
            "right": np.histogram(radius[ok], edges)[0],
            "wrong": np.histogram(radius[~ok], edges)[0],
            "beyond": int((radius > top).sum()),
            "median": median(radius),
            "exact": float(certificate.exact.mean()),
        }
    return {"edges": significant(edges), "models": models}


def class_table(y: np.ndarray, classes: list, certificates: dict, right: dict, radius: float, first: str) -> dict:
    """Accuracies of each class, the worst under the model ``first`` first; of too many, those with most rows."""
    support = np.array([int((y == label).sum()) for label in classes])
    shown = np.sort(np.argsort(-support, kind="stable")[:_MAX_CLASSES])
    recall = np.array(
        [right[first][y == label].mean() if n else 2.0 for label, n in zip(classes, support, strict=True)]
    )
    shown = shown[np.lexsort((support[shown], recall[shown]))]
    rows, at = [], np.array([radius])
    for c in shown:
        of_class = y == classes[c]
        row = {"label": short_name(classes[c]), "code": int(c), "support": support[c], "models": {}}
        for key, certificate in certificates.items():
            ok, n = right[key][of_class], max(int(support[c]), 1)
            empty = support[c] == 0
            row["models"][key] = {
                "accuracy": None if empty else float(ok.mean()),
                "attacked": None if empty else count_holding(certificate.upper[of_class], ok, at)[0] / n,
                "certified": None if empty else count_holding(certificate.radius[of_class], ok, at)[0] / n,
                "median_radius": median(certificate.radius[of_class]),
            }
        rows.append(row)
    return {"rows": rows, "left_out": len(classes) - shown.size}
