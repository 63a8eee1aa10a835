"""The perturbation loss of a learner at its defaults: its scale is taken from the data."""

import numpy as np

from holdfast.backends import TripletData
from holdfast.learn import Perturbation, Push
from holdfast.learn.margins import PrototypeMargins
from holdfast.learners.minimise import finite_scatters
from holdfast.numerics.sums import round_to_bits
from holdfast.numerics.threads import single_threaded_blas

AUTO = "auto"

# Chosen by measurement over 13 UCI sets, 8 larger ones and raw units (benchmarks/frontier/README.md): margins of a
# quarter of the distance to impostors, and a loss that is at most a third of the hinge's margin.
_TAU = 0.25  # of the root mean square distance to impostors
_STRENGTH = 0.3  # weight · tau²: the most that the loss can add
# Half of what a large margin is at the start. Over the same sets this is close to half of the 90th percentile of the
# margins of triplets, with which prototypes did as well.
_MARGIN_SHARE, _LARGE_MARGIN = 0.5, 0.9


def default_loss(data: TripletData, owner: str, n_jobs: int | None) -> Perturbation | None:
    """``tau = ¼ √(mean d²(i, l))``, ``weight = 0.3 / tau²``; None if the rows do not differ.

    Moves, and with them d, are measured by ``A_0 = diag(s̄ / s_k)``, s_k being the standard deviation of feature k and
    s̄² the mean variance: halfway between the units of the features as they are, in which a feature in thousands would
    outweigh all others, and standardised ones, which would undo a PCA. With more features than rows it is the identity.
    """
    with data.objective([(1.0, Push())], None, n_jobs) as objective:
        C = finite_scatters(objective, owner)[1]
    n, p = data.shape
    shape = None
    spread = np.diag(C)
    if p <= n:
        deviations = np.sqrt(data.variances())
        mean = np.sqrt(np.mean(deviations**2))
        shape = np.divide(mean, deviations, out=np.ones(p), where=deviations > 1e-12 * mean)
        spread = spread * shape
    tau = _TAU * float(np.sqrt(spread.sum()))
    return Perturbation(tau, _STRENGTH / tau**2, shape=shape) if tau > 0 and np.isfinite(_STRENGTH / tau**2) else None


def default_proxy_loss(
    X: np.ndarray, codes: np.ndarray, A: np.ndarray, labels: np.ndarray, length: float
) -> Perturbation | None:
    """``tau = length · P90(|m_i|) / 2``, ``weight = 0.3 / tau²``; None if proxies of different classes coincide.

    Parameters
    ----------
    X : ndarray of shape (n, p)
        Rows, in the units that the proxies are learned in.
    codes : int ndarray of shape (n,)
    A : ndarray of shape (m, p)
        The proxies before learning; ``m_i`` is the Euclidean margin of row i against them.
    labels : int ndarray of shape (m,)
    length : float
        One of these units, in the user's.
    """
    with single_threaded_blas():
        margins = np.abs(PrototypeMargins(X, codes, labels).measure(A))
    large = float(round_to_bits(np.quantile(margins, _LARGE_MARGIN)))  # so that the order of the rows does not matter
    tau = _MARGIN_SHARE * length * large
    good = tau > 0 and tau**2 > 0 and np.isfinite(_STRENGTH / tau**2)
    return Perturbation(tau, _STRENGTH / tau**2) if good else None
