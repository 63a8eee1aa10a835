"""Check that the reference rows given for scikit-learn's k-NN are the rows it votes with."""

from copy import copy
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier
from sklearn.utils import check_array

from holdfast.certificates.folding import Fold
from holdfast.certificates.rounding import UNIT_ROUNDOFF
from holdfast.certificates.voting.boxes import boxes_hold, measures_euclidean
from holdfast.numerics.frames import precisions, with_names
from holdfast.numerics.own_functions import numbers_of_functions

_SAMPLE = 24  # rows that are looked up in the model where all of its points can be read
# Rows that scikit-learn mapped while it fitted (fit_transform) may differ from rows that it maps now by this many
# roundings of a sum; seen: up to 5.4 (PCA).
_ROUNDINGS = 32.0
# A distance of 0 may come out as this fraction of the magnitudes, where it is the root of ‖u‖² − 2u·z + ‖z‖².
_BLUR = 1e-7
_SMALLEST, _LARGEST = 1e-100, 1e100  # lengths whose squares, and differences of squares, are ordinary numbers
_NEAREST, _DISTANCES = (
    4,
    1e-11,
)  # points whose distances are compared; fraction of scale² that squares may differ by

_WHAT = "reference must be the rows the pipeline was fitted on, before its first step, and their labels"


def check_reference(knn: KNeighborsClassifier, reference, steps: Fold, n_features: int):
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
    mapped = steps(rows, fixed=True)
    size = steps.sizes(rows)
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
    ordinary = _SMALLEST < float(size.max()) < _LARGEST
    return Stored(points, codes, in_boxes and ordinary and measures_euclidean(tree))


def _sample(n: int) -> np.ndarray:
    """Some of n rows, from the first to the last."""
    return np.unique(np.linspace(0, n - 1, _SAMPLE).astype(int))


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
