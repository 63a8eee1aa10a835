"""Data first: everything a report shows, as one plain dict."""

from datetime import UTC, datetime

import numpy as np
from scipy.stats import binomtest

from holdfast.audit import AuditResult
from holdfast.certificates.certificate import Certificate
from holdfast.report.changes import changes, sentence
from holdfast.report.numbers import name, plain, rounded
from holdfast.report.reading import margins_of, metric_of, objective_of, predict, viewed
from holdfast.report.verdict import verdict

FORMAT = 1
_FEATURES = 40  # shown in the heat map and the tables
_CLASSES = 100
_RADII = 300  # places of the slider
_FALLS = 300  # steps of a curve
_BINS = 30
_TOLD = 8  # predictions told of each kind
_STEPS = 500  # of a training curve

_NORMS = {
    "ellipsoid": "the root of the sum of squares over all features",
    "l2": "the root of the sum of squares over all features",
    "linf": "the largest change of any one feature",
    "l1": "the sum of the changes of all features",
}


def summarise(result: AuditResult) -> dict:
    """Everything a report shows, as one dict of plain JSON types.

    Parameters
    ----------
    result : AuditResult

    Returns
    -------
    dict
        Its size is bounded whatever the number of rows and features. Values that are not finite are None.
        ``certified_error`` is the share of test rows that are wrong or not proven to stay right within the
        radius, ``attacked_error`` of those that are wrong or were seen to change, ``clean_error`` of those
        that are wrong: ``clean ≤ attacked ≤ certified`` at every radius, and the error under the worst
        attack lies between the last two.
    """
    models = [{"key": key, "method": name(result.methods.get(key, key))} for key in result.models]
    keys = [model["key"] for model in models]
    certificates = {key: result.certificates[key] for key in keys}
    y = np.asarray(result.y_test)
    right = {key: certificate.prediction == y for key, certificate in certificates.items()}
    at_radius = {key: _errors(certificates[key], right[key], result.radius) for key in keys}
    radii = _grid(certificates.values(), result.radius)
    norm = certificates[keys[-1]].norm
    summary = {
        "kind": "holdfast audit",
        "format": FORMAT,
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "data": _data(result),
        "radius": {"value": float(result.radius), "norm": norm, "meaning": _NORMS.get(norm, norm)},
        "models": models,
        "verdict": verdict(models, at_radius, result.radius, _chance(certificates, right, result.radius)),
        "at_radius": at_radius,
        "curve": {
            "radii": rounded(radii, 8),
            "at": int(np.searchsorted(radii, result.radius)),
            "models": {key: _curve(certificates[key], right[key], radii) for key in keys},
        },
        "radii": _radii(certificates, right, radii[-1]),
        **_metrics(result, keys),
        "features": _features(result, certificates),
        "predictions": {key: _predictions(result, key, right[key]) for key in keys},
        "classes": _classes(result, certificates, right),
        "training": {key: _training(result.models[key]) for key in keys},
        "settings": result.settings,
        "versions": result.versions,
        "seconds": {key: rounded(value, 4) for key, value in result.seconds.items()},
        "notes": [str(note) for note in result.notes],
    }
    return plain(summary)


def _data(result: AuditResult) -> dict:
    frozen = np.flatnonzero(result.frozen)
    return {
        "name": name(result.name),
        "target": name(result.target),
        "n_train": len(result.X_train),
        "n_test": len(result.X_test),
        "n_features": len(result.feature_names),
        "n_classes": len(result.classes),
        "n_frozen": frozen.size,
        "frozen": [name(result.feature_names[f]) for f in frozen[:_FEATURES]],
        "hash": result.data_hash,
    }


def _holding(bound: np.ndarray, right: np.ndarray, radii: np.ndarray) -> np.ndarray:
    """How many rows are right and have a bound beyond each radius; at 0, how many are right."""
    bound = np.sort(bound[right])
    return np.where(radii == 0, bound.size, bound.size - np.searchsorted(bound, radii, side="right"))


def _errors(certificate: Certificate, right: np.ndarray, radius: float) -> dict:
    """The three errors at a radius, and the counts they are made of."""
    n, at = right.size, np.array([radius])
    certified = int(_holding(certificate.radius, right, at)[0])
    standing = int(_holding(certificate.upper, right, at)[0])
    clean = int(right.sum())
    errors = {"clean_error": n - clean, "attacked_error": n - standing, "certified_error": n - certified}
    return {
        "rows": n,
        **{which: count / n for which, count in errors.items()},
        "intervals": {which: rounded(_interval(count, n), 4) for which, count in errors.items()},
        "counts": {
            "certified": certified,
            "undecided": standing - certified,
            "attacked": clean - standing,
            "wrong": n - clean,
        },
    }


def _interval(count: int, n: int) -> list[float]:
    """Where the share lies in the population with 95 % confidence (Wilson)."""
    found = binomtest(count, n).proportion_ci(method="wilson")
    return [float(found.low), float(found.high)]


