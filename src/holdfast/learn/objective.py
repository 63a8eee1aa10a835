"""The objective of a learner: weighted terms, summed over triplets, as a function of the metric."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property

import numpy as np

from holdfast.learn.geometry import AnchorBlock, TripletGeometry, cache_friendly_order, scatters
from holdfast.learn.supervision import Triplets
from holdfast.learn.terms import MatrixTerm, TripletTerm

Terms = Sequence[tuple[float, TripletTerm | MatrixTerm]]  # weights and terms


class Objective:
    """``J(M) = Σ weight · (mean over S or R of a triplet term) + Σ weight · matrix term(M)``.

    A pure function: the same M gives the same value and gradient, bit for bit, on any number of threads.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features), float64, C order
    triplets : Triplets
    terms : sequence of (weight, term)
    B : ndarray or None
        Inverse shape of the perturbation, for the terms that read h.
    n_jobs : int or None
        Threads.
    """

    def __init__(
        self, X: np.ndarray, triplets: Triplets, terms: Terms, B: np.ndarray | None = None, n_jobs: int | None = None
    ):
        self.terms, self._n_jobs = list(terms), n_jobs
        self._over: dict[str, list[tuple[float, TripletTerm]]] = {"R": [], "S": []}
        self._of_M: list[tuple[float, MatrixTerm]] = []
        reads_h = False
        for weight, term in self.terms:
            if isinstance(term, MatrixTerm):
                self._of_M.append((weight, term))
            else:
                self._over[term.over].append((weight, term))
                reads_h = reads_h or term.reads_h
        self.geometry = self.make_geometry(X, triplets, B, reads_h, n_jobs)
        self.triplets = self.geometry.triplets

    def make_geometry(self, X: np.ndarray, triplets: Triplets, *settings) -> TripletGeometry:
        """Build the geometry, with the points in a cache-friendly order: the sum is permutation-invariant."""
        return TripletGeometry(*_in_cache_friendly_order(X, triplets), *settings)

    def __call__(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and symmetric gradient at M."""
        geometry = self.geometry
        geometry.measure(M)
        value = float(sum(geometry.sweep(self._sum_over)))
        G = geometry.gradient_in_metric()
        for weight, matrix_term in self._of_M:
            total, gradient = matrix_term.value_and_grad(M)
            value += weight * total
            G += weight * gradient
        return value, G

    def _sum_over(self, block: AnchorBlock) -> float:
        """The share of a block of anchors in the value; the geometry collects the derivatives."""
        geometry, t = self.geometry, self.triplets
        a, b, h, a_of_S = geometry.numbers(block)
        value = 0.0
        for weight, term in self._over["R"]:
            factor = weight / len(t)
            total, da, db, dh = term.value_and_partials(a, b, h)
            geometry.collect(block, factor, da, db, dh)
            value += factor * total
        for weight, term in self._over["S"]:
            factor = weight / t.targets.size
            total, ds, _, _ = term.value_and_partials(a_of_S, None, None)
            geometry.collect(block, factor, ds=ds)
            value += factor * total
        return value

    @property
    def n_features(self) -> int:
        """Number of rows, and of columns, of M."""
        return self.geometry.X.shape[1]

    @cached_property
    def scatters(self) -> tuple[np.ndarray, np.ndarray]:
        """The means over R of ``X_ij`` and of ``X_il``, where ``X_ij = (x_i − x_j)(x_i − x_j)ᵀ``."""
        return scatters(self.geometry.X, self.triplets, self._n_jobs)

    def largest_distance(self, M: np.ndarray) -> float:
        """The largest ``d²_M`` of a pair."""
        return self.geometry.largest_distance(M)

    def close(self) -> None:
        """End the threads."""
        self.geometry.close()

    def __enter__(self) -> "Objective":
        return self

    def __exit__(self, *exc) -> None:
        self.close()


class SampledObjective(Objective):
    """An objective that can also be made over some of its anchors."""

    @property
    def n_parts(self) -> int:
        """Number of anchors."""
        return self.triplets.anchors.size

    @contextmanager
    def sample(self, parts: np.ndarray) -> Iterator[Objective]:
        """The objective over the anchors with these numbers and the points they are compared with."""
        points, few = self.triplets.of_anchors(self.triplets.anchors[parts])
        geometry = self.geometry
        with Objective(geometry.X[points], few, self.terms, geometry.B, self._n_jobs) as objective:
            yield objective


def scatters_of(X: np.ndarray, triplets: Triplets, n_jobs: int | None) -> tuple[np.ndarray, np.ndarray]:
    """:attr:`Objective.scatters` of these points, without an objective."""
    X, triplets = _in_cache_friendly_order(X, triplets)
    return scatters(X - X.mean(axis=0), triplets, n_jobs)


def _in_cache_friendly_order(X: np.ndarray, triplets: Triplets) -> tuple[np.ndarray, Triplets]:
    order = cache_friendly_order(X)
    return (X, triplets) if order is None else (X[order], triplets.renumbered(order))
