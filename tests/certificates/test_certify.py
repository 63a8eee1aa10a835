"""certify: pipelines, units, norms, boxes, and what cannot be certified."""

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_breast_cancer, load_wine
from sklearn.decomposition import PCA, KernelPCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import SelectKBest
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier, NeighborhoodComponentsAnalysis, RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    PolynomialFeatures,
    RobustScaler,
    StandardScaler,
)
from sklearn.random_projection import SparseRandomProjection
from sklearn.tree import DecisionTreeClassifier

from holdfast import (
    LMNN,
    CertifiedKNeighborsClassifier,
    CertifiedPrototypeClassifier,
    FixedMetric,
    Perturbation,
    attack,
    certify,
    poisoning_tolerance,
)
from holdfast.certificates import CertifiedAccuracy
from holdfast.certificates.pipelines import chain_of
from tests.sizes import FULL

NORMS = {"l2": 2, "linf": np.inf, "l1": 1, "ellipsoid": np.diag(np.linspace(0.5, 2.0, 13)) + 0.05}


@pytest.fixture(scope="module")
def wine():
    X, y = load_wine(return_X_y=True)
    return X[::2], y[::2], X[1::2], y[1::2]


def lengths(norm, D):
    if norm == "ellipsoid":
        return np.sqrt(np.einsum("nd,de,ne->n", D, NORMS[norm], D))
    return np.linalg.norm(D, ord=NORMS[norm], axis=1)


STEPS = {
    "standard": [StandardScaler()],
    "min-max": [MinMaxScaler()],
    "robust": [RobustScaler()],
    "max-abs": [MaxAbsScaler()],
    "pca": [StandardScaler(), PCA(6)],
    "whitened pca": [StandardScaler(), PCA(6, whiten=True)],
    "svd": [MinMaxScaler(), TruncatedSVD(5)],
    "sparse projection": [StandardScaler(), SparseRandomProjection(6, random_state=0)],
    "lda": [StandardScaler(), LinearDiscriminantAnalysis()],
    "selected": [StandardScaler(), SelectKBest(k=7)],
    "nothing": ["passthrough", FunctionTransformer(), StandardScaler(with_mean=False)],
    "nested": [make_pipeline(StandardScaler(), PCA(8)), RobustScaler(with_centering=False)],
    "nca": [StandardScaler(), NeighborhoodComponentsAnalysis(5, random_state=0)],
    "unit length": [StandardScaler(), Normalizer()],
    "unit length and pca": [StandardScaler(), Normalizer(), PCA(5)],
}


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
def test_folded_steps_are_what_the_pipeline_does(wine, steps):
    X, y, X_test, _ = wine
    pipeline = make_pipeline(*steps).fit(X, y)
    _, chain = chain_of([step for _, step in pipeline.steps], 13)
    np.testing.assert_allclose(chain.image(X_test), pipeline.transform(X_test), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("steps", STEPS.values(), ids=STEPS)
@pytest.mark.parametrize("last", ["ours", "prototypes", "scikit-learn's"])
def test_no_move_inside_the_radius_changes_the_answer(wine, steps, last):
    """In raw units, through every kind of step; witnesses do change it, just outside."""
    X, y, X_test, y_test = wine
    X_test, y_test = (X_test, y_test) if FULL else (X_test[::4], y_test[::4])
    final = {
        "ours": CertifiedKNeighborsClassifier(n_neighbors=3),
        "prototypes": CertifiedPrototypeClassifier(),
        "scikit-learn's": KNeighborsClassifier(1),
    }[last]
    model = make_pipeline(*steps, final).fit(X, y)
    reference = (X, y) if last == "scikit-learn's" else None
    certificate = certify(model, X_test, y_test, reference=reference)
    np.testing.assert_array_equal(certificate.prediction, model.predict(X_test))
    assert (certificate.radius <= certificate.upper).all()
    assert (certificate.radius > 0).mean() > 0.9
    found = np.isfinite(certificate.upper)
    assert found.mean() > 0.9
    assert (model.predict(certificate.adversarial[found]) != certificate.prediction[found]).all()
    size = np.linalg.norm(certificate.adversarial[found] - X_test[found], axis=1)
    np.testing.assert_allclose(size, certificate.upper[found], rtol=1e-9)
    rng = np.random.default_rng(0)
    towards = np.where(found[:, None], certificate.adversarial - X_test, 1.0)
    D = rng.normal(size=(30, *X_test.shape))
    D[::2] = towards + 0.1 * D[::2]
    D *= (0.999999 * certificate.radius / np.linalg.norm(D, axis=2))[..., None]
    answers = model.predict((X_test + D).reshape(-1, X_test.shape[1])).reshape(30, -1)
    assert (answers == certificate.prediction).all()


def test_the_exact_radius_is_the_same_through_any_scaler(wine):
    """The classifier in standardised units, certified in raw units, is an ellipsoid in standardised ones."""
    X, y, X_test, _ = wine
    scaler = StandardScaler().fit(X)
    Z, Z_test = scaler.transform(X), scaler.transform(X_test)
    inner = CertifiedKNeighborsClassifier(n_neighbors=1).fit(Z, y)
    folded = certify(make_pipeline(scaler, inner), X_test)
    by_hand = certify(inner, Z_test, norm=np.diag(scaler.scale_**2))
    np.testing.assert_allclose(folded.radius, by_hand.radius, rtol=1e-4)


@pytest.fixture(scope="module")
def learned(wine):
    X, y, *_ = wine
    return LMNN().fit(StandardScaler().fit_transform(X), y)


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("k", [1, 2, 3, 4, 5])
def test_every_norm_and_k(wine, learned, norm, k):
    X, y, X_test, y_test = wine
    X_test, y_test = (X_test[:25], y_test[:25]) if FULL else (X_test[:24:2], y_test[:24:2])
    model = make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(learned, n_neighbors=k)).fit(X, y)
    certificate = certify(model, X_test, y_test, norm=NORMS[norm], budget=200)
    lower = certify(model, X_test, norm=NORMS[norm], method="lower", witness=False)
    assert (lower.radius <= certificate.radius * (1 + 1e-9)).all()
    assert (certificate.radius <= certificate.upper).all()
    assert np.isfinite(certificate.upper).all()
    moved = certificate.adversarial - X_test
    np.testing.assert_allclose(lengths(norm, moved), certificate.upper, rtol=1e-7)
    assert (model.predict(certificate.adversarial) != certificate.prediction).all()
    rng = np.random.default_rng(k)
    for _ in range(20):
        D = moved + rng.normal(size=moved.shape) * np.abs(moved).mean()
        D *= (0.999999 * certificate.radius / lengths(norm, D))[:, None]
        np.testing.assert_array_equal(model.predict(X_test + D), certificate.prediction)


