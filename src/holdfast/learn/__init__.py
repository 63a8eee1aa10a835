"""Learning a metric ``M = LᵀL``. The files, in the order in which each imports from those before it:

``supervision`` (triplets: who should be nearer to whom), ``geometry`` (their three numbers a, b and h under M, and the
gradient back), ``margins`` (how far an input is from the border), ``terms`` (functions of a, b, h or of M),
``objective`` (their weighted sum), ``spaces`` (over what it is minimised), ``solvers`` (how), ``rows`` and ``dask``
(checked rows, here or on workers), ``safeguards``, ``learner`` (``fit``), and the recipes: ``lmnn``, ``scml``,
``proxy_nca``, ``margin_lvq``, ``wrappers``.
"""

from holdfast.learn.learner import MetricLearner as MetricLearner
from holdfast.learn.learner import TermLearner as TermLearner
from holdfast.learn.learner import TripletLearner as TripletLearner
from holdfast.learn.learner import adversarial_margins as adversarial_margins
from holdfast.learn.lmnn import LMNN as LMNN
from holdfast.learn.lmnn import CappedTraceLMNN as CappedTraceLMNN
from holdfast.learn.lmnn import LogDetLMNN as LogDetLMNN
from holdfast.learn.lmnn import SpectralNormLMNN as SpectralNormLMNN
from holdfast.learn.margin_lvq import MarginLVQ as MarginLVQ
from holdfast.learn.margins import adversarial_margin as adversarial_margin
from holdfast.learn.margins import closest_adversarial as closest_adversarial
from holdfast.learn.objective import Objective as Objective
from holdfast.learn.proxy_nca import ProxyNCA as ProxyNCA
from holdfast.learn.safeguards import PoorMetricWarning as PoorMetricWarning
from holdfast.learn.scml import SCML as SCML
from holdfast.learn.spaces import BasisWeights as BasisWeights
from holdfast.learn.spaces import Factors as Factors
from holdfast.learn.spaces import Mahalanobis as Mahalanobis
from holdfast.learn.spaces import Points as Points
from holdfast.learn.spaces import PositiveDefinite as PositiveDefinite
from holdfast.learn.spaces import PSDMatrices as PSDMatrices
from holdfast.learn.spaces import Space as Space
from holdfast.learn.supervision import NeighborSearch as NeighborSearch
from holdfast.learn.supervision import Triplets as Triplets
from holdfast.learn.supervision import knn_triplets as knn_triplets
from holdfast.learn.terms import CappedTrace as CappedTrace
from holdfast.learn.terms import LogDet as LogDet
from holdfast.learn.terms import MatrixTerm as MatrixTerm
from holdfast.learn.terms import Perturbation as Perturbation
from holdfast.learn.terms import ProxySoftmax as ProxySoftmax
from holdfast.learn.terms import ProxyTerm as ProxyTerm
from holdfast.learn.terms import Pull as Pull
from holdfast.learn.terms import Push as Push
from holdfast.learn.terms import SpectralNorm as SpectralNorm
from holdfast.learn.terms import SquaredFrobenius as SquaredFrobenius
from holdfast.learn.terms import Trace as Trace
from holdfast.learn.terms import TripletTerm as TripletTerm
from holdfast.learn.wrappers import Euclidean as Euclidean
from holdfast.learn.wrappers import FixedMetric as FixedMetric
from holdfast.learn.wrappers import MultiPass as MultiPass
from holdfast.learn.wrappers import Reduced as Reduced
