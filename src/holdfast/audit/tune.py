"""Tune LMNN, with or without the perturbation loss, for an audit."""

import warnings
from dataclasses import dataclass
from functools import partial
from typing import Any

import joblib
import numpy as np
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from holdfast.audit.progress import StageProgress, no_progress
from holdfast.certificates.scoring import CertifiedAccuracy
from holdfast.certificates.threat import Threat
from holdfast.learners import LMNN
from holdfast.numerics.threads import n_threads
from holdfast.parameters import check_count, check_number
from holdfast.search import Known, PerturbationSearchCV, Ranges, Uniform
from holdfast.terms import Perturbation

TUNINGS = ("certified", "accuracy", "none")
_FOLDS = 3
_MUS = [0.1, 0.3, 0.5, 0.7, 0.9]  # all that is tuned without a perturbation loss


def check_settings(radius: float, tune: str, n_neighbors: int) -> None:
    """Refuse wrong settings before anything takes time."""
    check_number("audit", "radius", radius, above=0)
    check_count("audit", "n_neighbors", n_neighbors)
    if tune not in TUNINGS:
        raise ValueError(f"tune must be one of {', '.join(TUNINGS)}; got {tune!r}.")


def make_lmnn(robust: bool, parameters: dict[str, Any]) -> LMNN:
    """LMNN, with the perturbation loss if ``robust``, with these parameters."""
    return LMNN(perturbation=Perturbation() if robust else None).set_params(**parameters)


def tune_lmnn(
    X: np.ndarray,
    y: np.ndarray,
    *,
    robust: bool,
    tune: str = "certified",
    radius: float = 0.5,
    frozen: np.ndarray | None = None,
    n_neighbors: int = 3,
    n_draws: int = 16,
    random_state: int = 0,
    n_jobs: int | None = None,
    progress: StageProgress = no_progress,
    threat: Threat | None = None,
) -> dict[str, Any]:
    """``argmax over draws of the mean score over 3 folds``: mu, and with the perturbation loss tau and weight.

    Parameters
    ----------
    X, y : ndarrays
        Raw rows, which are standardised here, and labels.
    robust : bool
        Tune the perturbation loss too.
    tune : {"certified", "accuracy", "none"}, default="certified"
        The score: certified accuracy at ``radius`` (equal ones by accuracy), with tau around the radius; or
        accuracy, with the paper's ranges. Both are searched by :class:`~holdfast.search.PerturbationSearchCV`.
        "none" takes fixed values.
    radius : float, default=0.5
        In standard deviations.
    frozen : ndarray of bool, optional
        Features that cannot be moved.
    n_neighbors : int, default=3
    n_draws : int, default=16
        Number of candidates for mu, tau and weight; mu alone has 5 values.
    random_state : int, default=0
    n_jobs : int or None, default=None
        Threads.
    progress : callable, optional
        Called with the stage, the number of fits done and their total.
    threat : Threat, optional
        Of standardised rows; in place of ``frozen``.

    Returns
    -------
    dict
        Parameters of :class:`~holdfast.LMNN`.
    """
    check_settings(radius, tune, n_neighbors)
    check_count("tuning", "n_draws", n_draws)
    if tune == "none":
        tau = 2.0 * radius
        return {"mu": 0.5, **({"perturbation__tau": tau, "perturbation__weight": 1.0 / tau**2} if robust else {})}
    stage = "Tuning the robust model" if robust else "Tuning the base model"
    search = PerturbationSearchCV(
        make_lmnn(robust, {}), n_draws=n_draws, cv=_FOLDS, refit=False, n_neighbors=n_neighbors,
        n_jobs=n_threads(n_jobs), random_state=random_state, progress=partial(progress, stage),
    )  # fmt: skip
    if tune == "certified":
        search.set_params(
            space=_ranges_around(radius) if robust else {"mu": _MUS},
            n_draws=n_draws if robust else len(_MUS),
            scoring=CertifiedAccuracy(radius, frozen=frozen if threat is None else None, threat=threat),
            cv=StratifiedKFold(_FOLDS, shuffle=True, random_state=random_state),
        )
    # Certifying spends its time in kernels that release the interpreter: threads do, and start at once. Fits alone
    # do not; they take processes.
    backend = "threading" if tune == "certified" else "loky"
    progress(stage, 0, 1)
    with warnings.catch_warnings(), joblib.parallel_config(backend=backend):
        warnings.simplefilter("ignore", UserWarning)  # of candidates; the final fit reports its own
        best = search.fit(StandardScaler().fit_transform(X), y).best_params_
    return dict(sorted(best.items()))  # mu, tau, weight


def _ranges_around(radius: float) -> Ranges:
    """tau from radius/2 to 4·radius, weight·tau² from 0.3 to 10, both log-uniform; mu from 0.1 to 0.9."""

    def weight(known: Known) -> Uniform:
        return _LogUniform(0.3, 10.0, divisor=known.drawn["perturbation__tau"] ** 2)

    # Drawn in this order.
    return {
        "perturbation__tau": _LogUniform(0.5, 4.0, factor=radius),
        "perturbation__weight": weight,
        "mu": _UniformFromLow(0.1, 0.9),
    }


@dataclass(frozen=True)
class _UniformFromLow(Uniform):
    """``low + (high − low)·u``, the formula of version 0.1 (``Uniform`` counts down from ``high``)."""

    def draw(self, rng: np.random.RandomState) -> float:
        return float(rng.uniform(self.low, self.high))


@dataclass(frozen=True)
class _LogUniform(Uniform):
    """A number whose logarithm is uniform, times ``factor / divisor``."""

    factor: float = 1.0
    divisor: float = 1.0

    def draw(self, rng: np.random.RandomState) -> float:
        return self.factor * float(np.exp(rng.uniform(np.log(self.low), np.log(self.high)))) / self.divisor