def test_frozen_features_stay_and_a_box_is_kept(wine):
    X, y, X_test, _ = wine
    model = make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(n_neighbors=1)).fit(X, y)
    free = certify(model, X_test)
    frozen = certify(model, X_test, frozen=[0, 12])
    assert (frozen.radius >= free.radius * (1 - 1e-6)).all()
    assert frozen.radius.mean() > free.radius.mean()
    found = np.isfinite(frozen.upper)
    np.testing.assert_array_equal(frozen.adversarial[found][:, [0, 12]], X_test[found][:, [0, 12]])
    mask = np.zeros(13, bool)
    mask[[0, 12]] = True
    np.testing.assert_allclose(certify(model, X_test, frozen=mask).radius, frozen.radius)

    low, high = X.min(axis=0), X.max(axis=0)
    boxed = certify(model, X_test, lower=low, upper=high)
    found = np.isfinite(boxed.upper)
    inside = np.clip(X_test, low, high)
    beyond = np.maximum(np.maximum(low - boxed.adversarial, boxed.adversarial - high), 0)[found]
    assert (beyond <= np.abs(X_test - inside)[found] + 1e-12).all()
    assert (boxed.radius >= free.radius * (1 - 1e-6)).all()
    for norm in (2, 1, np.inf, np.eye(13)):
        with pytest.warns(UserWarning, match="lets nothing move"):
            everything = certify(model, X_test[:3], norm=norm, frozen=np.arange(13))
        assert np.isinf(everything.radius).all()
        assert everything.exact.all()


def test_pandas_columns_and_string_labels(wine):
    X, y, X_test, y_test = wine
    names = [f"f{k}" for k in range(13)]
    words = np.array(["red", "white", "rose"])
    model = make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(n_neighbors=1))
    model.fit(pd.DataFrame(X, columns=names), words[y])
    certificate = certify(model, pd.DataFrame(X_test, columns=names), words[y_test])
    plain = make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(n_neighbors=1)).fit(X, y)
    np.testing.assert_allclose(certificate.radius, certify(plain, X_test).radius)
    assert set(certificate.prediction) <= set(words)
    frame = certificate.to_frame()
    assert list(frame.columns) == ["prediction", "radius", "upper", "exact", "budget_ended", "true", "correct", "far"]
    assert len(frame) == len(X_test)


