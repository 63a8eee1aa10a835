"""Lemma X0: a model's ``predict`` is the vote after the chain of its steps, through every wrapper."""

import numpy as np
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import MinMaxScaler, Normalizer, StandardScaler

from holdfast import CertifiedKNeighborsClassifier
from holdfast.certificates.moves import Moves
from holdfast.certificates.readers import voter_for

rng = np.random.default_rng(0)
X = rng.normal(3.0, 2.0, size=(120, 4))
y = (X[:, 0] * X[:, 1] > 9).astype(int) + (X[:, 2] > 5)
ROWS = rng.normal(3.0, 6.0, size=(3000, 4))

STEPS = {
    "none": [],
    "nested": [make_pipeline(StandardScaler(), make_pipeline(PCA(), "passthrough")), MinMaxScaler()],
    "columns": [
        ColumnTransformer(
            [("a", PCA(1), [2, 0]), ("b", "drop", [1])], remainder="passthrough", transformer_weights={"a": 3.0}
        )
    ],
    "union": [FeatureUnion([("a", StandardScaler()), ("b", SelectKBest(k=2))]), StandardScaler()],
    "unit length": [StandardScaler(), Normalizer(), PCA()],
    "clipped": [MinMaxScaler(clip=True)],
}
CLASSIFIERS = [LogisticRegression(), KNeighborsClassifier(3), CertifiedKNeighborsClassifier(n_neighbors=3)]


def search(model):
    return GridSearchCV(model, {"vote__n_jobs": [None]}, cv=2)


WRAPPERS = {
    "pipeline": lambda model: model.fit(X, y),
    "search": lambda model: search(model).fit(X, y),
    "frozen search": lambda model: FrozenEstimator(search(model).fit(X, y)),
    "search as the last step": lambda model: Pipeline([("inner", search(model))]).fit(X, y),
}


@pytest.mark.parametrize("last", CLASSIFIERS, ids=lambda last: type(last).__name__)
@pytest.mark.parametrize(("steps", "wrapper"), zip(STEPS, [*WRAPPERS, *WRAPPERS], strict=False))
def test_x0_predict_is_the_vote_after_the_chain(steps, wrapper, last):
    parts = [(f"step {i}", step) for i, step in enumerate(STEPS[steps])]
    model = WRAPPERS[wrapper](Pipeline([*parts, ("vote", last)]))
    voter = voter_for(model)
    rows = voter.check_rows(ROWS)
    problem = voter.chain.question(voter.problem, Moves())
    np.testing.assert_array_equal(voter.classes[problem.vote(voter.chain.image(rows))], model.predict(ROWS))
    np.testing.assert_array_equal(voter.predict(rows), np.searchsorted(voter.classes, model.predict(ROWS)))
