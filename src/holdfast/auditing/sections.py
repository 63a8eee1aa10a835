"""Sections of a summary: a function each, dict in, dict out."""

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from scipy.stats import binomtest
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from holdfast.base.inputs import with_names
from holdfast.base.neighbors import nearest
from holdfast.base.text import number, short_name, significant
from holdfast.certificates.certificate import Certificate
from holdfast.certificates.readers import voter_for
from holdfast.certificates.vote import NeighborVoter
from holdfast.datasets.columns import MISSING
from holdfast.displays import input_margins, input_metric
from holdfast.learn import Euclidean
from holdfast.models.classifiers import VotingClassifier

if TYPE_CHECKING:
    from holdfast.auditing.result import AuditResult

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


def lower_median(values: np.ndarray) -> float:
    """The lower one of the two in the middle, infinite values included; infinite if there are no values."""
    return float(np.sort(values)[(values.size - 1) // 2]) if values.size else float("inf")


def median(values: np.ndarray) -> float | None:
    """The lower median, as a report shows it; None if it is infinite."""
    return significant(lower_median(values))


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


_MOST_IN_HEAT_MAP = 40  # in the heat map
_MARGIN_BINS = 30


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
    if not isinstance(voter, NeighborVoter) or voter.chain.linear_part is None:
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
    width = (high - low) / _MARGIN_BINS
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
    shown = np.argsort(-weight, kind="stable")[:_MOST_IN_HEAT_MAP]
    models = {}
    for key, M in scaled.items():
        values = np.maximum(np.linalg.eigvalsh(M)[::-1], 0.0)
        models[key] = {
            "trace": significant(np.trace(matrices[key])),
            "matrix": significant(M[np.ix_(shown, shown)], 3),
            "weights": significant(np.diag(M)[shown], 4),
            "spectrum": significant(values[:_MOST_IN_HEAT_MAP], 4),
            # Participation ratio (Σλ)² / Σλ²: the number of equal eigenvalues with the same spread.
            "effective": significant(values.sum() ** 2 / (values @ values), 4) if values.any() else None,
        }
    return {
        "features": [short_name(names[f]) for f in shown],
        "left_out": len(names) - shown.size,
        "models": models,
    }


@dataclass(frozen=True)
class ColumnRange:
    """The values that a column takes in the data.

    Attributes
    ----------
    low, high : float
    whole : bool
        True if all are whole numbers.
    """

    low: float
    high: float
    whole: bool

    @classmethod
    def of(cls, values: np.ndarray) -> "ColumnRange":
        """The range of some values, gaps left out."""
        values = values[np.isfinite(values)] if np.isfinite(values).any() else np.zeros(1)
        return cls(float(values.min()), float(values.max()), bool((values == np.round(values)).all()))


def largest_changes(
    row: np.ndarray,
    witness: np.ndarray,
    names: list[str],
    scale: np.ndarray,
    at_most: int = 3,
    ranges: Sequence[ColumnRange] | None = None,
):
    """The largest components of a move, in standard deviations.

    Parameters
    ----------
    row, witness, scale : ndarrays of shape (n_features,)
        What is missing in the row is missing in the witness, and does not move.
    names : list of str
    at_most : int
        How many to list; components below 5 % of the largest are never listed.
    ranges : sequence of ColumnRange, optional
        What the columns hold, so that values that no row has are said to be so.

    Returns
    -------
    listed : list of dict
        ``feature, from, to, sd`` (the component in standard deviations), and with ranges ``whole`` and ``outside``, the
        range of the data if the move leaves it, else None.
    others : int
        How many further features move at all.
    """
    gaps = np.isnan(row)
    if not np.isfinite(witness[~gaps]).all():
        return [], 0
    sd = np.where(gaps, 0.0, witness - row) / scale
    size = np.abs(sd)
    order = np.argsort(-size, kind="stable")
    moved = int(np.count_nonzero(size > 1e-9 * size.max(initial=0.0)))
    big = [int(f) for f in order[:at_most] if size[f] > 0 and size[f] >= 0.05 * size[order[0]]]
    listed = []
    for f in big:
        change = {"feature": short_name(names[f]), "from": float(row[f]), "to": float(witness[f]), "sd": float(sd[f])}
        if ranges is not None:
            column_range = ranges[f]
            inside = column_range.low <= witness[f] <= column_range.high
            outside = None if inside else [column_range.low, column_range.high]
            change |= {"whole": column_range.whole, "outside": outside}
        listed.append(change)
    return listed, moved - len(listed)


def cell_changes(before, after, names: list[str], scale: np.ndarray) -> list[dict]:
    """The changes between two rows as the user has them: words first, then the largest of the numbers; gaps stay.

    Examples
    --------
    >>> listed = cell_changes([20.0, "red", None], [21.5, "blue", None], ["age", "colour", "job"], np.ones(3))
    >>> sentence(listed)
    'change colour from red to blue and age from 20.0 to 21.5'
    """
    words, numbers = [], np.zeros((2, len(names)))
    for k, pair in enumerate(zip(before, after, strict=True)):
        if all(isinstance(value, int | float | np.number | np.bool_) for value in pair):
            numbers[:, k] = pair
        elif pair[0] is not None and str(pair[0]) != str(pair[1]):
            old, new = (short_name(str(value)) for value in pair)
            words.append({"feature": short_name(names[k]), "from": old, "to": new, "category": True})
    return words + largest_changes(numbers[0], numbers[1], names, scale)[0]


def sentence(listed: list[dict]) -> str:
    """The move as an instruction: "change alcohol from 13.2 to 12.9"."""
    if not listed:
        return "no change of the answer was found"
    parts = [f"{each['feature']} {_one_change(each)}" for each in listed]
    return "change " + (parts[0] if len(parts) == 1 else ", ".join(parts[:-1]) + " and " + parts[-1])


def _one_change(change: dict) -> str:
    """``from 13.2 to 12.9``; of whole numbers ``from 2 towards 1 (by 0.06)``; what leaves the data is said to.

    Examples
    --------
    >>> _one_change({"from": 2.0, "to": 1.94, "whole": True, "outside": None})
    'from 2 towards 1 (by 0.06)'
    >>> _one_change({"from": 0.0, "to": 39.2, "whole": True, "outside": [0.0, 1.0]})
    'from 0 to about 39 (beyond the data: 0 to 1)'
    """
    before, after = change["from"], change["to"]
    if change.get("category"):
        return f"from {before} to {after}"
    step = after - before
    if change.get("whole") and before == round(before) and step:
        if abs(step) < 1:
            text = f"from {before:.0f} towards {before + math.copysign(1, step):.0f} (by {abs(step):.2g})"
        else:
            text = f"from {before:.6g} to about {after:.0f}" if abs(after) < 1e9 else f"from {before:.6g} by {step:.2g}"
    else:
        text = from_to(before, after)
    if change.get("outside"):
        low, high = change["outside"]
        text += f" (beyond the data: {number(low, 4)} to {number(high, 4)})"
    return text


def from_to(before: float, after: float) -> str:
    """``from 13.2 to 12.9``, with as many decimals as the difference needs.

    Examples
    --------
    >>> from_to(13.2, 12.91), from_to(1050, 985), from_to(13.24, 13.383), from_to(0.0031, 0.0034)
    ('from 13.2 to 12.9', 'from 1050 to 985', 'from 13.24 to 13.38', 'from 0.0031 to 0.0034')
    >>> from_to(1.95, 5.2), from_to(3, 8), from_to(12.5, 12.5 + 1e-10)
    ('from 1.9 to 5.2', 'from 3 to 8', 'from 12.5 by 1e-10')
    >>> from_to(-0.01, 4.5)
    'from 0.0 to 4.5'
    """
    step = after - before
    if step == 0:
        return f"from {before:.6g} to {after:.6g}"
    power = math.floor(math.log10(abs(step)))
    decimals = -power + int(abs(step) < 2 * 10.0**power)  # 0.14 needs one digit more than 0.4
    if decimals > 8 or max(abs(before), abs(after)) >= 1e9:
        return f"from {before:.6g} by {step:.2g}"
    decimals = max(decimals, int(abs(step) < 20))
    texts = [f"{value:.{decimals}f}" for value in (before, after)]
    texts = [text if float(text) else text.removeprefix("-") for text in texts]
    if decimals and all(text.endswith("." + "0" * decimals) for text in texts):
        texts = [text.partition(".")[0] for text in texts]
    return f"from {texts[0]} to {texts[1]}"


_MAX_LEFT_OUT = 2_000  # training rows whose own distances are the yardstick
_USUAL = 0.999  # share of the training rows that are nearer to the others than the yardstick


@dataclass(frozen=True, eq=False)
class DataDistance:
    """``d(x) = min_j ‖(x − x_j)/s‖``, against the same of the training rows, each left out once.

    Attributes
    ----------
    distance : ndarray of shape (n_rows,)
        To the nearest training row, in standard deviations.
    usual : float
        What 99.9 % of the training rows have at most.
    """

    distance: np.ndarray
    usual: float

    @property
    def far(self) -> np.ndarray:
        """True for rows that are farther from the data than its own rows are from each other."""
        return self.distance > self.usual


def data_distance(train: np.ndarray, rows: np.ndarray, n_jobs: int | None = None) -> DataDistance:
    """The distances of rows to training rows, both in standard deviations."""
    picked = np.linspace(0, len(train) - 1, min(len(train), _MAX_LEFT_OUT)).astype(int)
    pairs = nearest(train, train[picked], min(2, len(train)), n_jobs)
    others = np.where(pairs[:, 0] == picked, pairs[:, -1], pairs[:, 0])
    left_out = np.linalg.norm(train[picked] - train[others], axis=1)
    distances = np.linalg.norm(rows - train[nearest(train, rows, 1, n_jobs)[:, 0]], axis=1)
    return DataDistance(distances, float(np.quantile(left_out, _USUAL, method="higher")))


def saved_data_distance(model, matrix: np.ndarray) -> DataDistance | None:
    """The same for a saved model that keeps its training rows behind a scaler; None if it does not."""
    if not (isinstance(model, Pipeline) and len(model) == 2 and isinstance(model[0], StandardScaler)):
        return None
    voter = model[-1]
    if not isinstance(voter, VotingClassifier) or voter.voters_per_row() > len(voter.reference_):
        return None
    scaled = (matrix - model[0].mean_) / model[0].scale_
    return data_distance(voter.reference_, scaled)


def voting_rows(model, matrix: np.ndarray) -> np.ndarray | None:
    """Positions, among the training rows, of the neighbours that vote on each row; None if no neighbours do."""
    last = model[-1] if isinstance(model, Pipeline) else model
    if not isinstance(last, VotingClassifier):
        return None
    rows = matrix
    if isinstance(model, Pipeline):
        for _, step in model.steps[:-1]:
            rows = step.transform(rows)
    L = last.components_
    return nearest(last.reference_ @ L.T, np.asarray(rows) @ L.T, last.voters_per_row(), last.n_jobs)


def column_ranges(X: np.ndarray) -> np.ndarray:
    """Largest minus smallest value of each column, gaps left out; 0 of a column that is empty."""
    there = np.isfinite(X)
    width = np.where(there, X, -np.inf).max(axis=0) - np.where(there, X, np.inf).min(axis=0)
    return np.where(there.any(axis=0), width, 0.0)


def filled(train: np.ndarray, rows: np.ndarray, words: Mapping[int, list]) -> tuple[np.ndarray, np.ndarray]:
    """Training rows and others with medians in place of gaps, and codes of words as indicators: 1 if they differ."""
    both = np.vstack([train, rows])
    gaps = np.isnan(both)
    if not gaps.any() and not words:
        return train, rows
    middle = [np.median(column[~gap]) if not gap.all() else 0.0 for column, gap in zip(both.T, gaps.T, strict=True)]
    both = np.where(gaps, middle, both)
    parts = [np.delete(both, list(words), axis=1)]
    parts += [(both[:, [k]] == np.arange(len(known))) * np.sqrt(0.5) for k, known in words.items()]
    together = np.hstack(parts)
    return together[: len(train)], together[len(train) :]


def extent(X: np.ndarray, scale: np.ndarray, frozen: np.ndarray) -> float:
    """The diagonal of the box around the rows, over what may move, in standard deviations: no two rows are farther."""
    movable = ~np.asarray(frozen, dtype=bool)
    reach = column_ranges(X) / scale
    return float(np.linalg.norm(reach[movable])) if movable.any() else 0.0