def _chance(certificates: dict, right: dict, radius: float) -> float | None:
    """p-value of McNemar's exact test: rows certified under one model only, as tosses of a fair coin."""
    if len(certificates) < 2:
        return None
    first, *_, last = (right[key] & (certificates[key].radius > radius) for key in certificates)
    gained, lost = int((last & ~first).sum()), int((first & ~last).sum())
    return float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0


def _grid(certificates, radius: float) -> np.ndarray:
    """Radii in round steps from 0 to where nearly all answers have changed, the one asked for among them."""
    bounds = [np.where(np.isfinite(c.upper), c.upper, c.radius) for c in certificates]
    finite = np.concatenate([bound[np.isfinite(bound)] for bound in bounds])
    top = max(np.quantile(finite, 0.99) if finite.size else 0.0, 1.6 * radius) or 1.0
    power = 10.0 ** np.floor(np.log10(top / _RADII))
    step = next(each * power for each in (1, 2, 2.5, 5, 10) if each * power * _RADII >= top)
    grid = np.round(np.arange(int(np.ceil(top / step)) + 1) * step, 12)
    near = np.argmin(np.abs(grid - radius))
    if abs(grid[near] - radius) < 1e-6 * step:
        grid[near] = radius
        return grid
    return np.sort(np.append(grid, radius))


def _curve(certificate: Certificate, right: np.ndarray, radii: np.ndarray) -> dict:
    """Both accuracies at the radii, and where each falls."""
    n = right.size
    bounds = {"certified": certificate.radius, "attacked": certificate.upper}
    return {
        **{kind: rounded(_holding(bound, right, radii) / n, 8) for kind, bound in bounds.items()},
        "falls": {kind: _falls(bound, right, kind == "certified") for kind, bound in bounds.items()},
    }


def _falls(bound: np.ndarray, right: np.ndarray, early: bool) -> dict:
    """The radii at which an accuracy falls, and its value from there on.

    If they are too many, several falls become one: at the first of them (early), or at the last.
    """
    n = right.size
    where = np.sort(bound[right])
    where = where[np.isfinite(where)]
    left = right.sum() - 1 - np.arange(where.size)
    parts = np.array_split(np.arange(where.size), min(where.size, _FALLS)) if where.size else []
    return {
        "radius": rounded([where[part[0] if early else part[-1]] for part in parts], 8),
        "share": rounded([left[part[-1]] / n for part in parts], 8),
    }


