"""Chains of steps, rules and threats: one of each kind that the code knows, over two columns of numbers.

``missing_kinds`` compares them with the code's own registries: a kind that is new there must be added here.
"""

import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, fields
from functools import cache
from inspect import signature
from itertools import product

import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import VarianceThreshold
from sklearn.impute import SimpleImputer
from sklearn.linear_model import (
    LogisticRegression,
    LogisticRegressionCV,
    Perceptron,
    RidgeClassifier,
    RidgeClassifierCV,
    SGDClassifier,
)
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid, RadiusNeighborsClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    KBinsDiscretizer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    RobustScaler,
    StandardScaler,
    TargetEncoder,
)
from sklearn.random_projection import SparseRandomProjection
from sklearn.svm import SVC, LinearSVC

from holdfast import CertifiedKNeighborsClassifier, CertifiedPrototypeClassifier, FixedMetric, Threat, counterfactuals
from holdfast.base.affine import READERS as AFFINE
from holdfast.certificates.chain import Chain
from holdfast.certificates.columns import Encoding
from holdfast.certificates.maps import FUNCTIONS, MONOTONE, Threshold
from holdfast.certificates.monotone import Monotone
from holdfast.certificates.pipelines import READERS as STEPS
from holdfast.certificates.readers import LINEAR, voter_for
from holdfast.certificates.readers import READERS as VOTES
from holdfast.certificates.sphere import OnSphere
from holdfast.certificates.vote import Voter
from tests.sizes import FULL

WORDS = ("p", "q", "r")
BOTH = [0, 1]


def _functions(first, second) -> list:
    return [
        ColumnTransformer([(f"{f.__name__} {i}", FunctionTransformer(f), [i]) for i, f in enumerate((first, second))])
    ]


def _bins(encode: str) -> list:
    return [KBinsDiscretizer(4, encode=encode, strategy="uniform")]


def _words(encoder) -> list:
    return [ColumnTransformer([("n", StandardScaler(), ["a", "b"]), ("w", encoder, ["w"])], sparse_threshold=0.0)]


# What a fold can be -> the chains of this kind: how they begin in a name says which rows they take.
CHAINS: dict[str, dict[str, Callable[[], list]]] = {
    "affine": {
        "nothing": lambda: [FunctionTransformer()],
        "standard, pca": lambda: [StandardScaler(), PCA()],
        "min-max": lambda: [MinMaxScaler()],
        "robust, svd": lambda: [RobustScaler(), TruncatedSVD(2)],
        "max-abs, metric": lambda: [MaxAbsScaler(), FixedMetric(np.array([[2.0, 0.5], [0.5, 1.0]]))],
        "lda, selection": lambda: [LinearDiscriminantAnalysis(), VarianceThreshold()],
        "sparse projection": lambda: [SparseRandomProjection(2, density=0.6, random_state=7)],
        "union": lambda: [
            FeatureUnion([("s", make_pipeline(StandardScaler())), ("p", PCA(1))], transformer_weights={"p": 0.5})
        ],
    },
    "normalizer": {
        "normalizer": lambda: [Normalizer()],
        "standard, normalizer, metric": lambda: [StandardScaler(), Normalizer(), FixedMetric(np.diag([1.0, 4.0]))],
    },
    "monotone": {
        "power": lambda: [PowerTransformer()],
        "box-cox": lambda: [PowerTransformer("box-cox")],
        "quantile": lambda: [QuantileTransformer(n_quantiles=12)],
        "quantile, normal": lambda: [QuantileTransformer(n_quantiles=12, output_distribution="normal")],
        "bins": lambda: _bins("ordinal"),
        "bins, indicators": lambda: _bins("onehot-dense"),
        "clipped min-max": lambda: [MinMaxScaler(clip=True)],
        "standard, clipped max-abs": lambda: [StandardScaler(), MaxAbsScaler(clip=True)],
        "log1p, sqrt": lambda: _functions(np.log1p, np.sqrt),
        "log, exp": lambda: [*_functions(np.log, np.exp), StandardScaler()],
        "log2, expm1": lambda: [*_functions(np.log2, np.expm1), StandardScaler()],
        "log10": lambda: _functions(np.log10, np.log10),
        "bins, numbers": lambda: [ColumnTransformer([("b", *_bins("ordinal"), BOTH), ("n", "passthrough", BOTH)])],
    },
    "words": {
        "words, indicators": lambda: _words(OneHotEncoder()),
        "words, codes": lambda: _words(OrdinalEncoder()),
        "words, targets": lambda: _words(TargetEncoder(cv=2)),
        "words, power": lambda: [
            ColumnTransformer(
                [("n", PowerTransformer(), ["a"]), ("b", StandardScaler(), ["b"]), ("w", OneHotEncoder(), ["w"])],
                sparse_threshold=0.0,
            )
        ],
    },
    "gaps": {
        "gaps": lambda: [SimpleImputer(), StandardScaler()],
        "gaps, indicators": lambda: [SimpleImputer(add_indicator=True), StandardScaler()],
        "gaps, quantile": lambda: [SimpleImputer(strategy="median"), QuantileTransformer(n_quantiles=12)],
    },
}  # fmt: skip

