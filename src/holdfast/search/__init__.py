"""Tuning: the paper's random search, with ranges that depend on the data and on each other."""

from holdfast.learners.ranges import Known as Known
from holdfast.learners.ranges import Ranges as Ranges
from holdfast.learners.ranges import Uniform as Uniform
from holdfast.search.default_ranges import SPACES as SPACES
from holdfast.search.margins import adversarial_margins as adversarial_margins
from holdfast.search.perturbation_search import PerturbationSearchCV as PerturbationSearchCV
from holdfast.search.scores import g_mean as g_mean
