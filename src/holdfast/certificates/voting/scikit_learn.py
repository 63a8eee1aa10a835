"""scikit-learn's neighbours: k nearest or all within a radius, weighted or not, in any Minkowski metric."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np
from sklearn.neighbors import KNeighborsClassifier, RadiusNeighborsClassifier

from holdfast.affine import Affine
from holdfast.certificates.folding import Fold
from holdfast.certificates.moves import Moves
from holdfast.certificates.problems import DistanceProblem
from holdfast.certificates.voting.base import Voter
from holdfast.certificates.voting.minkowski import Minkowski, metric_of
from holdfast.certificates.voting.neighbors import NeighborVoter, nearest_opponents
from holdfast.certificates.voting.reference import check_distances, check_reference, shows_points, stored_points
from holdfast.numerics.fingerprint import Passed, fingerprint
from holdfast.numerics.frames import with_names

_SAMPLE = 50  # rows whose distances are compared with the model's own
_AGREE = 1e-6  # fraction of the size of the points: a distance near 0 has half of the digits
_PASSED = Passed()  # fingerprints of models that passed the checks
_LARGEST = 1e280  # p-th powers of distances stay below


@dataclass(frozen=True)
class DistanceVoter(Voter):
    """Votes that depend on the distances themselves; see :class:`~holdfast.certificates.problems.DistanceProblem`.

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

    def problem(self, map_: Affine, moves: Moves) -> DistanceProblem:
        """The vote, for inputs that ``map_`` takes to the points."""
        return DistanceProblem(
            self.points, self.codes, map_.W, len(self.classes), self.n_neighbors, self.within, self.p, self.weighted,
            self.outlier, moves, map_.scale + self.scale, map_.absolute, map_.n_steps, map_.n_terms,
        )  # fmt: skip

    def opponents(self, queries: np.ndarray, codes: np.ndarray, n_jobs: int | None) -> Iterator[np.ndarray]:
        """The nearest points of other classes, and the place twice as far away as the nearest."""
        return nearest_opponents(self.points, self.codes, queries, codes, n_jobs)


def read_nearest(model, last: KNeighborsClassifier, steps: Fold, n_features: int, reference) -> Voter:
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
        points, mapped, scale = steps(rows), chain(rows), float(chain.sizes(rows).max())
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


def read_within(model, last: RadiusNeighborsClassifier, steps: Fold, n_features: int, reference) -> DistanceVoter:
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


def _in_space(points: np.ndarray, metric: Affine | None) -> tuple[np.ndarray, float]:
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


def _refuse_normalizer(chain: Fold, last) -> None:
    if chain.after is not None:
        raise ValueError(
            f"A Normalizer before {type(last).__name__} with weights={last.weights!r}, metric={last.metric!r} cannot "
            "be certified in the units of X: only before votes that count alike, in the Euclidean or a Mahalanobis "
            "metric. Certify the classifier on the normalised rows instead: certify(model[k:], model[:k].transform(X))."
        )
