"""Models, rows and threats at which rounding, range or a wrong idea of a step could break a radius."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.decomposition import PCA, IncrementalPCA, TruncatedSVD
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MaxAbsScaler, MinMaxScaler, Normalizer, RobustScaler, StandardScaler

from holdfast import CertifiedKNeighborsClassifier, CertifiedPrototypeClassifier, FixedMetric
from tests.adversary.limits import Limits
from tests.adversary.probes import attack_radius, near_boundary
from tests.adversary.setups import attack_model, certified, quietly
from tests.adversary.tally import Tally

D = 3


@dataclass(frozen=True)
class Corner:
    """One case: the kind, a seed, a power of ten, and which variant of it."""

    kind: str
    seed: int
    exponent: int
    variant: str


class Linear(TransformerMixin, BaseEstimator):
    """``X @ components_.T``, as given; a step that nobody has read."""

    def __init__(self, components):
        self.components = components

    def fit(self, X, y=None):
        """Take the components."""
        self.components_ = np.asarray(self.components)
        self.n_features_in_ = self.components_.shape[1]
        return self

    def transform(self, X):
        """The images of rows."""
        return np.asarray(X) @ self.components_.T


class ClippedLinear(Linear):
    """The same, cut off at a level."""

    def __init__(self, components, level):
        super().__init__(components)
        self.level = level

    def transform(self, X):
        """The images of rows, cut off."""
        return np.clip(super().transform(X), -self.level, self.level)


class ClippedScaler(StandardScaler):
    """A scaler that cuts off outliers."""

    def transform(self, X, copy=None):
        """Standardised rows, cut off at two."""
        return np.clip(super().transform(X), -2.0, 2.0)


class ClippedPCA(PCA):
    """Principal components, cut off."""

    def transform(self, X):
        """Components, cut off at twice the largest deviation."""
        level = 2.0 * np.sqrt(self.explained_variance_.max())
        return np.clip(super().transform(X), -level, level)


class ClippedSVD(TruncatedSVD):
    """Singular components, cut off."""

    def fit_transform(self, X, y=None):
        """Learn the level as well."""
        Z = super().fit_transform(X)
        self.level_ = np.abs(Z).max()
        return np.clip(Z, -self.level_, self.level_)

    def transform(self, X):
        """Components, cut off at the largest that was seen."""
        return np.clip(super().transform(X), -self.level_, self.level_)


def attack(corner: Corner) -> Tally:
    """Build the case and attack its radii."""
    return quietly(_KINDS[corner.kind], corner, np.random.default_rng(corner.seed))


def _table(rng, n: int = 40, d: int = D) -> tuple[np.ndarray, np.ndarray]:
    X = rng.normal(size=(n, d))
    y = (X[:, 0] + 0.5 * X[:, 1] ** 2 > 0.3).astype(int)
    y[:2] = 0, 1
    return X, y


def _votes(variant: str):
    """A classifier, and whether it needs a reference."""
    if variant in ("brute", "kd_tree", "ball_tree"):
        return KNeighborsClassifier(1, algorithm=variant), True
    named = {
        "holdfast 1": lambda: CertifiedKNeighborsClassifier(n_neighbors=1),
        "holdfast 3": lambda: CertifiedKNeighborsClassifier(n_neighbors=3),
        "prototypes": CertifiedPrototypeClassifier,
        "centroid": NearestCentroid,
        "logistic": LogisticRegression,
    }
    return named[variant](), False


def _try(steps, variant, X, y, rng, limits=None, rows=None, near: int = 6) -> Tally:
    """Fit, take rows of the data and near the boundary, certify, attack."""
    last, needs = _votes(variant) if isinstance(variant, str) else (variant, False)
    model = make_pipeline(*steps, last) if steps else last
    try:
        model.fit(X, y)
        model.predict(X)
    except (ValueError, np.linalg.LinAlgError):
        return Tally()  # there is no model to attack
    if rows is None:
        rows = X[rng.integers(len(X), size=6)] + 0.3 * rng.normal(size=(6, X.shape[1])) * np.abs(X).max() / 3
    rows = np.vstack([rows, near_boundary(model, X, near, rng)]) if near else rows
    return attack_model(
        model, X, rows, limits or Limits(), rng, reference=(X, y) if needs else None, witness=bool(rng.random() < 0.3)
    )


def _units(corner: Corner, rng) -> Tally:
    """Data in units of 1e-170 to 1e170: squares leave the range of float64."""
    X, y = _table(rng)
    scale = 10.0**corner.exponent
    steps = {0: [], 1: [MaxAbsScaler()], 2: [StandardScaler()], 3: [RobustScaler()]}[int(rng.integers(4))]
    return _try(steps, corner.variant, X * scale, y, rng)


def _mixed_units(corner: Corner, rng) -> Tally:
    """One feature in tiny, another in huge units."""
    X, y = _table(rng)
    scale = 10.0 ** (corner.exponent * np.array([1.0, 0.0, -1.0]))
    steps = [MaxAbsScaler()] if rng.random() < 0.7 else []
    return _try(steps, corner.variant, X * scale, y, rng, Limits(unit=scale) if rng.random() < 0.5 else None)


def _threat_units(corner: Corner, rng) -> Tally:
    """Ordinary data, moves measured in extreme units, with or without a box."""
    X, y = _table(rng)
    unit = np.full(D, 10.0**corner.exponent)
    unit[0] = 10.0 ** (corner.exponent * rng.uniform(-1, 1))
    box = {} if rng.random() < 0.5 else {"lower": X.min(axis=0), "upper": X.max(axis=0)}
    norm = ["l2", "linf", "l1"][int(rng.integers(3))]
    return _try([], corner.variant, X, y, rng, Limits(norm, unit=unit, **box))


def _metrics(corner: Corner, rng) -> Tally:
    """Metrics of 10^exponent · I, and of very different eigenvalues."""
    X, y = _table(rng)
    spread = 1.0 if rng.random() < 0.7 else 10.0 ** rng.uniform(-4, 4, size=D)
    M = np.diag(np.broadcast_to(10.0**corner.exponent * spread, D))
    last = CertifiedKNeighborsClassifier(FixedMetric(M), n_neighbors=1 if corner.variant == "holdfast 1" else 3)
    return _try([], last, X, y, rng)


def _ellipsoids(corner: Corner, rng) -> Tally:
    """Ellipsoids of condition up to 1e14, rotated: the error of their factor grows with the condition itself."""
    X, y = _table(rng)
    Q = np.linalg.qr(rng.normal(size=(D, D)))[0]
    A = Q * 10.0 ** np.linspace(0, corner.exponent, D) @ Q.T
    A = 0.5 * (A + A.T) * 10.0 ** rng.uniform(-corner.exponent, 0)
    if np.linalg.eigvalsh(A)[0] <= 0:
        return Tally()
    return _try([], corner.variant, X, y, rng, Limits(A))


def _cancelling(corner: Corner, rng) -> Tally:
    """``W2 W1`` is of size 1, its factors are of 10^exponent: what cancels still rounds."""
    X, y = _table(rng)
    big = 10.0**corner.exponent
    Q = rng.normal(size=(D, D))
    up = np.vstack([big * Q, big * Q + rng.normal(size=(D, D))])
    down = np.hstack([-np.eye(D), np.eye(D)])
    return _try([Linear(up), Linear(down)], corner.variant, X, y, rng, near=20)


def _clipping(corner: Corner, rng) -> Tally:
    """Steps that cut off: a model that does not change out there is not the affine one."""
    X, y = _table(rng)
    X = X * 10.0**corner.exponent
    W = np.linalg.qr(rng.normal(size=(D, D)))[0]
    level = np.abs(X @ W.T).max() * rng.uniform(0.5, 3.0)
    steps = {
        "max-abs": lambda: MaxAbsScaler(clip=True),
        "min-max": lambda: MinMaxScaler(clip=True),
        "scaler": ClippedScaler,
        "pca": ClippedPCA,
        "svd": lambda: ClippedSVD(2),
        "linear": lambda: ClippedLinear(W, level),
    }
    try:
        step = steps[corner.variant]()
    except TypeError:  # scikit-learn before 1.8 has no MaxAbsScaler(clip=...)
        return Tally()
    rows = X[rng.integers(len(X), size=12)] * rng.uniform(0.5, 4.0, size=(12, 1))
    return _try([step], ["holdfast 1", "brute"][int(rng.integers(2))], X, y, rng, rows=rows)


def _incremental(corner: Corner, rng) -> Tally:
    """IncrementalPCA centres, and is not among the steps that are read: it must not pass for one that does not."""
    X, y = _table(rng)
    X = (X + rng.uniform(-2, 2, size=D)) * 10.0**corner.exponent
    return _try([IncrementalPCA(whiten=bool(rng.random() < 0.3))], corner.variant, X, y, rng)


def _mahalanobis(corner: Corner, rng) -> Tally:
    """A Mahalanobis ``VI`` of features whose spreads are 10^exponent apart."""
    X, y = _table(rng)
    X = X * 10.0 ** (corner.exponent * np.array([1.0, 0.0, 0.5]))
    y = (X[:, 0] / X[:, 0].std() + X[:, 1] > 0).astype(int)
    VI = np.linalg.inv(np.cov(X.T)) if rng.random() < 0.5 else np.diag(1.0 / X.var(axis=0))
    VI = 0.5 * (VI + VI.T)
    rows = X[rng.integers(len(X), size=8)] + 0.3 * rng.normal(size=(8, D)) * X.std(axis=0)
    if corner.variant.startswith("holdfast"):
        last = CertifiedKNeighborsClassifier(FixedMetric(VI), n_neighbors=1)
        return _try([], last, X, y, rng, rows=rows)
    algorithm = "brute" if corner.variant == "kd_tree" else corner.variant
    model = KNeighborsClassifier(1, metric="mahalanobis", metric_params={"VI": VI}, algorithm=algorithm)
    model.fit(X, y)
    rows = np.vstack([rows, near_boundary(model, X, 6, rng)])
    unit = X.std(axis=0) if rng.random() < 0.5 else None
    return attack_model(model, X, rows, Limits(unit=unit), rng, reference=(X, y), witness=bool(rng.random() < 0.3))


def _short_rows(corner: Corner, rng) -> Tally:
    """Rows near and below the length at which scikit-learn's Normalizer leaves them as they are, and zeros."""
    X, y = _table(rng)
    if rng.random() < 0.5:
        X[:10] *= 10.0 ** rng.uniform(-17, -13, size=(10, 1))
    if rng.random() < 0.3:
        X[2] = 0.0
    rows = rng.normal(size=(16, D)) * 10.0 ** rng.uniform(corner.exponent - 2, corner.exponent + 2, size=(16, 1))
    rows[0] = 0.0
    edge = 10 * np.finfo(float).eps  # scikit-learn's
    rows[1:5] *= edge * (1 + rng.uniform(-1e-3, 1e-3, size=(4, 1))) / np.linalg.norm(rows[1:5], axis=1, keepdims=True)
    steps = [Normalizer()] if rng.random() < 0.6 else [MaxAbsScaler(), Normalizer()]
    if rng.random() < 0.3:
        steps.append(PCA(2))
    return _try(steps, corner.variant, X, y, rng, rows=rows, near=3)


