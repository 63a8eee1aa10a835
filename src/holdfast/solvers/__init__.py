"""How an objective is minimised. One import line per solver."""

from holdfast.solvers.accelerated import AcceleratedProximalGradient as AcceleratedProximalGradient
from holdfast.solvers.base import Progress as Progress
from holdfast.solvers.base import Solution as Solution
from holdfast.solvers.base import Solver as Solver
from holdfast.solvers.lbfgs import LBFGS as LBFGS
from holdfast.solvers.projected_gradient import ProjectedGradient as ProjectedGradient
from holdfast.solvers.stochastic import StochasticLBFGS as StochasticLBFGS
