"""Certified bounds on the smallest move of an input that changes a prediction.

:func:`certify` is the front door (``api``). Behind it: a model is read as a vote (``readers``, ``vote``), the steps
before it become one map of the user's columns (``pipelines``, ``columns``), a :class:`Threat` says which moves are
possible, and an engine (``engines``) finds the smallest of them that changes the vote, or a bound on it.
"""

from holdfast.certificates.api import Attack as Attack
from holdfast.certificates.api import CertifiedAccuracy as CertifiedAccuracy
from holdfast.certificates.api import attack as attack
from holdfast.certificates.api import certify as certify
from holdfast.certificates.certificate import Certificate as Certificate
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
from holdfast.certificates.norms import MoveCoordinates as MoveCoordinates
from holdfast.certificates.norms import Norm as Norm
from holdfast.certificates.poisoning import poisoning_tolerance as poisoning_tolerance
from holdfast.certificates.questions import Bounds as Bounds
from holdfast.certificates.questions import Budget as Budget
from holdfast.certificates.questions import LinearProblem as LinearProblem
from holdfast.certificates.questions import NeighborProblem as NeighborProblem
from holdfast.certificates.questions import Problem as Problem
from holdfast.certificates.readers import voter_for as voter_for
from holdfast.certificates.threat import Threat as Threat
from holdfast.certificates.vote import Voter as Voter