def test_the_method_equals_the_function(wine):
    X, y, X_test, y_test = wine
    clf = CertifiedKNeighborsClassifier(FixedMetric(np.eye(13)), n_neighbors=1).fit(X, y)
    np.testing.assert_array_equal(clf.certify(X_test, y_test).radius, certify(clf, X_test, y_test).radius)


def test_scikit_learn_s_own_mahalanobis(wine):
    X, y, X_test, _ = wine
    Z, Z_test = StandardScaler().fit_transform(X), StandardScaler().fit(X).transform(X_test)
    M = np.cov(Z.T) + np.eye(13)
    theirs = KNeighborsClassifier(1, metric="mahalanobis", metric_params={"VI": M}, algorithm="brute").fit(Z, y)
    ours = CertifiedKNeighborsClassifier(FixedMetric(M), n_neighbors=1).fit(Z, y)
    np.testing.assert_allclose(
        certify(theirs, Z_test, reference=(Z, y)).radius, certify(ours, Z_test).radius, rtol=1e-6
    )


@pytest.mark.parametrize(
    "step",
    [
        PolynomialFeatures(2),
        KernelPCA(3),
        Normalizer("l1"),
    ],
)
def test_other_steps_are_refused_by_name_with_a_way_out(wine, step):
    X, y, X_test, _ = wine
    model = make_pipeline(StandardScaler(), step, CertifiedKNeighborsClassifier(n_neighbors=1)).fit(X, y)
    with pytest.raises(ValueError, match=rf"{type(step).__name__}.*is not an affine step.*model\[:k\]"):
        certify(model, X_test)
    after = certify(model[2:], model[:2].transform(X_test))  # the way out that the message offers
    assert (after.radius > 0).any()


def test_what_cannot_be_certified_is_said(wine):
    X, y, X_test, _ = wine
    cases = [
        (DecisionTreeClassifier(), {}, TypeError, "DecisionTreeClassifier cannot be certified"),
        (KNeighborsClassifier(3), {"reference": (X[:9], y[:9])}, ValueError, "must be the 89 rows"),
        (KNeighborsClassifier(3), {"reference": (X, np.zeros(89))}, ValueError, "not the classes"),
        (KNeighborsClassifier(3, weights=lambda d: 1 / (1 + d)), {}, ValueError, "weights=<function .* cannot"),
        (KNeighborsClassifier(3, metric="cosine"), {}, ValueError, r"metric='cosine' cannot .* a Normalizer\(\)"),
        (KNeighborsClassifier(3, metric=lambda a, b: abs(a - b).max()), {}, ValueError, "metric=<function .* cannot"),
        (RadiusNeighborsClassifier(9.0), {}, ValueError, "outlier_label='most_frequent'"),
        (
            make_pipeline(Normalizer(), KNeighborsClassifier(3, weights="distance")),
            {},
            ValueError,
            "A Normalizer before KNeighborsClassifier with weights='distance'",
        ),
        (CertifiedKNeighborsClassifier(), {"norm": 3}, ValueError, "norm must be"),
        (CertifiedKNeighborsClassifier(), {"norm": -np.eye(13)}, ValueError, "not positive definite"),
        (CertifiedKNeighborsClassifier(), {"method": "magic"}, ValueError, "method must be"),
        (CertifiedKNeighborsClassifier(), {"frozen": [99]}, ValueError, "frozen names feature 99"),
        (CertifiedKNeighborsClassifier(), {"lower": 1.0, "upper": 0.0}, ValueError, "lower is above upper"),
        (CertifiedKNeighborsClassifier(), {"lower": [1.0, 2.0]}, ValueError, "lower must be a number"),
    ]
    for model, options, error, message in cases:
        with pytest.raises(error, match=message):
            certify(model.fit(X, y), X_test, **options)
    clf = CertifiedKNeighborsClassifier().fit(X, y)
    with pytest.raises(ValueError, match="X has 3 features, but CertifiedKNeighborsClassifier is expecting 13"):
        certify(clf, X_test[:, :3])
    with pytest.raises(ValueError, match="NaN"):
        certify(clf, np.full((2, 13), np.nan))
    with pytest.raises(ValueError, match="y must have shape"):
        certify(clf, X_test, y[:2])


def test_single_precision_references_are_refused(wine):
    X, y, X_test, _ = wine
    coarse = X.astype(np.float32)
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(1)).fit(coarse, y)
    with pytest.raises(ValueError, match="reference is float32"):
        certify(model, X_test, reference=(coarse, y))