# The rule -> its classifiers.
RULES: dict[str, dict[str, Callable]] = {
    "one neighbour": {
        "scikit-learn 1": lambda: KNeighborsClassifier(1),
        "centroids": NearestCentroid,
        "prototypes": CertifiedPrototypeClassifier,
        "weighted 1": lambda: KNeighborsClassifier(1, weights="distance"),
    },
    "neighbours": {
        "scikit-learn 3": lambda: KNeighborsClassifier(3),
        "holdfast 3": lambda: CertifiedKNeighborsClassifier(n_neighbors=3),
        "holdfast 4": lambda: CertifiedKNeighborsClassifier(n_neighbors=4),
    },
    "distances": {
        "weighted 3": lambda: KNeighborsClassifier(3, weights="distance"),
        "manhattan 3": lambda: KNeighborsClassifier(3, p=1),
        "within": lambda: RadiusNeighborsClassifier(1.0, outlier_label="most_frequent"),
        "chebyshev 1": lambda: KNeighborsClassifier(1, p=np.inf),
    },
    "scores of three": {
        "logistic": lambda: LogisticRegression(C=10.0),
        "linear svc": lambda: LinearSVC(C=10.0, max_iter=100_000),
        "ridge": RidgeClassifier,
        "lda": LinearDiscriminantAnalysis,
        "sgd": lambda: SGDClassifier(random_state=0),
    },
    "scores of two": {
        "svc": lambda: SVC(kernel="linear"),
        "perceptron": Perceptron,
        "logistic, searched": lambda: LogisticRegressionCV(Cs=2, cv=2),
        "ridge, searched": lambda: RidgeClassifierCV([0.1, 1.0]),
        "logistic": LogisticRegression,
    },
}
# Chains and rules that no certificate is given for; questions and rules: all rows within a radius take no reference.
REFUSED = {
    ("normalizer", "distances"),
    ("standard, normalizer, metric", "distances"),
    ("near data", "within"),
    ("within data", "within"),
}


# Limits on moves, by the numbers of columns; those of words are for tables that have them.
THREATS: dict[str, dict] = {
    "any move": {},
    "units": {"unit": {0: 0.5, 1: 2.0}},
    "box": {"lower": {0: 1.0, 1: 1.25}, "upper": {0: 6.0, 1: 5.5}},
    "one frozen": {"frozen": [1]},
    "up": {"only_up": [0]},
    "down": {"only_down": [1]},
    "whole": {"integer": [0]},
    "relation": {"relations": [({0: 1.0, 1: 1.0}, "<=", 9.0)]},
    "free words": {"free": {2: WORDS}},
    "one word": {"categories": {2: WORDS}, "max_changes": 1, "unit": {1: 2.0}},
}
# What is asked: of counterfactuals the options, of others their function.
QUESTIONS: dict[str, dict] = {
    "radius": {},
    "fast radius": {"method": "lower"},
    "verdict": {"at": 0.5},
    "attack": {},
    "classes": {"classes": ["x"]},
    "dependence": {},
    "any other": {"target": None},
    "target": {"target": "z"},
    "slack": {"slack": 0.375},
    "target, slack": {"target": "z", "slack": 0.375},
    "one column": {"target": "z", "max_features": 1},
    "two answers": {"target": "z", "n": 2, "diverse": "features"},
    "near data": {"near_data": True, "reference": True},
    "within data": {"target": "z", "near_data": None, "reference": True},
}
COUNTERFACTUALS = [
    name for name in QUESTIONS if QUESTIONS[name] and not {"method", "at", "classes"} & set(QUESTIONS[name])
]
NOT_ASKED = {"model", "X", "threat", "rounding", "budget", "n_jobs"}  # the truth does not depend on these


@dataclass(frozen=True)
class Table:
    """Rows of the kind that a chain takes: two columns of numbers, and words or gaps where it takes them."""

    words: bool
    gaps: bool

    def make(self, numbers: np.ndarray, word):
        """Rows as the model takes them; ``word`` for all rows, or for each."""
        if not self.words:
            return numbers.copy()
        return pd.DataFrame({"a": numbers[:, 0], "b": numbers[:, 1], "w": np.broadcast_to(word, len(numbers))})

    @property
    def names(self) -> list:
        """The two columns, as a threat names them."""
        return ["a", "b"] if self.words else [0, 1]


def table_of(kind: str) -> Table:
    """The rows of a kind of chain."""
    return Table(kind == "words", kind == "gaps")


