"""Stock pipelines, data and threats, drawn by name so that a failing case prints in one line."""

import warnings
from dataclasses import dataclass

import numpy as np
from hypothesis import strategies as st
from sklearn.decomposition import PCA, TruncatedSVD
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.feature_selection import VarianceThreshold
from sklearn.linear_model import LogisticRegression, Perceptron, RidgeClassifier, SGDClassifier
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid, RadiusNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler
from sklearn.svm import SVC, LinearSVC
from threadpoolctl import threadpool_limits

from holdfast import CertifiedKNeighborsClassifier, CertifiedPrototypeClassifier, FixedMetric, certify
from tests.adversary.limits import Limits
from tests.adversary.probes import attack_radius, near_boundary
from tests.adversary.tally import Tally

D = 4  # features

STEPS = {
    "none": lambda: [],
    "standard": lambda: [StandardScaler()],
    "min-max": lambda: [MinMaxScaler()],
    "robust": lambda: [RobustScaler()],
    "max-abs": lambda: [MaxAbsScaler()],
    "pca": lambda: [PCA()],
    "pca 2": lambda: [PCA(2)],
    "whitening": lambda: [PCA(3, whiten=True)],
    "svd": lambda: [TruncatedSVD(3)],
    "lda": lambda: [LinearDiscriminantAnalysis()],
    "lda eigen": lambda: [LinearDiscriminantAnalysis(solver="eigen", shrinkage=0.1)],
    "selection": lambda: [VarianceThreshold()],
    "metric": lambda: [FixedMetric(np.diag([1.0, 4.0, 0.25, 1.0]))],
    "normalizer": lambda: [Normalizer()],
    "standard, pca": lambda: [StandardScaler(), PCA(3)],
    "pca, standard": lambda: [PCA(3), StandardScaler()],
    "max-abs, standard, whitening": lambda: [MaxAbsScaler(), StandardScaler(), PCA(2, whiten=True)],
    "standard, normalizer": lambda: [StandardScaler(), Normalizer()],
    "pca, normalizer": lambda: [PCA(3), Normalizer()],
    "standard, normalizer, pca": lambda: [StandardScaler(), Normalizer(), PCA(3)],
    "min-max, lda": lambda: [MinMaxScaler(), LinearDiscriminantAnalysis()],
}
CLASSIFIERS = {
    **{f"holdfast {k}": (lambda k=k: CertifiedKNeighborsClassifier(n_neighbors=k)) for k in (1, 2, 3, 5)},
    "prototypes": CertifiedPrototypeClassifier,
    **{
        f"{algorithm} {k}": (lambda a=algorithm, k=k: KNeighborsClassifier(k, algorithm=a))
        for algorithm in ("brute", "kd_tree", "ball_tree")
        for k in (1, 2, 3)
    },
    "weighted 3": lambda: KNeighborsClassifier(3, weights="distance"),
    "weighted manhattan 4": lambda: KNeighborsClassifier(4, weights="distance", p=1),
    "manhattan 3": lambda: KNeighborsClassifier(3, p=1, algorithm="ball_tree"),
    "minkowski 1": lambda: KNeighborsClassifier(1, p=3, algorithm="brute"),
    "chebyshev 3": lambda: KNeighborsClassifier(3, p=np.inf),
    "within": lambda: RadiusNeighborsClassifier(1.5, outlier_label="most_frequent"),
    "within, weighted": lambda: RadiusNeighborsClassifier(1.0, weights="distance", p=1, outlier_label="most_frequent"),
    "centroid": NearestCentroid,
    "logistic": LogisticRegression,
    "linear svc": LinearSVC,
    "ridge": RidgeClassifier,
    "sgd": lambda: SGDClassifier(random_state=0),
    "perceptron": Perceptron,
    "lda": LinearDiscriminantAnalysis,
    "svc": lambda: SVC(kernel="linear"),
}
DATA = ["normal", "offset", "collinear", "lattice", "duplicates", "units", "spheres"]
THREATS = ["free", "units", "box", "tight box", "up", "down", "frozen", "all"]
NORMS = ["l2", "linf", "l1", "ellipsoid"]


@dataclass(frozen=True)
class Setup:
    """One case: names of what to build, and a seed."""

    seed: int = 0
    steps: str = "none"
    classifier: str = "holdfast 1"
    data: str = "normal"
    exponent: int = 0
    norm: str = "l2"
    threat: str = "free"
    budget: int = 200
    witness: bool = True  # without, no witness can shorten a radius that is too long


DISTANCES = [name for name in CLASSIFIERS if name.startswith(("weighted", "manhattan", "minkowski", "cheb", "within"))]


def _draw(classifiers) -> st.SearchStrategy[Setup]:
    return st.builds(
        Setup,
        seed=st.integers(0, 2**32 - 1),
        steps=st.sampled_from(sorted(STEPS)),
        classifier=st.sampled_from(sorted(classifiers)),
        data=st.sampled_from(DATA),
        exponent=st.integers(0, 8),
        norm=st.sampled_from(NORMS),
        threat=st.sampled_from(THREATS),
        budget=st.sampled_from([0, 20, 200]),
        witness=st.booleans(),
    )


setups, by_distance = _draw(CLASSIFIERS), _draw(DISTANCES)


