"""scikit-learn's neighbours as votes: their metric, and what is checked of the rows they store."""

from collections.abc import Iterator
from copy import copy
from dataclasses import dataclass
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.metrics import DistanceMetric
from sklearn.neighbors import KDTree, KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.utils import check_array

from holdfast.base.affine import AffineMap
from holdfast.base.fingerprint import Passed, fingerprint
from holdfast.base.inputs import numbers_of_functions, precisions, with_names
from holdfast.certificates.chain import Chain
from holdfast.certificates.moves import Moves
from holdfast.certificates.questions import UNIT_ROUNDOFF, DistanceProblem
from holdfast.certificates.vote import NeighborVoter, Voter, nearest_opponents
from holdfast.learn.spaces import check_metric

_EUCLIDEAN = type(DistanceMetric.get_metric("euclidean"))


def boxes_hold(tree: Any, points: np.ndarray) -> bool:
    """True if a ``KDTree`` over these very points can be read, and every box contains all points below its node.

    A search skips a node only if its box is too far away, so such a tree misses no point, whatever the query. That is
    a stronger check than a search for every point. False for another kind of tree, and where this version of
    scikit-learn stores it in another way: then the tree must be checked by searches.
    """
    if type(tree) not in (KDTree,):
        return False
    data, order, nodes, boxes = (np.asarray(array) for array in tree.get_arrays())
    fields, n = ("idx_start", "idx_end", "is_leaf"), len(points)
    known = set(fields) <= set(nodes.dtype.names or ()) and boxes.shape == (2, len(nodes), points.shape[1])
    if not (known and np.array_equal(data, points) and np.array_equal(np.sort(order), np.arange(n))):
        return False
    (start, end, leaf), (low, high) = (nodes[name] for name in fields), boxes
    if not (len(nodes) and start[0] == 0 and end[0] == n and (start < end).all()):
        return False
    # The children of node i are 2i + 1 and 2i + 2. Each has a part of its points and a box inside its own.
    above = np.flatnonzero(leaf == 0)
    left, right = 2 * above + 1, 2 * above + 2
    if above.size and right.max() >= len(nodes):
        return False
    parts = (start[left] == start[above]) & (end[left] == start[right]) & (end[right] == end[above])
    inside = [(low[above] <= low[child]).all() and (high[child] <= high[above]).all() for child in (left, right)]
    if not (parts.all() and all(inside)):
        return False
    # The leaves, from left to right, have all points, each in the box of its leaf.
    leaves = np.flatnonzero(leaf != 0)
    leaves = leaves[np.argsort(start[leaves])]
    if not (leaves.size and np.array_equal(end[leaves][:-1], start[leaves][1:])):
        return False
    rows = data[order]
    least, most = (reduce.reduceat(rows, start[leaves], axis=0) for reduce in (np.minimum, np.maximum))
    return bool((low[leaves] <= least).all() and (most <= high[leaves]).all())


def measures_euclidean(tree: Any) -> bool:
    """True if the metric that a ``KDTree`` keeps, by which it searches, is known to be the Euclidean distance."""
    return type(tree) in (KDTree,) and [
        type(part) for part in tree.__getstate__() if isinstance(part, DistanceMetric)
    ] == [_EUCLIDEAN]


_REFERENCE_SAMPLE = 24  # rows that are looked up in the model where all of its points can be read
# Rows that scikit-learn mapped while it fitted (fit_transform) may differ from rows that it maps now by this many
# roundings of a sum; seen: up to 5.4 (PCA).
_ROUNDINGS = 32.0
# A distance of 0 may come out as this fraction of the magnitudes, where it is the root of ‖u‖² − 2u·z + ‖z‖².
_BLUR = 1e-7
_SMALLEST, _LARGEST_ROW = 1e-100, 1e100  # lengths whose squares, and differences of squares, are ordinary numbers
_NEAREST, _DISTANCES = (
    4,
    1e-11,
)  # points whose distances are compared; fraction of scale² that squares may differ by

_WHAT = "reference must be the rows the pipeline was fitted on, before its first step, and their labels"