@cache
def training(kind: str, classes: int):
    """Three clusters, some rows among the others; words that tell something, a few gaps."""
    rng = np.random.default_rng(7)
    code = np.arange(42) % 3
    numbers = np.array([[1.6, 1.8], [4.6, 2.2], [3.2, 5.2]])[code] + rng.normal(0.0, 0.9, (42, 2))
    numbers = np.clip(numbers, 0.55, 6.45)
    word = np.array(WORDS)[np.where(rng.random(42) < 0.6, code, rng.integers(0, 3, 42))]
    if kind == "gaps":
        numbers[rng.random(42) < 0.15, 1] = np.nan
    labels = np.array(["x", "y", "z"] if classes == 3 else ["x", "y", "y"])[code]
    return table_of(kind).make(numbers, word), labels


@cache
def model_of(kind: str, chain: str, group: str, rule: str):
    """A fitted pipeline."""
    X, y = training(kind, 2 if group == "scores of two" else 3)
    with warnings.catch_warnings():  # of convergence, and of parameters that change: scikit-learn's to tell
        warnings.simplefilter("ignore")
        return make_pipeline(*CHAINS[kind][chain](), RULES[group][rule]()).fit(X, y)


def pairs(kind: str, group: str) -> list[tuple[str, str]]:
    """Chains of a kind with rules of a group: every chain and every rule at least once; at full size all pairs."""
    chains, rules = list(CHAINS[kind]), list(RULES[group])
    if FULL:
        return list(product(chains, rules))
    return [(chains[i % len(chains)], rules[i % len(rules)]) for i in range(max(len(chains), len(rules)))]


def asked(kind: str, group: str, question: int) -> bool:
    """Every second question: each goes to each kind of chain, and to each group of rules, a few times.

    All of them go to scores behind monotone steps, where no affine map of the rows leads to a vote that one would.
    """
    place = [*CHAINS].index(kind) + [*RULES].index(group)
    return (place + question) % 2 == 0 or (kind == "monotone" and "scores" in group)


def kind_of(voter: Voter) -> str:
    """What lies before a vote, as the code has it."""
    encoding = voter.encoding
    assert {kind.__name__ for kind in Chain.__subclasses__()} == {"Affine", "OnSphere", "Monotone"}, "a new chain"
    assert [field.name for field in fields(Encoding)] == [
        "n_columns",
        "names",
        "categories",
        "gaps",
        "read",
        "unseen",
        "filled",
        "refused",
        "also_numbers",
    ]
    parts = {
        "words": bool(encoding.categories),
        "gaps": bool(encoding.gaps),
        "monotone": isinstance(voter.chain, Monotone),
        "normalizer": isinstance(voter.chain, OnSphere),
    }
    return next((name for name, there in parts.items() if there), "affine")


def missing_kinds() -> list[str]:
    """What the code's registries have, and no model here."""
    steps, maps, functions, last = set(), set(), set(), []
    for kind, chains in CHAINS.items():
        for chain in chains:
            model = model_of(kind, chain, "scores of three", "logistic")
            inner = list(_inside(model))
            steps |= {type(step) for step in inner}
            functions |= {step.func for step in inner if isinstance(step, FunctionTransformer)}
            chained = voter_for(model).chain
            maps |= {type(warp.map.step) for warp in chained.warps} if isinstance(chained, Monotone) else set()
    for rules in RULES.values():
        last += [make() for make in rules.values()]
    fitted = [model[-1] for model in (model_of("affine", "nothing", g, r) for g, rules in RULES.items() for r in rules)]
    asked = {name for question in QUESTIONS.values() for name in question} | NOT_ASKED
    limits = {name for threat in THREATS.values() for name in threat} | {"norm", "classes"}
    return [
        *(f"step {kind.__name__}" for kind in {*AFFINE, *STEPS, *MONOTONE, Normalizer} - steps),
        *(f"monotone {kind.__name__}" for kind in {*MONOTONE, Threshold} - maps),
        *(f"function {function.__name__}" for function in set(FUNCTIONS) - functions),
        *(f"vote {i}" for i, (accepts, _) in enumerate(VOTES) if not any(map(accepts, fitted))),
        *(f"scores of {kind.__name__}" for kind in set(LINEAR) - {type(each) for each in last}),
        *(f"option {name} of counterfactuals" for name in set(signature(counterfactuals).parameters) - asked),
        *(f"limit {name} of Threat" for name in set(Threat().get_params()) - limits),
    ]


def _inside(step) -> Iterator:
    """A step, and those in it."""
    yield step
    if isinstance(step, Pipeline):
        inner = [each for _, each in step.steps]
    elif isinstance(step, ColumnTransformer):
        inner = [each for _, each, _ in step.transformers_]
    else:
        inner = [each for _, each in step.transformer_list] if isinstance(step, FeatureUnion) else []
    for each in inner:
        yield from _inside(each)
