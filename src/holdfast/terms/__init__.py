"""The terms of an objective: triplet terms read a, b, h; matrix terms M; proxy terms the distances to proxies."""

from holdfast.terms.base import MatrixTerm as MatrixTerm
from holdfast.terms.base import ProxyTerm as ProxyTerm
from holdfast.terms.base import TripletTerm as TripletTerm
from holdfast.terms.capped_trace import CappedTrace as CappedTrace
from holdfast.terms.log_det import LogDet as LogDet
from holdfast.terms.perturbation import Perturbation as Perturbation
from holdfast.terms.proxy_softmax import ProxySoftmax as ProxySoftmax
from holdfast.terms.pull import Pull as Pull
from holdfast.terms.push import Push as Push
from holdfast.terms.spectral_norm import SpectralNorm as SpectralNorm
from holdfast.terms.squared_frobenius import SquaredFrobenius as SquaredFrobenius
from holdfast.terms.trace import Trace as Trace
