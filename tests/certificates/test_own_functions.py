"""A model that answers by functions of its own is refused, or its own ``predict`` is asked inside each radius."""

from types import MethodType

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.datasets import load_breast_cancer
from sklearn.decomposition import PCA
from sklearn.feature_selection import SelectKBest
from sklearn.frozen import FrozenEstimator
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import FeatureUnion, Pipeline, make_pipeline
from sklearn.preprocessing import FunctionTransformer, Normalizer, OneHotEncoder, PowerTransformer, StandardScaler

from holdfast import CertifiedKNeighborsClassifier, Threat, certify

X, y = load_breast_cancer(return_X_y=True)
X, NEW, y = X[:300, :6], X[300:340, :6], y[:300]
THRESHOLD = 0.8


def careful(model, rows):
    """1 only where its probability is at least 0.8."""
    return (model.predict_proba(rows)[:, 1] >= THRESHOLD).astype(int)


class Careful(Pipeline):
    def predict(self, X):
        return careful(self, X)


class CarefulSearch(GridSearchCV):
    def predict(self, X):
        return careful(self, X)


class CarefulFrozen(FrozenEstimator):
    def predict(self, X):
        return careful(self.estimator, X)


class Clipping(Pipeline):
    def transform(self, X):
        return np.clip(super().transform(X), -1.0, 1.0)


class Plain(Pipeline):
    """As a pipeline, but nothing shows that."""


class ClippingSelector(SelectKBest):
    def transform(self, X):
        return np.clip(super().transform(X), -1e9, 20.0)


def linear():
    return make_pipeline(StandardScaler(), LogisticRegression()).fit(X, y)


def with_attribute(model, part, name, function):
    """The model, with a function set on one of its parts."""
    setattr(part, name, MethodType(function, part))
    return model


def clipped(step, rows):
    return np.clip(type(step).transform(step, rows), -1.0, 1.0)


def own_scores(model, rows):
    return type(model).decision_function(model, rows) - np.log(THRESHOLD / (1 - THRESHOLD))


def nested(model, inner):
    return inner, model


def subclass(kind, *steps):
    return kind(make_pipeline(*steps).steps).fit(X, y)


def attribute_on(take, name, function, *steps):
    model = make_pipeline(*steps).fit(X, y)
    return with_attribute(model, take(model), name, function)


neighbors, logistic = KNeighborsClassifier(5), LogisticRegression()
own = {
    "subclass of Pipeline": lambda: subclass(Careful, StandardScaler(), LogisticRegression()),
    "that changes nothing": lambda: subclass(Plain, StandardScaler(), LogisticRegression()),
    "subclass of GridSearchCV": lambda: CarefulSearch(linear(), {"logisticregression__C": [1.0]}, cv=2).fit(X, y),
    "subclass of FrozenEstimator": lambda: CarefulFrozen(linear()),
    "as the last step": lambda: Pipeline([("vote", subclass(Careful, StandardScaler(), neighbors))]).fit(X, y),
    "on a pipeline": lambda: attribute_on(lambda m: m, "predict", careful, StandardScaler(), neighbors),
    "on a classifier": lambda: attribute_on(lambda m: m[-1], "predict", careful, StandardScaler(), logistic),
    "on its scores": lambda: attribute_on(lambda m: m[-1], "decision_function", own_scores, StandardScaler(), logistic),
    "on k-NN": lambda: attribute_on(lambda m: m[-1], "predict", careful, neighbors),
    "on ours": lambda: attribute_on(lambda m: m[-1], "predict", careful, CertifiedKNeighborsClassifier(n_neighbors=5)),
    "on a frozen model": lambda: (lambda m: with_attribute(m, m, "predict", careful))(FrozenEstimator(linear())),
    "on a scaler": lambda: attribute_on(lambda m: m[0], "transform", clipped, StandardScaler(), LogisticRegression()),
    "on no step": lambda: attribute_on(lambda m: m[0], "transform", clipped, FunctionTransformer(), neighbors),
    "on a Normalizer": lambda: attribute_on(lambda m: m[0], "transform", clipped, Normalizer(), neighbors),
    "after it": lambda: attribute_on(lambda m: m[1], "transform", clipped, Normalizer(), PCA(), neighbors),
    "on a warp": lambda: attribute_on(lambda m: m[0], "transform", clipped, PowerTransformer(), neighbors),
    "subclass inside": lambda: make_pipeline(subclass(Clipping, StandardScaler(), PCA()), neighbors).fit(X, y),
    "on an inner pipeline": lambda: attribute_on(
        lambda m: m[0], "transform", clipped, make_pipeline(StandardScaler(), PCA()), neighbors
    ),
    "in a ColumnTransformer": lambda: attribute_on(
        lambda m: m[0].named_transformers_["a"], "transform", clipped,
        ColumnTransformer([("a", StandardScaler(), [0, 1, 2, 3, 4, 5])]), neighbors,
    ),
    "in a FeatureUnion": lambda: attribute_on(
        lambda m: m[0].transformer_list[0][1], "transform", clipped, FeatureUnion([("a", StandardScaler())]), neighbors
    ),
    "a selector": lambda: make_pipeline(ClippingSelector(k=3), neighbors).fit(X, y),
}  # fmt: skip


