"""Learn distances that hold.

The flow, folder by folder: ``constraints`` say who should be near whom (triplets); ``geometry`` turns a
metric M into three numbers per triplet, and partial derivatives in them back into a gradient; ``terms``
are functions of those numbers (pull, push, perturbation) or of M; an ``objective`` is their weighted sum;
``spaces`` say over what it is minimised and ``solvers`` how; the result is a ``metric``; ``learners`` are
the named recipes, each a scikit-learn transformer.
"""

from holdfast.learners import LMNN as LMNN
from holdfast.learners import SCML as SCML
from holdfast.learners import CappedTraceLMNN as CappedTraceLMNN
from holdfast.learners import Euclidean as Euclidean
from holdfast.learners import FixedMetric as FixedMetric
from holdfast.learners import LogDetLMNN as LogDetLMNN
from holdfast.learners import SpectralNormLMNN as SpectralNormLMNN
from holdfast.terms import Perturbation as Perturbation

__version__ = "0.1.0"
__all__ = [
    "LMNN",
    "SCML",
    "CappedTraceLMNN",
    "Euclidean",
    "FixedMetric",
    "LogDetLMNN",
    "Perturbation",
    "SpectralNormLMNN",
]
