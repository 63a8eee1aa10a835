"""The methods of the paper, and ours: one line each."""

from dataclasses import dataclass

from sklearn.base import clone

from benchmarks.yang.sets import Facts
from holdfast import (
    AML,
    DRIFT,
    LMNN,
    SCML,
    CappedTraceLMNN,
    Euclidean,
    LogDetLMNN,
    Perturbation,
    ProxyNCA,
    SpectralNormLMNN,
)
from holdfast.learn import MetricLearner
from holdfast.learn.solvers import LBFGS, ProjectedGradient
from holdfast.paper import Ranges, default_ranges


@dataclass(frozen=True)
class Method:
    """A learner, and the score its parameters are selected by.

    Parameters are searched in the learner's ``default_ranges``, which are the paper's
    ranges, or for DRIFT and AML (the paper names no ranges) a small grid.

    Attributes
    ----------
    learner : MetricLearner
    radius : float or None
        None: selected by the score of the data set, as in the paper. A number: by *certified* accuracy at that
        radius, in the units of the preprocessed rows.
    """

    learner: MetricLearner
    radius: float | None = None


_PL = Perturbation()  # where tau and weight are searched too

METHODS: dict[str, Method] = {
    "Euclidean": Method(Euclidean()),
    "LMNN": Method(
        LMNN(mu=0.5, perturbation=None, solver=ProjectedGradient())
    ),  # the paper's schedule: it stops early, which matters
    "LMNN-LBFGS": Method(LMNN(mu=0.5, perturbation=None)),
    "LDD": Method(LogDetLMNN(solver=ProjectedGradient())),
    "CAP": Method(CappedTraceLMNN(solver=ProjectedGradient())),
    "SN": Method(SpectralNormLMNN(solver=LBFGS())),
    "DRIFT": Method(DRIFT()),
    "AML": Method(AML()),
    "LMNN-PL": Method(LMNN(perturbation=_PL)),
    "CAP-PL": Method(CappedTraceLMNN(perturbation=_PL, solver=ProjectedGradient())),
    "SCML": Method(SCML(random_state=0)),
    "SCML-PL": Method(SCML(perturbation=_PL, random_state=0)),
    "PNCA": Method(ProxyNCA(3, 0.1, None, True, solver=ProjectedGradient(), random_state=0)),
    "PNCA-PL": Method(ProxyNCA(3, 0.1, _PL, True, solver=ProjectedGradient(), random_state=0)),
    "LMNN-PL@0.1": Method(LMNN(perturbation=_PL), radius=0.1),
    "LMNN-PL@0.2": Method(LMNN(perturbation=_PL), radius=0.2),
    "SCML-PL@0.1": Method(SCML(perturbation=_PL, random_state=0), radius=0.1),
    "SCML-PL@0.2": Method(SCML(perturbation=_PL, random_state=0), radius=0.2),
    "CAP-PL@0.1": Method(CappedTraceLMNN(perturbation=_PL), radius=0.1),
    "CAP-PL@0.2": Method(CappedTraceLMNN(perturbation=_PL), radius=0.2),
}

#: '# outperform': on how many data sets the first is at least as good as each of the others.
RIVALS: dict[str, list[str]] = {
    "LMNN-PL": ["LMNN", "LMNN-LBFGS", "LDD", "CAP", "SN", "DRIFT"],
    "SCML-PL": ["SCML"],
    "PNCA-PL": ["PNCA"],
}


def learner_for(method: Method, facts: Facts) -> MetricLearner:
    """The learner, with the parameters that the paper sets by the size of the data."""
    learner = clone(method.learner)
    return learner.set_params(n_basis=facts.n_basis) if isinstance(learner, SCML) else learner


def space_for(method: Method, facts: Facts) -> Ranges | None:
    """The ranges to search; None for the learner's own."""
    if isinstance(method.learner, ProxyNCA) and facts.split == "thirds":  # credit
        return {**default_ranges(method.learner), "n_proxies": [1, 3, 5, 10, 20]}
    return None