def check_reference(knn: KNeighborsClassifier, reference, steps: Chain, n_features: int):
    """Rows and labels as arrays, or a ``ValueError`` that says how they differ from the model's own.

    The points and labels it stores, where this version of scikit-learn shows them, must agree to rounding;
    :func:`stored_points` checks that the model votes with them. Else the rows are looked up in the model: the nearest
    point of each mapped row must be that row, at distance 0 (which checks only half of the digits), with the same
    label.
    """
    rows, labels = reference
    refuse_single_precision("reference", rows)
    rows = check_array(rows, dtype=np.float64, input_name="reference")
    labels = np.asarray(labels)
    if rows.shape != (knn.n_samples_fit_, n_features) or labels.shape != (rows.shape[0],):
        raise ValueError(
            f"reference must be the {knn.n_samples_fit_} rows of {n_features} features the model was fitted "
            f"on, and their labels; got shapes {rows.shape} and {labels.shape}."
        )
    if not np.array_equal(np.unique(labels), knn.classes_):
        raise ValueError("The labels in reference are not the classes the model was fitted on.")
    mapped = steps.image(rows, fixed=True)
    size = steps.magnitude(rows)
    if not _compare_stored(knn, mapped, labels, size):
        _ask_model(knn, mapped, labels, size)
    return rows, labels


def shows_points(knn: KNeighborsClassifier) -> bool:
    """True if this version of scikit-learn gives access to the points of a model."""
    return _stored(knn)[0] is not None


class Stored(NamedTuple):
    """What a model of scikit-learn votes with.

    Attributes
    ----------
    points : ndarray of shape (n, r)
    codes : int ndarray of shape (n,)
        Class codes of the points.
    nearest : bool
        Whether the model is proven to find the points that are nearest in the Euclidean distance: no distance need be
        asked.
    """

    points: np.ndarray
    codes: np.ndarray
    nearest: bool


def stored_points(knn, passed: bool = False, plain: bool = False) -> Stored:
    """The points and class codes that the model votes with, as this version of scikit-learn stores them.

    They are no public attribute, so they are looked up in the model (``kneighbors``, ``predict``): the nearest point of
    a point must be itself, with its label. In a tree every point is looked up, because its nodes may be those of other
    points, unless its boxes can be read and hold its points. A model that searches all points, or whose boxes hold
    them, is asked for the labels of a sample, unless it is known to answer with those it stores. Distances are checked
    by :func:`check_distances`. Where the points cannot be read, ``reference`` must be given.

    Parameters
    ----------
    knn : KNeighborsClassifier or RadiusNeighborsClassifier
    passed : bool, default=False
        Whether this very model, to the last bit, has passed the checks before.
    plain : bool, default=False
        Whether it holds nothing but numbers, strings and trees, so that its methods are those of its class.
    """
    points, codes = _stored(knn)
    if points is None or codes is None or len(points) != knn.n_samples_fit_ or len(codes) != len(points):
        raise ValueError(
            "This version of scikit-learn's KNeighborsClassifier does not tell its training data: give "
            "reference=(X_train, y_train), the rows the pipeline was fitted on."
        )
    refuse_single_precision("The model's own rows", points)
    points = check_array(points, dtype=np.float64)
    if passed:
        return Stored(points, codes, True)
    size = np.linalg.norm(points, axis=1) + 1e-300
    tree, method = getattr(knn, "_tree", None), getattr(knn, "_fit_method", None)
    if isinstance(knn, RadiusNeighborsClassifier):
        _ask_within(knn, points, size)
        return Stored(points, codes, False)
    in_boxes = plain and method == "kd_tree" and boxes_hold(tree, points)
    if not (in_boxes or method == "brute"):
        _ask_model(knn, points, knn.classes_[codes], size)
    elif not (plain and _answers_with_stored_labels(numbers_of_functions(KNeighborsClassifier))):
        _ask_labels(copy(knn).set_params(n_neighbors=1), points, knn.classes_[codes], size)
    ordinary = _SMALLEST < float(size.max()) < _LARGEST_ROW
    return Stored(points, codes, in_boxes and ordinary and measures_euclidean(tree))


def _sample(n: int) -> np.ndarray:
    """Some of n rows, from the first to the last."""
    return np.unique(np.linspace(0, n - 1, _REFERENCE_SAMPLE).astype(int))


