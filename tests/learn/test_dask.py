"""Rows in Dask collections: the triplets, objective, metric and certificates of arrays."""

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer, load_digits, load_iris, load_wine, make_classification
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import (
    AML,
    DRIFT,
    LMNN,
    SCML,
    CappedTraceLMNN,
    CertifiedKNeighborsClassifier,
    CertifiedPrototypeClassifier,
    Euclidean,
    LogDetLMNN,
    MarginLVQ,
    Perturbation,
    ProxyNCA,
    Reduced,
    SpectralNormLMNN,
    certify,
)
from holdfast.learn import NeighborSearch, Triplets, knn_triplets
from holdfast.learn.objective import Objective
from holdfast.learn.solvers import LBFGS, ProjectedGradient

pytest.importorskip("dask.array")
dask = pytest.importorskip("dask")
from functools import partial  # noqa: E402

import dask.array as da  # noqa: E402
from sklearn.utils.validation import validate_data  # noqa: E402

from holdfast.base import collections as base_collections  # noqa: E402
from holdfast.learn import proxy_nca, scml  # noqa: E402
from holdfast.learn.dask import _Rebuilt, _writable, compute  # noqa: E402
from holdfast.learn.rows import labelled_rows, triplet_rows  # noqa: E402
from tests.learn.collections_of_rows import PL, apart, cut, four_classes  # noqa: E402


@pytest.fixture(scope="module")
def data():
    return four_classes()


# -- with Dask's own threads: the parts -------------------------------------------------------------


def labelled(learner, X, y):
    return labelled_rows(X, y, partial(validate_data, learner), type(learner).__name__)


def mined(learner, X, y):
    """All triplets of the blocks, by the index in X."""
    return np.concatenate(
        compute(labelled(learner, X, y).triplets(learner.n_neighbors, learner.n_impostors, learner.neighbors))
    )


def in_order(rows):
    return rows[np.lexsort(rows.T[::-1])]


@pytest.mark.parametrize("neighbors", ["exact", NeighborSearch(n_anchors=150, random_state=3)])
@pytest.mark.parametrize("rows", [100, 37, 1000])
def test_triplets_are_those_of_arrays(rows, neighbors):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(400, 5)), np.sort(rng.integers(0, 3, 400))  # blocks that lack a class
    X[200:220] = X[:20]  # points twice: of equals the smaller index
    found = mined(LMNN(neighbors=neighbors), *cut(X, y, rows, 90, 2))
    np.testing.assert_array_equal(in_order(found), in_order(knn_triplets(X, y, neighbors=neighbors).rows))


@pytest.mark.parametrize("load", [load_iris, load_digits])
def test_triplets_of_data_full_of_ties(load):
    """Features on a grid: many distances are equal, and tiles of distances round them apart."""
    X, y = load(return_X_y=True)
    X, y = X[:600], y[:600]
    found = mined(LMNN(), *cut(X, y, 170, 90, 3))
    np.testing.assert_array_equal(in_order(found), in_order(knn_triplets(X, y).rows))


@pytest.mark.filterwarnings("ignore:n_neighbors")
def test_small_classes_have_the_targets_there_are():
    X, y = np.random.default_rng(1).normal(size=(60, 3)), np.repeat([0, 1, 2, 3], [40, 17, 2, 1])
    found = mined(LMNN(n_impostors=50), *cut(X, y, 25, 60, 3))
    np.testing.assert_array_equal(in_order(found), in_order(knn_triplets(X, y, n_impostors=50).rows))


def test_objective_is_that_of_arrays():
    X, y = make_classification(600, 6, n_classes=3, n_informative=4, random_state=0)
    learner = LogDetLMNN(perturbation=PL, weight=0.3)
    terms = [*learner.make_terms(), (0.7, LMNN().make_terms()[0][1]), (PL.weight, PL)]
    B = PL.slope_matrix(6, X.var(axis=0))
    data = triplet_rows(learner, *cut(X, y, 170, 100, 4))
    np.testing.assert_allclose(PL.slope_matrix(6, data.variances()), B, rtol=1e-12)
    rng = np.random.default_rng(0)
    with Objective(X, knn_triplets(X, y), terms, B) as here, data.objective(terms, B, None) as there:
        assert there.n_features == 6
        for ours, theirs in zip(here.scatters, there.scatters, strict=True):
            assert apart(ours, theirs) < 1e-13
        for _ in range(3):
            L = rng.normal(size=(6, 6))
            M = L.T @ L
            value, G = here(M)
            other, H = there(M)
            assert other == pytest.approx(value, rel=1e-13)
            assert apart(G, H) < 1e-13
            assert there.largest_distance(M) == pytest.approx(here.largest_distance(M), rel=1e-13)