@pytest.mark.parametrize("kind", own)
def test_own_functions_are_refused_by_name(kind):
    with pytest.raises((TypeError, ValueError), match=r"cannot be certified|Certify the rest") as said:
        certify(own[kind](), NEW)
    assert "\n" not in str(said.value)


def test_what_to_do_instead_works():
    """What the sentences say to certify."""
    careful_, plain = own["subclass of Pipeline"](), linear()
    np.testing.assert_array_equal(certify(Pipeline(careful_.steps), NEW).radius, certify(plain, NEW).radius)
    search = own["subclass of GridSearchCV"]()
    assert (certify(search.best_estimator_, NEW).radius > 0).any()


def test_the_search_itself_predicts():
    """``prediction`` and every witness are those of the object that was handed in."""
    search = GridSearchCV(linear(), {"logisticregression__C": [1.0]}, cv=2).fit(X, y)
    plain = certify(search, NEW)
    asked = []

    class Watched(type(search)):
        __module__ = "sklearn.model_selection"

        def predict(self, X):
            asked.append(len(X))
            return super().predict(X)

    search.__class__ = Watched
    np.testing.assert_array_equal(certify(search, NEW).radius, plain.radius)
    assert len(asked) >= 3  # the rows, the witnesses, just inside


def test_known_wrappers_are_looked_through():
    model = make_pipeline(make_pipeline(StandardScaler(), PCA()), LogisticRegression()).fit(X, y)
    for wrapped in (model, FrozenEstimator(model), Pipeline([("frozen", FrozenEstimator(model))])):
        assert (certify(wrapped, NEW).radius > 0).any()


@pytest.mark.parametrize("norm", [2, np.inf, 1])
@pytest.mark.parametrize("last", [LogisticRegression(), KNeighborsClassifier(5)], ids=["linear", "k-NN"])
def test_a_threshold_that_no_type_shows_is_found_by_predict(monkeypatch, norm, last):
    """The class itself was changed: only its answers can tell, and one that differs speaks of the model."""
    model = make_pipeline(StandardScaler(), last).fit(X, y)
    assert (certify(model, NEW, norm=norm).radius > 0).sum() > 20
    monkeypatch.setattr(Pipeline, "predict", careful)
    with pytest.warns(UserWarning, match="own predict contradicts the radii of") as said:
        found = certify(model, NEW, norm=norm)
    assert len(said) == 1
    assert said[0].filename == __file__
    assert (found.radius == 0).all()
    np.testing.assert_array_equal(found.prediction, careful(model, NEW))


@pytest.mark.filterwarnings("ignore:.*that the model was not fitted on")
def test_it_is_found_behind_words_and_gaps_too(monkeypatch):
    table = pd.DataFrame(X[:, :2], columns=["a", "b"]).assign(c=np.where(np.arange(len(X)) % 3 > 0, "high", "low"))
    table.loc[::7, "a"] = np.nan
    numbers = make_pipeline(SimpleImputer(), StandardScaler())
    front = ColumnTransformer([("n", numbers, ["a", "b"]), ("w", OneHotEncoder(handle_unknown="ignore"), ["c"])])
    model = make_pipeline(front, LogisticRegression()).fit(table, y)
    rows = table[:30].assign(c=["new", *table["c"][1:30]])
    threat = Threat(free=["c"])
    for given in (None, threat):
        assert (certify(model, rows, threat=given).radius > 0).any()
    monkeypatch.setattr(Pipeline, "predict", careful)
    for given in (None, threat):
        with pytest.warns(UserWarning, match="own predict contradicts"):
            assert (certify(model, rows, threat=given).radius == 0).all()


def test_neighbours_whose_labels_come_from_elsewhere_are_asked_again(monkeypatch):
    model = KNeighborsClassifier(1).fit(X, y)
    certify(model, NEW)
    monkeypatch.setattr(KNeighborsClassifier, "predict_proba", lambda knn, X: np.eye(2)[np.zeros(len(X), int)])
    with pytest.raises(ValueError, match="labels are not those of the model"):
        certify(model, NEW)


@pytest.mark.parametrize(
    "threat",
    [
        Threat(lower=0.0, only_up=[0]), Threat(integer=[0, 1]), Threat(frozen=[0]), Threat(unit="std").fitted_to(X),
        Threat(free={5: [0.0, 1.0]}), Threat(classes=[1]), Threat(relations=[({0: 1.0, 1: 1.0}, "<=", 1000.0)]),
        Threat(norm=np.inf, upper=2000.0),
    ],
    ids=lambda threat: next(iter(threat.get_params(False).items())).__repr__(),
)  # fmt: skip
@pytest.mark.parametrize("witness", [True, False])
def test_nothing_is_said_of_models_that_are_their_votes(threat, witness):
    """Boundary probes keep every limit; a warning would be an error."""
    for model in (linear(), make_pipeline(StandardScaler(), KNeighborsClassifier(3)).fit(X, y)):
        certify(model, NEW[:5], threat=threat, witness=witness)


def test_probes_stay_where_a_logarithm_has_values():
    model = make_pipeline(FunctionTransformer(np.log), LogisticRegression()).fit(X[:, :2], y)
    for witness in (True, False):
        certify(model, NEW[:5, :2], witness=witness)
