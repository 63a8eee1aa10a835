"""What only the paper's experiments need: its random search, two more learners, its bound and its adversarial test."""

from holdfast.paper.learners import AML as AML
from holdfast.paper.learners import DRIFT as DRIFT
from holdfast.paper.search import SPACES as SPACES
from holdfast.paper.search import PerturbationSearchCV as PerturbationSearchCV
from holdfast.paper.search import Ranges as Ranges
from holdfast.paper.search import Uniform as Uniform
from holdfast.paper.search import default_ranges as default_ranges
from holdfast.paper.search import g_mean as g_mean
from holdfast.paper.theory import GeneralizationBound as GeneralizationBound
from holdfast.paper.theory import adversarial_move as adversarial_move
from holdfast.paper.theory import generalization_bound as generalization_bound
from holdfast.paper.theory import margins as margins
