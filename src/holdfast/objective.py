"""The objective of a learner: weighted terms, summed over triplets, as a function of the metric."""

from collections.abc import Sequence
from functools import cached_property

import numpy as np

from holdfast.constraints import Triplets
from holdfast.geometry import TripletGeometry
from holdfast.geometry.kernels import add_scaled, take, take_both
from holdfast.terms.base import MatrixTerm, TripletTerm
from holdfast.threads import blocks

_FIT_CACHE = 32768  # triplets whose arrays fit the cache of a core


class Objective:
    """``J(M) = Σ weight · (mean over S or R of a triplet term) + Σ weight · matrix term(M)``.

    Pure: the same M gives the same value and gradient, on any number of threads.

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
        self,
        X: np.ndarray,
        triplets: Triplets,
        terms: Sequence[tuple[float, TripletTerm | MatrixTerm]],
        B: np.ndarray | None = None,
        n_jobs: int | None = None,
    ):
        over_R = [(w, t) for w, t in terms if isinstance(t, TripletTerm) and t.over == "R"]
        self._over_R = sorted(over_R, key=lambda weighted: not weighted[1].reads_h)  # first what fills all partials
        self._over_S = [(w, t) for w, t in terms if isinstance(t, TripletTerm) and t.over == "S"]
        self._of_M = [(w, t) for w, t in terms if isinstance(t, MatrixTerm)]
        self._reads_h = any(term.reads_h for _, term in self._over_R)
        self.triplets = triplets
        self.geometry = TripletGeometry(X, triplets, B, self._reads_h, n_jobs)
        # The partials are kept from call to call.
        self._parts = blocks(len(triplets), count=-(-len(triplets) // _FIT_CACHE))
        self._partials = [np.empty(len(triplets)) for _ in range(3 if self._reads_h else 2)]

    def __call__(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and symmetric gradient at M."""
        geometry, t = self.geometry, self.triplets
        distance, slope = geometry.measure(M)
        value, (da, db, dh) = self._sum_over_R(distance, slope)
        ds: np.ndarray | None = None
        for weight, term in self._over_S:
            factor = weight / t.targets.size
            a = take(distance, geometry.targets, 0, geometry.targets.size)
            total, partial, _, _ = term.value_and_partials(a, None, None)
            value += factor * total
            if partial is not None:
                ds = factor * partial if ds is None else ds + factor * partial
        G = geometry.gradient_in_metric(*geometry.weights(da, db, dh, ds))
        for weight, matrix_term in self._of_M:
            total, gradient = matrix_term.value_and_grad(M)
            value += weight * total
            G += weight * gradient
        return value, G

    @property
    def n_features(self) -> int:
        """Rows and columns of M."""
        return self.geometry.X.shape[1]

    @cached_property
    def scatters(self) -> tuple[np.ndarray, np.ndarray]:
        """The means over R of ``X_ij`` and of ``X_il``."""
        return self.geometry.scatters()

    def largest_distance(self, M: np.ndarray) -> float:
        """The largest ``d²_M`` of a pair."""
        distance, _ = self.geometry.measure(M)
        return float(distance.max())

    def close(self) -> None:
        """End the threads."""
        self.geometry.close()

    def __enter__(self) -> "Objective":
        return self

    def __exit__(self, *exc) -> None:
        self.close()

    def _sum_over_R(self, distance, slope) -> tuple[float, list[np.ndarray | None]]:
        """The terms over R and their summed partials, in blocks of triplets that fit the cache."""
        t = self.triplets
        partials = self._partials

        def block(part: slice) -> float:
            a, b = take_both(distance, t.ij, t.il, part.start, part.stop)
            h = take(slope, t.jl, part.start, part.stop) if self._reads_h else None
            total = 0.0
            for number, (weight, term) in enumerate(self._over_R):
                factor = weight / len(t)
                value, *derivatives = term.value_and_partials(a, b, h)
                total += factor * value
                given = [(out, d) for out, d in zip(partials, derivatives, strict=False) if d is not None]
                if number == 0 and len(given) < len(partials):
                    for out in partials:
                        out[part] = 0.0
                if given:
                    outs, given_partials = zip(*given, strict=True)
                    afresh = number == 0 and len(given) == len(partials)
                    add_scaled(outs, factor, given_partials, part.start, afresh)
            return total

        totals = self.geometry.workers.map(block, self._parts)
        return float(sum(totals)), [*partials, None][:3]