def _float32(corner: Corner, rng) -> Tally:
    """Models fitted on float32, certified with float64 or float32 rows and references."""
    X, y = _table(rng, n=60)
    X32 = (X + 10.0**corner.exponent).astype(np.float32)
    step = [[], [StandardScaler()], [PCA()], [MaxAbsScaler()], [Normalizer()]][int(rng.integers(5))]
    last, needs = _votes(corner.variant)
    model = make_pipeline(*step, last) if step else last
    framed = bool(rng.random() < 0.5)
    names = [f"c{i}" for i in range(D)]
    model.fit(pd.DataFrame(X32, columns=names) if framed else X32, y)
    X = X32.astype(np.float64)
    rows = np.vstack([near_boundary(model, X, 24, rng), X[:4]])
    tally = Tally()
    given = (pd.DataFrame(X32, columns=names) if framed else X) if rng.random() < 0.5 else X
    given = pd.DataFrame(given, columns=names) if framed and isinstance(given, np.ndarray) else given
    single = bool(rng.random() < 0.4)
    rows = rows.astype(np.float32) if single else rows
    asked = pd.DataFrame(rows, columns=names) if framed else rows
    certificate = certified(tally, model, asked, reference=(given, y) if needs else None)
    if certificate is None:
        return tally
    if single:  # what was certified is the answer to these float32 rows
        wrong = (certificate.prediction != model.predict(asked)) & (certificate.radius > 0)
        tally.expect(not wrong.any(), f"{wrong.sum()} predictions of float32 rows are others than certified")
    else:
        tally.add(attack_radius(model, rows, certificate, Limits(), X, rng))
    return tally