def table(setup: Setup, rng, n: int = 50) -> tuple[np.ndarray, np.ndarray]:
    """Training rows of a kind, and labels that are no linear function of them."""
    Z = rng.normal(size=(n, D))
    C = 2 if setup.classifier == "svc" else int(rng.integers(2, 4))
    y = ((Z[:, 0] * Z[:, 1] > 0).astype(int) + (Z[:, 2] > 0.8)) % C
    y = np.where(rng.random(n) < 0.1, rng.integers(C, size=n), y)
    y[:C] = y[-C:] = range(C)
    if setup.data == "offset":
        Z = Z + 10.0**setup.exponent * rng.uniform(-1, 1, size=D)
    elif setup.data == "collinear":
        Z[:, 1:] = Z[:, :1] * rng.normal(size=D - 1) + 1e-6 * Z[:, 1:]
    elif setup.data == "lattice":
        Z = np.round(1.5 * Z)
    elif setup.data == "duplicates":
        Z[n // 2 :] = Z[: n - n // 2]
    elif setup.data == "units":
        Z = Z * 10.0 ** rng.uniform(-setup.exponent / 2, setup.exponent / 2, size=D)
    elif setup.data == "spheres":
        Z = Z / np.linalg.norm(Z, axis=1, keepdims=True)
    return Z, np.array(["ab", "c", "d"])[y]


def limits_for(setup: Setup, X: np.ndarray, rng) -> Limits:
    """A threat of a kind, in the scale of X."""
    d, kind = X.shape[1], setup.threat
    norm: str | np.ndarray = setup.norm
    if setup.norm == "ellipsoid":
        factor = np.linalg.qr(rng.normal(size=(d, d)))[0] * 10.0 ** rng.uniform(-1, 1, size=d)
        norm = factor @ factor.T
        norm = 0.5 * (norm + norm.T)
    spread = np.maximum(X.std(axis=0), 1e-300)
    mask = rng.random(d) < 0.5
    mask[int(rng.integers(d))] = False
    options: dict = {}
    if kind in ("units", "all"):
        options["unit"] = spread * 10.0 ** rng.uniform(-3, 3, size=d)
    if kind in ("box", "tight box", "all"):
        share = (30, 70) if kind == "tight box" else (0, 100)
        options["lower"], options["upper"] = np.percentile(X, share, axis=0)
    if kind in ("up", "all"):
        options["only_up"] = mask
    if kind in ("down",):
        options["only_down"] = mask
    if kind in ("frozen", "all"):
        options["frozen"] = np.roll(mask, 1) & ~mask if kind == "all" else mask
    return Limits(norm, **options)


def build(setup: Setup, rng, X, y):
    """The fitted model, and the reference that certify needs of it (None if it needs none)."""
    last = CLASSIFIERS[setup.classifier]()
    steps = STEPS[setup.steps]()
    model = make_pipeline(*steps, last) if steps else last
    return model.fit(X, y), ((X, y) if isinstance(last, KNeighborsClassifier) else None)


def quietly(function, *args, **kwargs):
    """The call without warnings (overflow and convergence are scikit-learn's to tell), and in one thread.

    Small batches in several threads wait for each other on a busy machine: a hundred times slower.
    """
    with warnings.catch_warnings(), np.errstate(all="ignore"), threadpool_limits(1):
        warnings.simplefilter("ignore")
        return function(*args, **kwargs)


def sentence(error: Exception) -> bool:
    """Whether an error says in words what is wrong."""
    return isinstance(error, ValueError | TypeError) and len(str(error).split()) >= 6


def certified(tally: Tally, model, rows, **options):
    """The certificate, or None if it was refused with a sentence; another exception is a break."""
    try:
        return certify(model, rows, n_jobs=1, **options)
    except (ValueError, TypeError) as error:
        tally.expect(sentence(error), f"refused without a sentence: {error!r}")
        tally.refused += 1
    except Exception as error:  # whatever it is, it is no refusal
        tally.expect(False, f"neither certified nor refused: {error!r}")
    return None


def attack_model(model, X, rows, limits: Limits, rng, **options) -> Tally:
    """Certify rows and attack the radii; a refusal with a sentence is sound."""
    tally = Tally()
    certificate = certified(tally, model, rows, threat=limits.threat, **options)
    if certificate is not None:
        tally.add(attack_radius(model, rows, certificate, limits, X, rng))
    return tally


def attack_setup(setup: Setup) -> Tally:
    """A stock pipeline, certified and attacked at rows of all kinds."""
    return quietly(_attack_setup, setup)


def _attack_setup(setup: Setup) -> Tally:
    rng = np.random.default_rng(setup.seed)
    X, y = table(setup, rng)
    try:
        model, reference = build(setup, rng, X, y)
        model.predict(X)
    except (ValueError, np.linalg.LinAlgError):  # scikit-learn cannot fit it: nothing to attack
        return Tally()
    limits = limits_for(setup, X, rng)
    fresh = X[rng.integers(len(X), size=6)] + rng.normal(size=(6, D)) * X.std(axis=0) * 0.3
    rows = np.vstack([fresh, X[:2], near_boundary(model, X, 4, rng)])
    return attack_model(model, X, rows, limits, rng, reference=reference, budget=setup.budget, witness=setup.witness)
