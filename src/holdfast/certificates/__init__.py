"""Certified bounds on the smallest move of an input that changes a prediction.

:func:`certify` is the front door. Behind it: a model becomes a vote (``voting``), steps before it are rewritten into
the user's columns (``folding``), a :class:`Threat` says which moves are possible, and an engine (``engines``) finds the
smallest of them that changes the vote, or a bound on it. ``kernels`` has the compiled loops.
"""

from holdfast.certificates.certificate import Certificate as Certificate
from holdfast.certificates.certify import certify as certify
from holdfast.certificates.coordinates import MoveCoordinates as MoveCoordinates
from holdfast.certificates.engines import ENGINES as ENGINES
from holdfast.certificates.engines import Engine as Engine
from holdfast.certificates.engines import choose as choose
from holdfast.certificates.engines import exact_1nn as exact_1nn
from holdfast.certificates.engines import exact_knn as exact_knn
from holdfast.certificates.engines import knn_lower as knn_lower
from holdfast.certificates.fairness import Dependence as Dependence
from holdfast.certificates.fairness import dependence as dependence
from holdfast.certificates.moves import Moves as Moves
from holdfast.certificates.norms import L1 as L1
from holdfast.certificates.norms import L2 as L2
from holdfast.certificates.norms import Ellipsoid as Ellipsoid
from holdfast.certificates.norms import LInf as LInf
from holdfast.certificates.norms import Norm as Norm
from holdfast.certificates.poisoning import poisoning_tolerance as poisoning_tolerance
from holdfast.certificates.problems import Bounds as Bounds
from holdfast.certificates.problems import Budget as Budget
from holdfast.certificates.problems import LinearProblem as LinearProblem
from holdfast.certificates.problems import NeighborProblem as NeighborProblem
from holdfast.certificates.problems import Problem as Problem
from holdfast.certificates.scoring import CertifiedAccuracy as CertifiedAccuracy
from holdfast.certificates.threat import Threat as Threat
