"""Solvers, which minimise an objective over a space. One import line per solver."""

from holdfast.learn.solvers.base import Progress as Progress
from holdfast.learn.solvers.base import Run as Run
from holdfast.learn.solvers.base import Solution as Solution
from holdfast.learn.solvers.base import Solver as Solver
from holdfast.learn.solvers.base import StopReason as StopReason
from holdfast.learn.solvers.gradient import AcceleratedProximalGradient as AcceleratedProximalGradient
from holdfast.learn.solvers.gradient import ProjectedGradient as ProjectedGradient
from holdfast.learn.solvers.lbfgs import LBFGS as LBFGS
from holdfast.learn.solvers.lbfgs import StochasticLBFGS as StochasticLBFGS
from holdfast.learn.solvers.primal_dual import PrimalDual as PrimalDual
