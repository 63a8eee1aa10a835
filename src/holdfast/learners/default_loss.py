"""The perturbation loss of a learner at its defaults: its scale is taken from the data."""

import numpy as np

from holdfast.backends import TripletData
from holdfast.learners.minimise import finite_scatters
from holdfast.terms import Perturbation, Push

AUTO = "auto"

# Chosen by measurement over 13 UCI sets, 8 larger ones and raw units (benchmarks/frontier/README.md): margins of a
# quarter of the distance to impostors, and a loss that is at most a third of the hinge's margin.
_TAU = 0.25  # of the root mean square distance to impostors
_STRENGTH = 0.3  # weight · tau²: the most that the loss can add


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