def check_distances(knn: KNeighborsClassifier, points: np.ndarray, mapped: np.ndarray, scale: float) -> None:
    """Refuse a model whose distances are not those of its points: data or metric may have changed since ``fit``.

    A tree keeps a metric of its own, and the bounds of its nodes. So for a sample of the points the distances of the
    model's nearest ones are compared with those between ``mapped``, the points in the space of the vote.
    """
    sample, k = _sample(len(points)), min(_NEAREST, len(points))
    distances, index = knn.kneighbors(with_names(points[sample], knn), n_neighbors=k)
    squares = np.einsum("nr,nr->n", mapped, mapped)
    all_ = np.maximum(squares[sample][:, None] - 2.0 * mapped[sample] @ mapped.T + squares, 0.0)
    theirs = np.take_along_axis(all_, index, axis=1)  # of the points that the model takes for the nearest
    np.put_along_axis(all_, index, np.inf, axis=1)
    others = np.where(np.isinf(all_).sum(axis=1) == k, all_.min(axis=1), -np.inf)  # k points, none of them twice
    nearest = np.minimum(distances**2, others[:, None])  # of all points, if the others are no nearer than those
    if not (np.abs(np.stack([nearest, theirs]) - distances**2) <= _DISTANCES * scale**2).all():
        raise ValueError(
            "The distances that the model finds are not those between its own points: its rows, or its metric, were "
            "changed after fit. Fit it again."
        )


def _ask_within(knn: RadiusNeighborsClassifier, points: np.ndarray, size: np.ndarray) -> None:
    """Each point of a sample must be among those that the model finds at distance 0 from it."""
    sample = _sample(len(points))
    neighbors = knn.radius_neighbors(
        with_names(points[sample], knn), radius=_BLUR * float(size.max()), return_distance=False
    )  # fmt: skip
    if not all(row in at for row, at in zip(sample, neighbors, strict=True)):
        raise ValueError("The rows that this RadiusNeighborsClassifier stores are not those that it votes with.")


def _stored(knn) -> tuple[np.ndarray | None, np.ndarray | None]:
    """Points and class codes from private attributes of scikit-learn; None for both where they are not as expected.

    Codes of no class are refused.
    """
    points: Any = getattr(knn, "_fit_X", None)
    codes: Any = getattr(knn, "_y", None)
    points = points.toarray() if hasattr(points, "toarray") else points
    known = isinstance(points, np.ndarray) and isinstance(codes, np.ndarray) and codes.ndim == 1
    if not known:
        return None, None
    if not ((codes >= 0) & (codes < len(knn.classes_))).all():  # compiled code, also scikit-learn's, would not notice
        raise ValueError(
            f"The labels that this {type(knn).__name__} stores are not codes of its {len(knn.classes_)} classes: it "
            "was changed after fit. Fit it again."
        )
    return points, codes


def _ask_model(knn, mapped: np.ndarray, labels: np.ndarray, size: np.ndarray) -> None:
    """The nearest point of each row must be the row itself, with its label; a sample is enough for stored labels."""
    nearest = copy(knn).set_params(n_neighbors=1)
    distance, index = (column[:, 0] for column in nearest.kneighbors(with_names(mapped, knn)))
    apart = np.linalg.norm(mapped[index] - mapped, axis=1)  # of the row that the model takes for this one
    far = (distance > _BLUR * size) | (apart > _BLUR * size)
    if far.any():
        raise ValueError(
            f"{_WHAT}: {int(far.sum())} of {len(mapped)} rows are not among those of the model, the first is "
            f"row {int(np.argmax(far))}. Were they scaled, rounded, shuffled or split otherwise?"
        )
    if shows_points(knn):  # they were compared, or are these: a sample shows that the model votes with them
        _ask_labels(nearest, mapped, labels, size)
        return
    wrong = np.asarray(nearest.predict(with_names(mapped, knn))) != labels[index]
    if wrong.any():
        _refuse_labels(int(wrong.sum()), int(index[np.argmax(wrong)]))


@cache
def _answers_with_stored_labels(functions: tuple) -> bool:
    """True if scikit-learn, with these functions, predicts with the labels that a model stores."""
    rows = [[0.0], [1.0], [2.0]]
    for method in ("brute", "kd_tree"):
        knn = KNeighborsClassifier(1, algorithm=method).fit(rows, [0, 1, 2])
        for codes in ([2, 0, 1], [1, 1, 0]):
            knn._y = np.array(codes)
            answers = knn.predict(rows), knn.predict_proba(rows).argmax(axis=1)
            if not all(np.array_equal(answer, codes) for answer in answers):
                return False
    return True


