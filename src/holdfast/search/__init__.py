"""Tuning: families of classifiers by what they certify, and the paper's random search of one learner."""

from holdfast.learners.ranges import Known as Known
from holdfast.learners.ranges import Ranges as Ranges
from holdfast.learners.ranges import Uniform as Uniform
from holdfast.search.default_ranges import SPACES as SPACES
from holdfast.search.families import FAMILIES as FAMILIES
from holdfast.search.families import Family as Family
from holdfast.search.margins import adversarial_margins as adversarial_margins
from holdfast.search.perturbation_search import PerturbationSearchCV as PerturbationSearchCV
from holdfast.search.robust_classifier import RobustClassifierCV as RobustClassifierCV
from holdfast.search.scores import g_mean as g_mean
