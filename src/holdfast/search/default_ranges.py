"""The default ranges of all learners, by name."""

from holdfast.learn import Perturbation
from holdfast.learners import (
    AML,
    DRIFT,
    LMNN,
    SCML,
    CappedTraceLMNN,
    Euclidean,
    FixedMetric,
    LogDetLMNN,
    MarginLVQ,
    ProxyNCA,
    SpectralNormLMNN,
)
from holdfast.learners.ranges import Stages

_PL = Perturbation()

#: A table to read: what ``default_ranges()`` of each learner returns, without and with ("-PL") a perturbation loss.
#: Lists are tried in full if there are no more combinations than draws; a tuple is searched stage by stage, the first
#: without perturbation loss, the next around its best.
SPACES: dict[str, Stages] = {
    "LMNN": LMNN(perturbation=None).default_ranges(),
    "LMNN-PL": LMNN(perturbation=_PL).default_ranges(),
    "SCML": SCML().default_ranges(),
    "SCML-PL": SCML(perturbation=_PL).default_ranges(),
    "MarginLVQ": MarginLVQ().default_ranges(),
    "ProxyNCA": ProxyNCA(perturbation=None).default_ranges(),
    "ProxyNCA-PL": ProxyNCA(perturbation=_PL).default_ranges(),
    "LogDetLMNN": LogDetLMNN().default_ranges(),
    "LogDetLMNN-PL": LogDetLMNN(perturbation=_PL).default_ranges(),
    "CappedTraceLMNN": CappedTraceLMNN().default_ranges(),
    "CappedTraceLMNN-PL": CappedTraceLMNN(perturbation=_PL).default_ranges(),
    "SpectralNormLMNN": SpectralNormLMNN().default_ranges(),
    "SpectralNormLMNN-PL": SpectralNormLMNN(perturbation=_PL).default_ranges(),
    "DRIFT": DRIFT().default_ranges(),
    "AML": AML().default_ranges(),
    "Euclidean": Euclidean().default_ranges(),
    "FixedMetric": FixedMetric().default_ranges(),
}