def _ask_labels(nearest, points: np.ndarray, labels: np.ndarray, size: np.ndarray) -> None:
    """A model of one neighbour must give a sample of its points their labels, or those of points in the same place."""
    sample = _sample(len(points))
    answers = nearest.classes_[nearest.predict_proba(with_names(points[sample], nearest)).argmax(axis=1)]
    for row, label in zip(sample, answers, strict=True):
        if label != labels[row]:
            here = np.linalg.norm(points - points[row], axis=1) <= 2.0 * _BLUR * size[row]
            if not (labels[here] == label).any():
                _refuse_labels(1, int(row))


def _refuse_labels(count: int, first: int) -> None:
    raise ValueError(f"{_WHAT}: {count} labels are not those of the model, the first is that of row {first}.")


def _compare_stored(knn, mapped: np.ndarray, labels: np.ndarray, size: np.ndarray) -> bool:
    """Compare with the points and labels the model stores; False if this version of scikit-learn shows none."""
    points, codes = _stored(knn)
    if points is None or codes is None:
        return False
    refuse_single_precision("The model's own rows", points)
    limit = _ROUNDINGS * (mapped.shape[1] + 8) * UNIT_ROUNDOFF * size
    apart = np.linalg.norm(points - mapped, axis=1) if points.shape == mapped.shape else np.full(1, np.inf)
    if (apart > limit).any():
        row = int(np.argmax(apart > limit))
        raise ValueError(f"{_WHAT}: row {row} differs from the model's by {apart[row]:.3g}, more than rounding does.")
    wrong = knn.classes_[codes] != labels
    if wrong.any():
        _refuse_labels(int(wrong.sum()), int(np.argmax(wrong)))
    return True


def refuse_single_precision(owner: str, rows) -> None:
    """Raise ``ValueError`` if rows are in half or single precision."""
    coarse = [name for name in precisions(rows) if name in ("float16", "float32")]
    if coarse:
        verb = "are" if owner.endswith("rows") else "is"
        raise ValueError(
            f"{owner} {verb} {coarse[0]}: a model fitted on it rounds far more coarsely than a certificate allows for. "
            "Fit the model on float64, reference=(X_train.astype(float), y_train), and certify that."
        )


_CONDITION = 1e-10  # least ratio of eigenvalues of a Mahalanobis metric; its distances lose as many digits
_EXPONENTS = {
    "euclidean": 2.0, "l2": 2.0, "manhattan": 1.0, "cityblock": 1.0, "l1": 1.0, "chebyshev": np.inf, "infinity": np.inf,
}  # fmt: skip


class Minkowski(NamedTuple):
    """``d(x, z) = ‖map(x) − map(z)‖_p``.

    Attributes
    ----------
    p : float
    map : AffineMap or None
        None: the rows themselves.
    """

    p: float
    map: AffineMap | None


def metric_of(knn: KNeighborsClassifier | RadiusNeighborsClassifier) -> Minkowski:
    """The metric a model was fitted with; a metric that is not of this form is refused."""
    fitted, named = knn.effective_metric_, _named_metric(knn)
    parameters = dict(knn.effective_metric_params_ or {})
    now = knn.metric_params or {}
    if fitted != named or any(parameters.get(name) is not now.get(name, parameters.get(name)) for name in ("VI", "w")):
        raise ValueError(
            f"The metric was changed after fit: the model was fitted with {fitted!r} and now names {named!r}. Fit it "
            "again."
        )
    if fitted == "mahalanobis" and "VI" in parameters:
        return Minkowski(2.0, _mahalanobis(check_metric(parameters["VI"], name="VI")))
    p = float(parameters.get("p", knn.p)) if fitted == "minkowski" else _EXPONENTS.get(str(fitted), 0.0)
    if not p >= 1:
        raise ValueError(
            f"metric={knn.metric!r}{f' (p={p:g})' if fitted == 'minkowski' else ''} cannot be certified: only "
            "Minkowski distances with p of at least 1 (euclidean, manhattan, chebyshev, minkowski) and "
            "metric='mahalanobis' with metric_params={'VI': M}. The cosine distance ranks as the Euclidean one does "
            "after a Normalizer()."
        )
    if parameters.get("w") is None:
        return Minkowski(p, None)
    weights = np.asarray(parameters["w"], dtype=np.float64)
    if not (np.isfinite(weights).all() and (weights >= 0).all() and np.isfinite(p)):
        raise ValueError("Weights w of features must be finite and not negative, with p below infinity.")
    return Minkowski(p, AffineMap.step(np.diag(weights ** (1.0 / p))))


