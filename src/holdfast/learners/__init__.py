"""Named recipes: terms, space, solver. One import line per learner."""

from holdfast.learners.base import MetricLearner as MetricLearner
from holdfast.learners.fixed import Euclidean as Euclidean
from holdfast.learners.fixed import FixedMetric as FixedMetric
from holdfast.learners.lmnn import LMNN as LMNN
from holdfast.learners.triplet_learner import TripletLearner as TripletLearner
