"""Checks of settings that several learners have."""

from sklearn.base import clone

from holdfast.backends import LabelledRows, TripletData
from holdfast.learn import Perturbation
from holdfast.learn.solvers import LBFGS, Solver
from holdfast.learners.default_loss import AUTO


def check_solver(solver) -> Solver:
    """A copy of the solver, or L-BFGS for None; ``ValueError`` for anything else."""
    if solver is None:
        return LBFGS()
    if not isinstance(solver, Solver):
        raise ValueError(
            f"solver must be None or a solver such as holdfast.learn.solvers.ProjectedGradient(); got {solver!r}."
        )
    return clone(solver)


def check_perturbation(perturbation, takes_auto: bool = False) -> None:
    """Raise ``ValueError`` unless this is None, a good :class:`~holdfast.Perturbation` or, where known, "auto"."""
    if perturbation is None or (takes_auto and isinstance(perturbation, str) and perturbation == AUTO):
        return
    if not isinstance(perturbation, Perturbation):
        known = "'auto', " if takes_auto else ""
        raise ValueError(
            f"perturbation must be {known}None or a Perturbation, for example "
            f"Perturbation(tau=0.2, weight=4.0); got {perturbation!r}."
        )
    perturbation.check()


def slope_matrix_for(perturbation: Perturbation | None, data: TripletData | LabelledRows):
    """B of the perturbation loss for these rows; None for the identity, and without a perturbation loss."""
    if perturbation is None:
        return None
    return perturbation.slope_matrix(data.shape[1], data.variances() if perturbation.reads_variances else None)