def _named_metric(knn) -> str:
    """The metric that the parameters stand for, in the words of ``effective_metric_``."""
    if knn.metric != "minkowski" or (knn.metric_params or {}).get("w") is not None:
        return knn.metric
    p = (knn.metric_params or {}).get("p", knn.p)
    return {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}.get(p, "minkowski")


def _mahalanobis(VI: np.ndarray) -> AffineMap:
    """``L`` with ``LᵀL = VI``, accurate in every column whatever its units: R of ``VI = D R D`` is factored.

    scikit-learn sums ``(x − z)ᵀ VI (x − z)``, so the rounding depends on ``|x|ᵀ|VI||x| ≤ ‖ |R| ‖ ‖D|x|‖²``.
    """
    D = np.sqrt(np.diag(VI))
    unit = np.where(D > 0, D, 1.0)
    R = VI / unit / unit[:, None]
    values, V = np.linalg.eigh(R)
    if values[0] < _CONDITION * values[-1]:
        raise ValueError(
            f"VI is too ill-conditioned to be certified (eigenvalues {values[0]:.3g} to {values[-1]:.3g} in units of "
            "its diagonal): leave out features that the others determine."
        )
    L = np.sqrt(values)[:, None] * V.T * unit
    absolute = np.abs(L) + np.sqrt(np.linalg.norm(np.abs(R), 2)) * np.diag(unit)
    return AffineMap(L, np.zeros(len(L)), absolute, np.zeros(len(L)))


_SAMPLE = 50  # rows whose distances are compared with the model's own
_AGREE = 1e-6  # fraction of the size of the points: a distance near 0 has half of the digits
_PASSED = Passed()  # fingerprints of models that passed the checks
_LARGEST = 1e280  # p-th powers of distances stay below


@dataclass(frozen=True)
class DistanceVoter(Voter):
    """Votes that depend on the distances themselves; see :class:`~holdfast.certificates.questions.DistanceProblem`.

    Attributes
    ----------
    points, codes : ndarrays of shapes (n, r) and (n,)
    n_neighbors : int
        0: all within ``within``.
    within, p : float
    weighted : bool
    outlier : int
    scale : float
        Magnitude of the reference rows behind the points.
    """

    points: np.ndarray
    codes: np.ndarray
    n_neighbors: int
    within: float
    p: float
    weighted: bool
    outlier: int
    scale: float

    def problem(self, map_: AffineMap, moves: Moves) -> DistanceProblem:
        """The vote, for inputs that ``map_`` takes to the points."""
        return DistanceProblem(
            self.points, self.codes, map_.W, len(self.classes), self.n_neighbors, self.within, self.p, self.weighted,
            self.outlier, moves, map_.scale + self.scale, map_.absolute, map_.n_steps, map_.n_terms,
        )  # fmt: skip

    def opponents(self, queries: np.ndarray, codes: np.ndarray, n_jobs: int | None) -> Iterator[np.ndarray]:
        """The nearest points of other classes, and the place twice as far away as the nearest."""
        return nearest_opponents(self.points, self.codes, queries, codes, n_jobs)


def read_nearest(model, last: KNeighborsClassifier, steps: Chain, n_features: int, reference) -> Voter:
    """KNeighborsClassifier: a voter for the exact engines if the vote is unweighted and Euclidean, else for bounds."""
    metric = _checked_metric(last)
    k = int(last.n_neighbors)
    if not 1 <= k <= last.n_samples_fit_:
        raise ValueError(f"n_neighbors must be between 1 and {last.n_samples_fit_}, the training rows; got {k}.")
    chain = steps if metric.map is None else steps.then(metric.map)
    checked = None if reference is None else check_reference(last, reference, steps, n_features)
    if checked is None or shows_points(last):  # the model's own points, to the last bit
        passed = (digest := fingerprint(last)) in _PASSED
        points, codes, nearest = stored_points(last, passed, plain=digest is not None)
        mapped, scale = _in_space(points, metric.map)
    else:
        passed, digest, nearest = False, None, False
        rows, labels = checked
        codes = np.searchsorted(last.classes_, labels)
        points, mapped, scale = steps.image(rows), chain.image(rows), float(chain.magnitude(rows).max())
    weighted = last.weights == "distance" and k > 1  # one neighbour wins whatever it weighs
    if metric.p == 2 and not weighted:
        if not passed:
            if not (nearest and metric.map is None):
                check_distances(last, points, mapped, scale)
            _PASSED.add(digest)
        return NeighborVoter(model, chain, last.classes_, n_features, mapped, codes, k, "lowest", False, scale)
    _compare_distances(last, points, mapped, metric.p, scale)
    _refuse_normalizer(chain, last)
    return DistanceVoter(
        model, chain, last.classes_, n_features, mapped, codes, k, 0.0, metric.p, weighted, -1, scale
    )  # fmt: skip


