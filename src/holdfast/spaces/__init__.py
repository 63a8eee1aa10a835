"""Sets of parameters to minimise over, each of which stands for a metric. One import line per space."""

from holdfast.spaces.base import Space as Space
from holdfast.spaces.basis_weights import BasisWeights as BasisWeights
from holdfast.spaces.factors import Factors as Factors
from holdfast.spaces.points import Points as Points
from holdfast.spaces.positive_definite import PositiveDefinite as PositiveDefinite
from holdfast.spaces.psd_matrices import PSDMatrices as PSDMatrices
from holdfast.spaces.whitening import whitening as whitening
