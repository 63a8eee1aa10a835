"""Learn distances that hold.

The flow, folder by folder: ``constraints`` say who should be near whom (triplets); ``geometry`` turns a
metric M into three numbers per triplet, and partial derivatives in them back into a gradient; ``terms``
are functions of those numbers (pull, push, perturbation) or of M; an ``objective`` is their weighted sum;
``spaces`` say over what it is minimised and ``solvers`` how; the result is a ``metric``; ``learners`` are
the named recipes, each a scikit-learn transformer.
"""

from holdfast.learners import AML as AML
from holdfast.learners import DRIFT as DRIFT
from holdfast.learners import LMNN as LMNN
from holdfast.learners import SCML as SCML
from holdfast.learners import CappedTraceLMNN as CappedTraceLMNN
from holdfast.learners import Euclidean as Euclidean
from holdfast.learners import FixedMetric as FixedMetric
from holdfast.learners import LogDetLMNN as LogDetLMNN
from holdfast.learners import MultiPass as MultiPass
from holdfast.learners import ProxyNCA as ProxyNCA
from holdfast.learners import Reduced as Reduced
from holdfast.learners import SpectralNormLMNN as SpectralNormLMNN
from holdfast.terms import Perturbation as Perturbation

from holdfast.neighbors import CertifiedKNeighborsClassifier as CertifiedKNeighborsClassifier  # isort: skip
from holdfast.neighbors import CertifiedPrototypeClassifier as CertifiedPrototypeClassifier  # isort: skip
from holdfast.certificates.certify import certify as certify  # isort: skip
from holdfast.certificates.poisoning import poisoning_tolerance as poisoning_tolerance  # isort: skip
from holdfast.attacks.attack import attack as attack  # isort: skip
from holdfast.datasets import load_dataset as load_dataset  # isort: skip
from holdfast.persistence import load as load  # isort: skip
from holdfast.persistence import save as save  # isort: skip

__version__ = "0.1.0"
__all__ = [
    "AML",
    "DRIFT",
    "LMNN",
    "SCML",
    "CappedTraceLMNN",
    "CertifiedKNeighborsClassifier",
    "CertifiedPrototypeClassifier",
    "Euclidean",
    "FixedMetric",
    "LogDetLMNN",
    "MultiPass",
    "Perturbation",
    "ProxyNCA",
    "Reduced",
    "SpectralNormLMNN",
    "attack",
    "certify",
    "load",
    "load_dataset",
    "poisoning_tolerance",
    "save",
]