def read_within(model, last: RadiusNeighborsClassifier, steps: Chain, n_features: int, reference) -> DistanceVoter:
    """RadiusNeighborsClassifier: all points within its radius vote."""
    metric = _checked_metric(last)
    outlier = last.outlier_label_
    outlier = outlier[0] if isinstance(outlier, list | tuple | np.ndarray) else outlier
    known = {str(label): code for code, label in enumerate(last.classes_.tolist())}
    if str(outlier) not in known:
        raise ValueError(
            f"RadiusNeighborsClassifier(outlier_label={last.outlier_label!r}) has no answer among its classes where no "
            "row is within the radius: set outlier_label='most_frequent', or to one of the classes."
        )
    if reference is not None:
        raise ValueError("A RadiusNeighborsClassifier is certified with its own rows: leave out reference.")
    points, codes, _ = stored_points(last)
    chain = steps if metric.map is None else steps.then(metric.map)
    mapped, scale = _in_space(points, metric.map)
    _compare_distances(last, points, mapped, metric.p, scale)
    _refuse_normalizer(chain, last)
    return DistanceVoter(
        model, chain, last.classes_, n_features, mapped, codes, 0, float(last.radius), metric.p,
        last.weights == "distance", known[str(outlier)], scale,
    )  # fmt: skip


def _in_space(points: np.ndarray, metric: AffineMap | None) -> tuple[np.ndarray, float]:
    """The model's points in the space of the vote, and the largest magnitude behind one."""
    if metric is None:
        return points, float(np.linalg.norm(points, axis=1).max())
    return metric(points), float(np.linalg.norm(np.abs(points) @ metric.absolute.T, axis=1).max())


def _checked_metric(last) -> Minkowski:
    """The metric of a model; a vote that cannot be certified is refused."""
    if last.weights not in ("uniform", "distance") and last.weights is not None:
        raise ValueError(
            f"weights={last.weights!r} cannot be certified: only votes that count alike (weights='uniform') or one "
            "over their distance (weights='distance')."
        )
    if last.outputs_2d_:
        raise ValueError(f"A {type(last).__name__} with several outputs cannot be certified.")
    return metric_of(last)


def _compare_distances(last, points: np.ndarray, mapped: np.ndarray, p: float, scale: float) -> None:
    """Refuse a model whose own distances, for a sample of its points, are not those that are certified."""
    problem = DistanceProblem(mapped, np.zeros(len(mapped), np.int64), np.eye(mapped.shape[1]), 1, 1, p=p)
    largest = 2.0 * max(float(np.abs(mapped).max()), 1e-300)
    if np.isfinite(p) and p * np.log(largest) + np.log(mapped.shape[1]) > np.log(_LARGEST):
        raise ValueError(
            f"Differences of up to {largest:.3g} to the power {p:g} overflow: put a scaler before the model."
        )
    rows = np.linspace(0, len(points) - 1, min(_SAMPLE, len(points))).astype(int)
    sample = with_names(points[rows], last)
    if isinstance(last, RadiusNeighborsClassifier):
        distances, index = last.radius_neighbors(sample)
    else:
        distances, index = last.kneighbors(sample)
    for row, theirs, at in zip(rows, distances, index, strict=True):
        if np.abs(problem.distances(mapped[row])[at] - theirs).max(initial=0.0) > _AGREE * scale:
            raise ValueError(
                f"The distances of {type(last).__name__}(metric={last.metric!r}) are not those of the Minkowski metric "
                f"with p={p:g}, so the model cannot be certified."
            )


def _refuse_normalizer(chain: Chain, last) -> None:
    if not chain.keeps_distances:
        raise ValueError(
            f"A Normalizer before {type(last).__name__} with weights={last.weights!r}, metric={last.metric!r} cannot "
            "be certified in the units of X: only before votes that count alike, in the Euclidean or a Mahalanobis "
            "metric. Certify the classifier on the normalised rows instead: certify(model[k:], model[:k].transform(X))."
        )