def test_the_sphere_s_certificate_survives_data_far_from_the_origin(wine):
    """Rounding is additive on the sphere: near-ties far away must not be certified by a factor."""
    X, y, X_test, _ = wine
    model = make_pipeline(StandardScaler(), Normalizer(), CertifiedKNeighborsClassifier(n_neighbors=1))
    X_test = X_test if FULL else X_test[::4]
    far, far_test = X + 1e9, X_test + 1e9
    certificate = certify(model.fit(far, y), far_test)
    near = certify(model.fit(X, y), X_test)
    assert (certificate.radius <= near.radius * (1 + 1e-3) + 1e-6).mean() > 0.9
    rng = np.random.default_rng(0)
    model.fit(far, y)
    for _ in range(20):
        D = rng.normal(size=X_test.shape)
        D *= (0.999 * certificate.radius / np.linalg.norm(D, axis=1))[:, None]
        np.testing.assert_array_equal(model.predict(far_test + D), certificate.prediction)


def test_certified_accuracy_is_below_attacked_accuracy(wine):
    X, y, X_test, y_test = wine
    certificate = certify(CertifiedKNeighborsClassifier(n_neighbors=2).fit(X, y), X_test, y_test)
    radii = np.linspace(0, 60, 25)
    low, high = certificate.certified_accuracy(radii=radii), certificate.attacked_accuracy(radii=radii)
    assert (low <= high).all()
    assert (np.diff(low) <= 0).all()
    assert low[0] == high[0] == (certificate.prediction == y_test).mean()
    with pytest.raises(ValueError, match="radii is missing"):
        certificate.certified_accuracy()
    with pytest.raises(ValueError, match="at least 0"):
        certificate.certified_accuracy(radii=-1)
    with pytest.raises(ValueError, match="y is missing"):
        certify(CertifiedKNeighborsClassifier().fit(X, y), X_test).certified_accuracy(radii=1)


def test_plot_draws_both_bounds(wine):
    import matplotlib

    matplotlib.use("Agg")
    X, y, X_test, y_test = wine
    ax = certify(CertifiedKNeighborsClassifier(n_neighbors=2).fit(X, y), X_test, y_test).plot()
    assert {line.get_label() for line in ax.lines} == {"certified", "attacked"}


def test_models_are_selected_by_certified_accuracy():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = StandardScaler().fit_transform(X)[::2], y[::2]
    grid = {"learner__perturbation": [None, Perturbation(tau=1.0, weight=4.0)]}
    scorer = CertifiedAccuracy(radius=0.5)
    search = GridSearchCV(CertifiedKNeighborsClassifier(LMNN()), grid, scoring=scorer, cv=3).fit(X, y)
    best = search.best_params_["learner__perturbation"]
    assert isinstance(best, Perturbation)  # the loss is there to make this number larger
    assert 0 < search.best_score_ < 1


def test_attack_is_the_other_side(wine):
    X, y, X_test, y_test = wine
    model = make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(n_neighbors=3)).fit(X, y)
    found = attack(model, X_test, norm=np.inf)
    certificate = certify(model, X_test, norm=np.inf)
    assert found.success.all()
    assert (found.size >= certificate.radius).all()
    np.testing.assert_array_equal(model.predict(found.adversarial), found.changed_to)
    assert (found.changed_to != found.prediction).all()
    assert found.accuracy(y_test, 0.0) == model.score(X_test, y_test)


def test_poisoning_tolerance_holds_for_every_set_of_flips():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(9, 2)), rng.integers(0, 3, 9)
    queries = rng.normal(size=(20, 2))
    for k in (1, 3, 4, 5):
        clf = CertifiedKNeighborsClassifier(n_neighbors=k).fit(X, y)
        tolerance, before = poisoning_tolerance(clf, queries), clf.predict(queries)
        assert tolerance.max() <= (k - 1) // 2
        for _ in range(200 if FULL else 40):
            flips = rng.integers(0, 3)
            poisoned = y.copy()
            poisoned[rng.choice(9, flips, replace=False)] = rng.integers(0, 3, flips)
            after = CertifiedKNeighborsClassifier(n_neighbors=k).fit(X, poisoned).predict(queries)
            assert (after == before)[tolerance >= flips].all()


def test_progress_counts_rows_with_gaps_in_the_same_columns_as_they_are_done():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 2))
    y = (X[:, 0] > 0).astype(int)
    X[::2, 1] = np.nan
    model = make_pipeline(SimpleImputer(), StandardScaler(), LogisticRegression()).fit(X, y)
    seen: list = []
    certify(model, X, progress=lambda *report: seen.append(report))
    assert seen == [(256, 600), (300, 600), (556, 600), (600, 600)]
