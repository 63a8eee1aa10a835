"""Ways to minimise an objective. One import line per solver."""

from holdfast.solvers.accelerated import AcceleratedProximalGradient as AcceleratedProximalGradient
from holdfast.solvers.base import Solver as Solver
from holdfast.solvers.lbfgs import LBFGS as LBFGS
from holdfast.solvers.primal_dual import PrimalDual as PrimalDual
from holdfast.solvers.progress import Progress as Progress
from holdfast.solvers.projected_gradient import ProjectedGradient as ProjectedGradient
from holdfast.solvers.run import Run as Run
from holdfast.solvers.solution import Solution as Solution
from holdfast.solvers.stochastic import StochasticLBFGS as StochasticLBFGS
from holdfast.solvers.stop_reason import StopReason as StopReason