def _median(values: np.ndarray) -> float | None:
    """The middle value, infinite ones counted; None if it is infinite, or there is none."""
    return rounded(np.sort(values)[(values.size - 1) // 2]) if values.size else None


def _radii(certificates: dict, right: dict, top: float) -> dict:
    """Histograms of the certified radii, of right and of wrong predictions."""
    edges = np.linspace(0, top, _BINS + 1)
    models = {}
    for key, certificate in certificates.items():
        radius, ok = certificate.radius, right[key]
        models[key] = {
            "right": np.histogram(radius[ok], edges)[0],
            "wrong": np.histogram(radius[~ok], edges)[0],
            "beyond": int((radius > top).sum()),
            "median": _median(radius),
            "exact": float(certificate.exact.mean()),
        }
    return {"edges": rounded(edges), "models": models}


def _metrics(result: AuditResult, keys: list[str]) -> dict:
    """The learned metrics and the margins under them: ``{"margins", "metric"}``."""
    frozen = np.asarray(result.frozen, dtype=bool)
    matrices, margins = {}, {}
    for key in keys:
        seen = viewed(result.models[key], (result.X_train, result.y_train))
        if seen is not None:
            matrices[key] = metric_of(seen, result.scale)
            found = margins_of(seen, result.X_test, np.asarray(result.y_test), result.scale, frozen)
            if found is not None:
                margins[key] = found
    return {"margins": _margins(margins), "metric": _metric(matrices, result.feature_names)}


def _margins(margins: dict[str, np.ndarray]) -> dict | None:
    """Histograms on common edges; the outermost bins also hold what lies beyond them."""
    if not margins:
        return None
    both = np.concatenate(list(margins.values()))
    low, high = min(np.quantile(both, 0.01), 0.0), max(np.quantile(both, 0.99), 0.0)
    if low == high:
        low, high = -1.0, 1.0
    width = (high - low) / _BINS
    edges = np.arange(np.floor(low / width), np.ceil(high / width) + 1) * width  # 0 is an edge
    models = {
        key: {
            "counts": np.histogram(np.clip(margin, edges[0], edges[-1]), edges)[0],
            "median": _median(margin),
            "positive": float((margin > 0).mean()),
        }
        for key, margin in margins.items()
    }
    return {"edges": rounded(edges), "models": models}


def _metric(matrices: dict[str, np.ndarray], names: list[str]) -> dict | None:
    """Matrices over the features of most weight, each divided by its trace, and the spectra."""
    if not matrices:
        return None
    scaled = {key: M / (np.trace(M) or 1.0) for key, M in matrices.items()}
    weight = np.max([np.diag(M) for M in scaled.values()], axis=0)
    shown = np.argsort(-weight, kind="stable")[:_FEATURES]
    models = {}
    for key, M in scaled.items():
        values = np.maximum(np.linalg.eigvalsh(M)[::-1], 0.0)
        models[key] = {
            "trace": rounded(np.trace(matrices[key])),
            "matrix": rounded(M[np.ix_(shown, shown)], 3),
            "weights": rounded(np.diag(M)[shown], 4),
            "spectrum": rounded(values[:_FEATURES], 4),
            # How many equally strong directions would be spread as these are.
            "effective": rounded(values.sum() ** 2 / (values @ values), 4) if values.any() else None,
        }
    return {
        "features": [name(names[f]) for f in shown],
        "left_out": len(names) - shown.size,
        "models": models,
    }


def _features(result: AuditResult, certificates: dict) -> dict:
    """How far the shortest attacks found move each feature."""
    size, models = [], {}
    for certificate in certificates.values():
        seen = np.isfinite(certificate.adversarial).all(axis=1)
        move = np.abs(certificate.adversarial[seen] - result.X_test[seen])
        size.append((move, move / result.scale))
    reach = np.max([sd.mean(axis=0) if len(sd) else np.zeros(sd.shape[1]) for _, sd in size], axis=0)
    shown = np.argsort(-reach, kind="stable")[:_FEATURES]
    for key, (move, sd) in zip(certificates, size, strict=True):
        if not len(move):
            models[key] = {"rows": 0, "raw": None, "sd": None, "share": None}
            continue
        square = sd**2
        share = square / np.maximum(square.sum(axis=1, keepdims=True), np.finfo(float).tiny)
        models[key] = {
            "rows": len(move),
            "raw": rounded(move.mean(axis=0)[shown], 4),
            "sd": rounded(sd.mean(axis=0)[shown], 4),
            "share": rounded(share.mean(axis=0)[shown], 4),
        }
    return {
        "features": [name(result.feature_names[f]) for f in shown],
        "frozen": [bool(result.frozen[f]) for f in shown],
        "left_out": len(result.feature_names) - shown.size,
        "models": models,
    }


def _predictions(result: AuditResult, key: str, right: np.ndarray) -> dict:
    """The predictions that are easiest and hardest to change."""
    certificate = result.certificates[key]
    order = np.lexsort((certificate.upper, certificate.radius))
    least, most = order[:_TOLD], order[::-1][: min(_TOLD, max(0, order.size - _TOLD))]
    return {
        "least": [_prediction(result, key, right, int(row)) for row in least],
        "most": [_prediction(result, key, right, int(row)) for row in most],
    }


def _prediction(result: AuditResult, key: str, right: np.ndarray, row: int) -> dict:
    certificate = result.certificates[key]
    witness = certificate.adversarial[row]
    told, left_out = changes(result.X_test[row], witness, result.feature_names, result.scale)
    becomes = name(predict(result.models[key], witness[None])[0]) if told else None
    return {
        "row": row,
        "prediction": name(certificate.prediction[row]),
        "true": name(result.y_test[row]),
        "right": bool(right[row]),
        "radius": certificate.radius[row],
        "upper": certificate.upper[row],
        "becomes": becomes,
        "changes": told,
        "others": left_out,
        "sentence": sentence(told),
    }


def _classes(result: AuditResult, certificates: dict, right: dict) -> dict:
    """A row for each class, those of most support first if there are too many."""
    y = np.asarray(result.y_test)
    support = np.array([int((y == label).sum()) for label in result.classes])
    shown = np.sort(np.argsort(-support, kind="stable")[:_CLASSES])
    rows, radius = [], np.array([result.radius])
    for c in shown:
        own = y == result.classes[c]
        row = {"label": name(result.classes[c]), "support": support[c], "models": {}}
        for key, certificate in certificates.items():
            ok, n = right[key][own], max(int(support[c]), 1)
            none = support[c] == 0
            row["models"][key] = {
                "accuracy": None if none else float(ok.mean()),
                "attacked": None if none else _holding(certificate.upper[own], ok, radius)[0] / n,
                "certified": None if none else _holding(certificate.radius[own], ok, radius)[0] / n,
                "median_radius": _median(certificate.radius[own]),
            }
        rows.append(row)
    return {"rows": rows, "left_out": len(result.classes) - shown.size}


def _training(model) -> dict | None:
    """The objective of the learner, iteration by iteration."""
    trace = objective_of(model)
    if trace is None:
        return None
    shown = np.unique(np.linspace(0, trace.size - 1, min(trace.size, _STEPS)).round().astype(int))
    return {"iteration": shown, "objective": rounded(trace[shown], 6)}
