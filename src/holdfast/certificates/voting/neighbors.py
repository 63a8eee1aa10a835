"""Votes by distance: holdfast's classifiers (neighbours and prototypes) and scikit-learn's k nearest neighbours."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol, runtime_checkable

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from holdfast.affine import Affine
from holdfast.certificates.folding import Fold
from holdfast.certificates.moves import Moves
from holdfast.certificates.problems import NeighborProblem
from holdfast.certificates.voting.base import Voter
from holdfast.certificates.voting.reference import check_distances, check_reference, shows_points, stored_points
from holdfast.constraints.search import nearest_by_class
from holdfast.metric import check_metric

_OPPONENTS = 5  # points of other classes a row is walked towards
_SMALLEST, _LARGEST = 1e-140, 1e150  # sizes whose squares float64 holds, sums and errors included
_CONDITION = 1e-10  # of a Mahalanobis metric, whose distances lose as many digits


@runtime_checkable
class VotesByDistance(Protocol):
    """A fitted classifier that lets the nearest of its reference points vote, under ``components_``."""

    components_: np.ndarray
    reference_: np.ndarray
    reference_codes_: np.ndarray
    classes_: np.ndarray

    def voters_per_row(self) -> int:
        """k."""

    def validate(self) -> None:
        """Raise ``ValueError`` unless shapes, ranges and counts of these attributes agree."""

    def predict(self, X) -> np.ndarray:
        """The class that wins the vote, for each row."""

    def _vote(self, X) -> np.ndarray:
        """The same function: a subclass with another ``predict`` does not vote by distance."""


@dataclass(frozen=True)
class NeighborVoter(Voter):
    """The k nearest of some points vote.

    Attributes
    ----------
    points, codes : ndarrays of shapes (n, r) and (n,)
        The points in the space of the vote, and their class codes.
    n_neighbors : int
    ties : str
        Who wins equal votes; see NeighborProblem.
    shared : bool
        Whether these are the points of the model itself, and not the reference rows mapped here.
    scale : float
        ``max ‖ |W| |x_j| ‖`` over reference rows x_j that were mapped here, whose rounding the model's own may
        not share.
    """

    points: np.ndarray
    codes: np.ndarray
    n_neighbors: int
    ties: str
    shared: bool = True
    scale: float = 0.0

    def problem(self, map_: Affine, moves: Moves) -> NeighborProblem:
        """The vote, for inputs that ``map_`` takes to the points."""
        largest = float(np.abs(self.points).max(initial=0.0))
        if not (largest == 0.0 or _SMALLEST < largest < _LARGEST):
            raise ValueError(
                f"The model compares squares of distances between points of size {largest:.3g}, which over- or "
                "underflow: this cannot be certified. Put a scaler before the model, or give the data other units."
            )
        return NeighborProblem(
            points=self.points,
            labels=self.codes,
            T=map_.W,
            n_neighbors=self.n_neighbors,
            moves=moves,
            n_classes=len(self.classes),
            ties=self.ties,
            scale=map_.scale + self.scale,
            absolute=map_.absolute,
            n_steps=map_.n_steps,
            shared=self.shared,
        )

    def opponents(self, queries: np.ndarray, codes: np.ndarray, n_jobs: int | None) -> Iterator[np.ndarray]:
        """The nearest points of other classes, and the place beyond the nearest, as far again."""
        _, other = nearest_by_class(self.points, self.codes, 1, _OPPONENTS, n_jobs, (queries, codes))
        for column, reach in [*((c, 1.0) for c in other.T), (other[:, 0], 2.0)]:
            place = queries + reach * (self.points[np.maximum(column, 0)] - queries)
            place[column < 0] = np.nan
            yield place


def votes_by_distance(last) -> bool:
    """Whether the nearest points decide, and nothing that a subclass has put in place of ``predict``."""
    return isinstance(last, VotesByDistance) and getattr(type(last), "_vote", None) is type(last).predict


def read_votes_by_distance(model, last: VotesByDistance, steps: Fold, n_features: int, reference) -> NeighborVoter:
    """One of holdfast's classifiers."""
    last.validate()
    points = last.reference_ @ last.components_.T
    chain = steps.then(Affine.step(last.components_))
    k = last.voters_per_row()
    return NeighborVoter(model, chain, last.classes_, n_features, points, last.reference_codes_, k, "nearest")


