"""A vote and the moves of its input: the question an engine answers."""

from holdfast.certificates.problems.base import DEFAULT_BUDGET as DEFAULT_BUDGET
from holdfast.certificates.problems.base import UNIT as UNIT
from holdfast.certificates.problems.base import Bounds as Bounds
from holdfast.certificates.problems.base import Budget as Budget
from holdfast.certificates.problems.base import Problem as Problem
from holdfast.certificates.problems.distances import DistanceProblem as DistanceProblem
from holdfast.certificates.problems.linear import LinearProblem as LinearProblem
from holdfast.certificates.problems.neighbors import NeighborProblem as NeighborProblem