_KINDS = {
    "units": _units,
    "mixed units": _mixed_units,
    "units of the threat": _threat_units,
    "metric": _metrics,
    "ellipsoid": _ellipsoids,
    "cancelling steps": _cancelling,
    "clipping": _clipping,
    "incremental pca": _incremental,
    "mahalanobis": _mahalanobis,
    "short rows": _short_rows,
    "float32": _float32,
}
_SEEDS = st.integers(0, 2**32 - 1)
_POINTS = ["brute", "kd_tree", "ball_tree", "holdfast 1", "holdfast 3", "prototypes", "centroid"]


def _draw(kind: str, exponents, variants) -> st.SearchStrategy[Corner]:
    return st.builds(Corner, st.just(kind), _SEEDS, exponents, st.sampled_from(variants))


CORNERS: dict[str, st.SearchStrategy[Corner]] = {
    "units": _draw("units", st.integers(-170, 170), [*_POINTS, "logistic"]),
    "units beyond the squares": _draw(
        "units", st.one_of(st.integers(-175, -145), st.integers(145, 175)), [*_POINTS, "logistic"]
    ),
    "mixed units": _draw("mixed units", st.integers(0, 170), _POINTS),
    "units of the threat": _draw("units of the threat", st.integers(-170, 170), [*_POINTS, "logistic"]),
    "metric": _draw("metric", st.one_of(st.integers(-165, 165), st.just(-165)), ["holdfast 1", "holdfast 3"]),
    "ellipsoid": _draw("ellipsoid", st.integers(6, 14), ["holdfast 1", "holdfast 3", "brute", "logistic"]),
    "cancelling steps": _draw(
        "cancelling steps", st.integers(4, 10), ["brute", "kd_tree", "holdfast 1", "logistic", "centroid"]
    ),
    "clipping": _draw("clipping", st.integers(-9, 9), ["max-abs", "min-max", "scaler", "pca", "svd", "linear"]),
    "incremental pca": _draw("incremental pca", st.integers(-12, 3), ["brute", "holdfast 1", "logistic"]),
    "mahalanobis": _draw("mahalanobis", st.integers(2, 9), ["brute", "ball_tree", "holdfast 1"]),
    "short rows": _draw("short rows", st.integers(-18, -12), ["brute", "holdfast 1", "holdfast 3", "centroid"]),
    "float32": _draw("float32", st.integers(-3, 5), ["brute", "kd_tree", "holdfast 1", "centroid", "logistic"]),
}
