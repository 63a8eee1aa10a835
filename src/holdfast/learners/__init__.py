"""Named recipes: terms, space, solver. One import line per learner."""

from holdfast.learners.aml import AML as AML
from holdfast.learners.base import MetricLearner as MetricLearner
from holdfast.learners.capped_trace_lmnn import CappedTraceLMNN as CappedTraceLMNN
from holdfast.learners.drift import DRIFT as DRIFT
from holdfast.learners.fixed import Euclidean as Euclidean
from holdfast.learners.fixed import FixedMetric as FixedMetric
from holdfast.learners.lmnn import LMNN as LMNN
from holdfast.learners.log_det_lmnn import LogDetLMNN as LogDetLMNN
from holdfast.learners.margin_lvq import MarginLVQ as MarginLVQ
from holdfast.learners.multi_pass import MultiPass as MultiPass
from holdfast.learners.precomputed import Precomputed as Precomputed
from holdfast.learners.proxy_nca import ProxyNCA as ProxyNCA
from holdfast.learners.reduced import Reduced as Reduced
from holdfast.learners.scml import SCML as SCML
from holdfast.learners.spectral_norm_lmnn import SpectralNormLMNN as SpectralNormLMNN
from holdfast.learners.term_learner import TermLearner as TermLearner
from holdfast.learners.triplet_learner import TripletLearner as TripletLearner
from holdfast.learners.vote_check import PoorMetricWarning as PoorMetricWarning