@pytest.mark.parametrize(
    "learner", [LMNN(mu=0.9, perturbation=Perturbation(tau=2.0)), SpectralNormLMNN(solver=LBFGS())]
)
def test_many_steps_over_kinks_end_at_the_same_metric(learner):
    """Fits that enlarge rounding errors to 1e-3 and more, if they are let in."""
    X, y = load_breast_cancer(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    M = learner.fit(X, y).get_mahalanobis_matrix()
    assert learner.n_iter_ > 25
    assert apart(M, learner.fit(*cut(X, y, 150, 569, 30)).get_mahalanobis_matrix()) < 1e-8


@pytest.mark.parametrize("perturbation", [None, PL])
@pytest.mark.parametrize("normalize", [False, True])
def test_proxies_are_those_of_arrays(data, perturbation, normalize):
    learner = ProxyNCA(2, perturbation=perturbation, normalize=normalize, n_proxy_steps=20, random_state=0)
    learner.set_params(solver=LBFGS(tol=3e-3))
    here = learner.fit(*data).components_, learner.prototypes_, learner.objective_
    there = learner.fit(*cut(*data)).components_, learner.prototypes_, learner.objective_
    for ours, theirs in zip(here, there, strict=True):
        assert apart(ours, theirs) < 1e-10


def test_triplets_of_the_user():
    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    triplets = knn_triplets(X, y, 2, 5)
    dX, dy = cut(X, y, 50, 178)
    M = LMNN().fit(X, triplets=triplets).get_mahalanobis_matrix()
    assert apart(M, LMNN().fit(dX, triplets=triplets).get_mahalanobis_matrix()) < 1e-8
    few = triplets.rows[triplets.i < 60]  # blocks without an anchor
    M = LMNN().fit(X, triplets=few).get_mahalanobis_matrix()
    assert apart(M, LMNN().fit(dX, triplets=few).get_mahalanobis_matrix()) < 1e-8
    with pytest.raises(ValueError, match="178 rows"):
        LMNN().fit(dX, triplets=Triplets(few, 200))
    with pytest.raises(ValueError, match="pass y beside the triplets"):
        SCML().fit(dX, triplets=few)
    assert SCML(n_basis=20, random_state=0).fit(dX, dy, triplets=few).w_.size == 20


def test_start_solver_and_callback(data):
    X, y = data[0][:500], data[1][:500]
    seen = []
    learner = CappedTraceLMNN(
        solver=ProjectedGradient(max_iter=30, tol=0.0), init=np.eye(20), callback=lambda p: seen.append(p.value)
    )
    with pytest.warns(match="did not converge"):
        M = learner.fit(X, y).get_mahalanobis_matrix()
    here = seen.copy()
    with pytest.warns(match="did not converge"):
        assert apart(M, learner.fit(*cut(X, y, 150)).get_mahalanobis_matrix()) < 1e-8
    np.testing.assert_allclose(seen[len(here) :], here, rtol=1e-10)


@pytest.mark.parametrize("learner", [SCML(n_basis=30, random_state=5), ProxyNCA(random_state=5, n_proxy_steps=20)])
def test_a_sample_keeps_every_class_and_its_seed(learner, monkeypatch):
    X, y = make_classification(2000, 6, n_informative=4, n_classes=3, random_state=2)
    y[:1900][y[:1900] == 2] = 1
    y[-3:] = 2  # at least three of class 2
    monkeypatch.setattr(scml, "_SAMPLE_SIZE", 200)
    monkeypatch.setattr(proxy_nca, "_SAMPLE_SIZE", 200)
    data = labelled(ProxyNCA(), *cut(X, y))
    rows, codes = data.sample(200, 5)
    assert 200 <= len(rows) <= 500
    assert np.bincount(codes)[2] == (y == 2).sum()  # a small class is there as a whole
    assert {tuple(row) for row in rows} <= {tuple(row) for row in X}
    np.testing.assert_array_equal(rows, data.sample(200, 5)[0])
    assert not np.array_equal(rows, data.sample(200, 6)[0])
    M = learner.fit(*cut(X, y)).get_mahalanobis_matrix()
    np.testing.assert_array_equal(M, learner.fit(*cut(X, y)).get_mahalanobis_matrix())


# -- data frames, odd collections, wrong ones -------------------------------------------------------


@pytest.mark.filterwarnings("ignore::DeprecationWarning", "ignore::FutureWarning")
def test_data_frames_keep_their_names():
    dd, pd = pytest.importorskip("dask.dataframe"), pytest.importorskip("pandas")
    X, y = load_wine(return_X_y=True, as_frame=True)
    X = (X - X.mean()) / X.std()
    labels = pd.Series(np.array(["barolo", "grignolino", "barbera"])[y])
    frame = dd.from_pandas(X.assign(label=labels), npartitions=5)
    frame = frame[frame["alcohol"] > -3]  # lengths are not known any more
    learner = LMNN(n_impostors=5).fit(frame[list(X)], frame["label"])
    kept = X["alcohol"] > -3
    here = LMNN(n_impostors=5).fit(X[kept], labels[kept])
    assert learner.feature_names_in_.tolist() == list(X)
    assert apart(here.get_mahalanobis_matrix(), learner.get_mahalanobis_matrix()) < 1e-8
    np.testing.assert_allclose(learner.transform(frame[list(X)]).compute(), here.transform(X[kept]), atol=1e-8)
    clf = CertifiedKNeighborsClassifier(learner).fit(frame[list(X)], frame["label"])
    assert clf.feature_names_in_.tolist() == list(X)
    assert clf.predict(frame[list(X)]).compute().tolist() == clf.predict(X[kept]).tolist()
    with pytest.raises(ValueError, match="feature names"):
        learner.transform(frame[list(X)[::-1]])


def test_blocks_without_rows():
    X, y = load_iris(return_X_y=True)
    dX, dy = cut(X, y, 50, 50, 4)
    keep = dy != 1  # the second block is empty, and no length is known
    here = ProxyNCA(random_state=0).fit(X[y != 1], y[y != 1])
    learner = ProxyNCA(random_state=0).fit(dX[keep], dy[keep])
    assert apart(learner.components_, here.components_) < 1e-10
    clf = CertifiedPrototypeClassifier(learner).fit(dX[keep], dy[keep])
    assert clf.predict(dX[keep]).compute().tolist() == clf.predict(X[y != 1]).tolist()
    assert len(clf.certify(dX[keep], dy[keep])) == 100


def wrong(X, row, value):
    X = X.copy()
    X[row, 2] = value
    return X


@pytest.mark.parametrize("learner", [LMNN(), SCML(n_basis=20), ProxyNCA()])
def test_bad_input_gets_the_sentence_it_would_get_here(learner):
    X, y = load_iris(return_X_y=True)
    dX, dy = cut(X, y, 40)
    for bad in (np.nan, np.inf):
        with pytest.raises(ValueError, match=r"NaN|infinity"):
            learner.fit(da.from_array(wrong(X, 100, bad), chunks=40), dy)
    with pytest.raises(ValueError, match="X has 150 rows, but y has 149"):
        learner.fit(dX, dy[:149])
    with pytest.raises(ValueError, match="only one class"):
        learner.fit(dX, da.zeros(150, dtype=int))
    with pytest.raises(ValueError, match="requires y"):
        learner.fit(dX, None)
    with pytest.raises(ValueError, match="continuous"):
        learner.fit(dX, dy + 0.5)
    with pytest.raises(ValueError, match="y contains NaN"):
        learner.fit(dX, da.where(dy == 2, np.nan, dy))
    with pytest.raises(ValueError, match="two dimensions"):
        learner.fit(dX[:, 0], dy)
    with pytest.raises(ValueError, match="minimum of 2"):
        learner.fit(dX[:1], dy[:1])
    assert learner.fit(dX, y.tolist()).n_features_in_ == 4  # labels that are here


def test_what_cannot_be_done_is_said():
    dX, dy = cut(*load_iris(return_X_y=True))
    for learner in (DRIFT(), AML(), Reduced(), MarginLVQ()):
        with pytest.raises(TypeError, match=f"{type(learner).__name__} needs all rows in one place"):
            learner.fit(dX, dy)
    with pytest.raises(ValueError, match="choose a number"):
        LMNN(n_impostors=None).fit(dX, dy)
    with pytest.raises(ValueError, match="approximate search needs all rows"):
        LMNN(neighbors="approximate").fit(dX, dy)


# -- use ------------------------------------------------------------------------------------------


def test_predictions_are_lazy_and_those_of_arrays():
    X, y = load_iris(return_X_y=True)
    dX, dy = cut(X, y, 40, 60, 2)
    clf = CertifiedKNeighborsClassifier(LMNN()).fit(dX, dy)
    np.testing.assert_array_equal(clf.reference_, X)
    for method in ("predict", "predict_proba"):
        lazy = getattr(clf, method)(dX)
        assert isinstance(lazy, da.Array)
        assert lazy.chunks[0] == dX.chunks[0]
        np.testing.assert_array_equal(lazy.compute(), getattr(clf, method)(X))
    assert clf.score(dX, dy) == clf.score(X, y)
    with pytest.raises(ValueError, match="3 features"):
        clf.predict(dX[:, :3])
    np.testing.assert_array_equal(Euclidean().fit(dX).transform(dX).compute(), X)


def test_reference_rows_have_a_limit(monkeypatch):
    X, y = load_iris(return_X_y=True)
    dX, dy = cut(X, y)
    monkeypatch.setattr(base_collections, "_MAX_GATHERED_BYTES", X.nbytes - 1)
    with pytest.raises(ValueError, match=r"150 reference rows.*sample of the rows"):
        CertifiedKNeighborsClassifier().fit(dX, dy)
    clf = CertifiedPrototypeClassifier().fit(dX, dy)  # class means need no rows
    np.testing.assert_allclose(clf.reference_, CertifiedPrototypeClassifier().fit(X, y).reference_, rtol=1e-14)
    clf = CertifiedPrototypeClassifier(ProxyNCA(random_state=0))
    assert apart(clf.fit(dX, dy).reference_, clf.fit(X, y).reference_) < 1e-10


@pytest.mark.parametrize("norm", [2, np.inf])
def test_certificates_are_those_of_arrays(norm):
    X, y = load_iris(return_X_y=True)
    model = make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(n_neighbors=1)).fit(X[::2], y[::2])
    rows, labels = X[1::2], y[1::2]
    here = certify(model, rows, labels, norm=norm)
    there = certify(model, *cut(rows, labels, 20, 33, 2), norm=norm)
    for field in ("radius", "upper", "prediction", "true"):
        np.testing.assert_array_equal(getattr(there, field), getattr(here, field))
    np.testing.assert_allclose(there.adversarial, here.adversarial, rtol=1e-12)
    assert (there.norm, there.units) == (here.norm, here.units)
    assert certify(model, cut(rows, labels)[0], method="lower", witness=False).true is None


# -- objects on workers -----------------------------------------------------------------------------


def test_an_object_is_built_once_and_travels_as_its_data():
    built = []

    def build(*data):
        built.append(data)
        return sum(data)

    kept = _Rebuilt(build, 1, 2)
    assert [kept(lambda total, more: total + more, 4) for _ in range(3)] == [7, 7, 7]
    assert built == [(1, 2)]
    kind, arguments = kept.__reduce__()
    assert kind(*arguments)(lambda total: total) == 3
    assert len(built) == 2


def test_read_only_arrays_are_copied():
    array = np.arange(3.0)
    assert _writable(array) is array
    array.setflags(write=False)
    assert _writable(array).flags.writeable