def read_scikit_learn(model, last: KNeighborsClassifier, steps: Fold, n_features: int, reference) -> NeighborVoter:
    """scikit-learn's KNeighborsClassifier; other votes and metrics than it can be certified with are refused."""
    metric = _metric(last)
    k = int(last.n_neighbors)
    if not 1 <= k <= last.n_samples_fit_:
        raise ValueError(f"n_neighbors must be between 1 and {last.n_samples_fit_}, the training rows; got {k}.")
    chain = steps if metric is None else steps.then(metric)
    given = None if reference is None else check_reference(last, reference, steps, n_features)
    if given is None or shows_points(last):  # the model's own points, to the last bit
        points, codes = stored_points(last, asked=given is not None)
        own = Affine.identity(points.shape[1]) if metric is None else metric
        mapped, scale = own(points), float(np.linalg.norm(np.abs(points) @ own.absolute.T, axis=1).max())
        check_distances(last, points, mapped, scale)
    else:
        rows, labels = given
        codes = np.searchsorted(last.classes_, labels)
        mapped, scale = chain(rows), float(chain.sizes(rows).max())
    return NeighborVoter(model, chain, last.classes_, n_features, mapped, codes, k, "lowest", False, scale)


def _metric(knn: KNeighborsClassifier) -> Affine | None:
    """The linear map its metric stands for (None: Euclidean); other votes and metrics are refused."""
    if knn.weights != "uniform":
        raise ValueError(
            f"weights={knn.weights!r} cannot be certified: only votes that count alike (weights='uniform')."
        )
    if knn.outputs_2d_:
        raise ValueError("A KNeighborsClassifier with several outputs cannot be certified.")
    fitted, given = knn.effective_metric_, _named_metric(knn)
    parameters = knn.effective_metric_params_ or {}
    if fitted != given or parameters.get("VI") is not (knn.metric_params or {}).get("VI", parameters.get("VI")):
        raise ValueError(
            f"The metric was changed after fit: the model was fitted with {fitted!r} and now names {given!r}. Fit it "
            "again."
        )
    if fitted == "euclidean" and parameters.get("w") is None:
        return None
    if fitted == "mahalanobis" and "VI" in parameters:
        return _mahalanobis(check_metric(parameters["VI"], name="VI"))
    p = parameters.get("p", knn.p)
    named = {1: " (p=1, the Manhattan distance)", np.inf: " (p=inf, the Chebyshev distance)"}.get(p, f" (p={p})")
    weighted = " with weights w of features" if parameters.get("w") is not None else ""
    raise ValueError(
        f"metric={knn.metric!r}{named if knn.metric == 'minkowski' else ''}{weighted} cannot be certified, since its "
        "boundaries between points are not planes: only the Euclidean distance (p=2), and metric='mahalanobis' with "
        "metric_params={'VI': M}. Put a scaler before the model in place of weights of features."
    )


def _named_metric(knn: KNeighborsClassifier) -> str:
    """The metric that the parameters stand for, in the words of ``effective_metric_``."""
    if knn.metric != "minkowski" or (knn.metric_params or {}).get("w") is not None:
        return knn.metric
    p = (knn.metric_params or {}).get("p", knn.p)
    return {1: "manhattan", 2: "euclidean", np.inf: "chebyshev"}.get(p, "minkowski")


def _mahalanobis(VI: np.ndarray) -> Affine:
    """``L`` with ``LᵀL = VI``, accurate in every column whatever its units: of ``VI = D R D`` R is factored.

    scikit-learn sums ``(x − z)ᵀ VI (x − z)``, so the magnitudes that round are ``|x|ᵀ|VI||x| ≤ ‖ |R| ‖ ‖D|x|‖²``.
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
    return Affine(L, np.zeros(len(L)), absolute, np.zeros(len(L)))
