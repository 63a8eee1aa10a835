"""Tuning: the paper's random search, with ranges that depend on the data and on each other."""

from holdfast.search.folds import adversarial_margins as adversarial_margins
from holdfast.search.folds import g_mean as g_mean
from holdfast.search.perturbation_search import PerturbationSearchCV as PerturbationSearchCV
from holdfast.search.ranges import SPACES as SPACES
from holdfast.search.ranges import Known as Known
from holdfast.search.ranges import Space as Space
from holdfast.search.ranges import Uniform as Uniform
