"""Pipelines of tables, as adversaries meet them: words, gaps, monotone steps, categories that change, whole numbers."""

from dataclasses import dataclass
from importlib.util import find_spec
from types import SimpleNamespace

import numpy as np
import pandas as pd
from hypothesis import strategies as st
from sklearn.compose import ColumnTransformer
from sklearn.decomposition import PCA
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier, NearestCentroid
from sklearn.pipeline import FeatureUnion, make_pipeline
from sklearn.preprocessing import (
    FunctionTransformer,
    MaxAbsScaler,
    MinMaxScaler,
    Normalizer,
    OneHotEncoder,
    OrdinalEncoder,
    PowerTransformer,
    QuantileTransformer,
    StandardScaler,
    TargetEncoder,
)

from holdfast import CertifiedKNeighborsClassifier, CertifiedPrototypeClassifier, Threat
from tests.adversary.limits import Limits
from tests.adversary.probes import attack_radius, between
from tests.adversary.setups import certified, quietly
from tests.adversary.tally import Tally
from tests.sizes import FULL

NUMBERS, WORDS = ["a", "b", "n"], ["w", "c"]


def _columns(numbers, words=None, **options):
    """Numbers and words side by side; one word column is of numbers."""
    words = make_pipeline(SimpleImputer(strategy="most_frequent"), OneHotEncoder(handle_unknown="ignore")) if (
        words is None
    ) else words  # fmt: skip
    return [ColumnTransformer([("numbers", numbers, NUMBERS), ("words", words, WORDS)], **options)]


def _monotone(*maps):
    """Monotone maps of all numbers, and the words as they are."""
    return _columns(make_pipeline(SimpleImputer(), *maps))


STEPS = {
    "one-hot": lambda: _columns(make_pipeline(SimpleImputer(), StandardScaler())),
    "indicators": lambda: _columns(SimpleImputer(strategy="median", add_indicator=True)),
    "constant": lambda: _columns(make_pipeline(SimpleImputer(strategy="constant", fill_value=-1.5), MinMaxScaler())),
    "ordinal": lambda: _columns(
        SimpleImputer(),
        OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1, encoded_missing_value=-2),
    ),
    "target": lambda: _columns(make_pipeline(SimpleImputer(), StandardScaler()), TargetEncoder(random_state=0)),
    "weights": lambda: _columns(SimpleImputer(), transformer_weights={"numbers": 0.5, "words": 3.0}),
    "rare words": lambda: _columns(
        SimpleImputer(), OneHotEncoder(min_frequency=8, handle_unknown="infrequent_if_exist", sparse_output=False)
    ),
    "components": lambda: [*_columns(SimpleImputer(), OneHotEncoder(drop="first", sparse_output=False)), PCA(3)],
    "normalised": lambda: [*_columns(make_pipeline(SimpleImputer(), StandardScaler())), Normalizer()],
    "union": lambda: [
        ColumnTransformer([("numbers", SimpleImputer(), NUMBERS)]),
        FeatureUnion([("scaled", StandardScaler()), ("parts", PCA(2))], transformer_weights={"parts": 2.0}),
    ],
    "left as they are": lambda: [ColumnTransformer([("gone", "drop", WORDS)], remainder=SimpleImputer())],
    "quantiles": lambda: _monotone(QuantileTransformer(n_quantiles=20)),
    "normal quantiles": lambda: _monotone(QuantileTransformer(n_quantiles=20, output_distribution="normal")),
    "scaled quantiles": lambda: _monotone(StandardScaler(), QuantileTransformer(n_quantiles=40)),
    "power": lambda: _monotone(PowerTransformer()),
    "power of positives": lambda: _monotone(PowerTransformer("box-cox", standardize=False)),
    "clipped": lambda: _monotone(MinMaxScaler(clip=True)),
    "clipped by size": lambda: _monotone(MaxAbsScaler(clip=True)),
    "log1p": lambda: _monotone(FunctionTransformer(np.log1p)),
    "log, scaled": lambda: _monotone(FunctionTransformer(np.log), StandardScaler()),
    "sqrt": lambda: _monotone(FunctionTransformer(np.sqrt)),
    "exp": lambda: _monotone(StandardScaler(), FunctionTransformer(np.exp)),
    "bent and straight": lambda: [
        ColumnTransformer(
            [
                ("straight", make_pipeline(SimpleImputer(), StandardScaler()), NUMBERS),
                ("bent", make_pipeline(SimpleImputer(), PowerTransformer()), ["a", "n"]),
                ("again", make_pipeline(SimpleImputer(), QuantileTransformer(n_quantiles=10)), ["a"]),
            ]
        )
    ],
}
ABOVE = {"power of positives": 0.0, "log1p": -1.0, "log, scaled": 0.0, "sqrt": -5e-324}  # domains
CLASSIFIERS = {
    "holdfast 1": lambda: CertifiedKNeighborsClassifier(n_neighbors=1),
    "holdfast 3": lambda: CertifiedKNeighborsClassifier(n_neighbors=3),
    "pruned": lambda: CertifiedKNeighborsClassifier(n_neighbors=1, prune=0.1),
    "prototypes": CertifiedPrototypeClassifier,
    "brute 1": lambda: KNeighborsClassifier(1, algorithm="brute"),
    "kd_tree 3": lambda: KNeighborsClassifier(3, algorithm="kd_tree"),
    "centroid": NearestCentroid,
    "logistic": LogisticRegression,
}
THREATS = ["free", "units", "box", "up", "frozen", "whole", "relations", "categories", "one change", "all"]
NORMS = ["l2", "linf", "l1"]
DATA = ["normal", "lattice", "offset", "tiny", "huge"]


@dataclass(frozen=True)
class TableCase:
    """One case: names of what to build, and a seed."""

    seed: int
    steps: str
    classifier: str
    data: str
    dress: str
    norm: str
    threat: str
    verdict: bool = False  # ask at one size, in place of the radius


def _draw(steps, dresses=("frame",)) -> st.SearchStrategy[TableCase]:
    return st.builds(
        TableCase,
        st.integers(0, 2**32 - 1),
        st.sampled_from(steps),
        st.sampled_from(sorted(CLASSIFIERS)),
        st.sampled_from(DATA),
        st.sampled_from(dresses),
        st.sampled_from(NORMS),
        st.sampled_from(THREATS),
        st.sampled_from([False, False, True]),
    )


DRESSES = {
    "frame": lambda frame: frame,
    "objects": lambda frame: frame.astype(object),
    "categorical": lambda frame: frame.assign(w=pd.Categorical(frame["w"], categories=["z", "y", "x"])),
    "nullable": lambda frame: frame.assign(**{name: frame[name].astype("Float64") for name in NUMBERS}),
    "array": lambda frame: frame.to_numpy(object),
}
if find_spec("polars"):
    import polars

    DRESSES["polars"] = lambda frame: polars.from_pandas(frame.astype(dict.fromkeys(NUMBERS, float)))
STRAIGHT = [name for name, build in STEPS.items() if list(STEPS).index(name) < list(STEPS).index("quantiles")]
BENT = [name for name in STEPS if name not in STRAIGHT]
straight, bent = _draw(STRAIGHT), _draw(BENT)
dressed = _draw(["one-hot", "indicators", "ordinal", "rare words", "quantiles", "power"], sorted(DRESSES))


def table(case: TableCase, rng, n: int = 60) -> tuple[pd.DataFrame, np.ndarray]:
    """Numbers with gaps, whole numbers, words with gaps, a category of numbers; labels that need all of them."""
    Z = rng.normal(size=(n, 3))
    Z[:, 2] = np.round(3 * Z[:, 2])
    w, c = rng.choice(["x", "y", "z"], size=n, p=[0.5, 0.4, 0.1]), rng.integers(0, 3, size=n)
    y = (Z[:, 0] + Z[:, 1] ** 2 + (w == "x") + 0.3 * Z[:, 2] > 1.2).astype(int) + (rng.random(n) < 0.1)
    y[:3] = 0, 1, 2
    if case.data == "lattice":
        Z = np.round(Z)
    elif case.data == "offset":
        Z = Z + 10.0 ** rng.integers(3, 6)
    if case.steps in ABOVE:
        Z = np.abs(Z) + 1.0
    Z *= {"tiny": 2.0**-30, "huge": 2.0**30}.get(case.data, 1.0)
    frame = pd.DataFrame(Z, columns=NUMBERS).assign(w=w.astype(object), c=c.astype(float))
    if rng.random() < 0.7:
        frame.loc[rng.random(n) < 0.15, "b"] = np.nan
    if rng.random() < 0.5 and case.dress != "array":
        frame.loc[rng.random(n) < 0.1, "w"] = np.nan
    return frame, np.array(["no", "perhaps", "yes"])[y]


class Numbers:
    """A model of tables as one of rows ``(numbers, which row of the frame)``: the opponent moves the numbers.

    Cells with gaps keep them, whatever the numbers are.
    """

    def __init__(self, model, frame: pd.DataFrame, dress, above: float):
        self.model, self.frame, self.dress, self.above = model, frame, dress, above
        self.gaps = frame[NUMBERS].isna().to_numpy()

    def rows(self) -> np.ndarray:
        """All rows of the frame."""
        return np.column_stack([self.frame[NUMBERS].fillna(0.0).to_numpy(float), np.arange(len(self.frame))])

    def given(self, rows: np.ndarray):
        """Rows as the model takes them."""
        which = np.clip(np.rint(rows[:, -1]), 0, len(self.frame) - 1).astype(int)
        numbers = np.where(self.gaps[which], np.nan, rows[:, :-1])
        frame = self.frame.iloc[which].reset_index(drop=True)
        return self.dress(frame.assign(**dict(zip(NUMBERS, numbers.T, strict=True))))

    def predict(self, rows: np.ndarray) -> np.ndarray:
        """The model's own answers; "refused" where it has none, outside of the domain of a map."""
        out = np.full(len(rows), "refused", dtype=object)
        inside = np.flatnonzero(self._inside(rows))
        if not inside.size:
            return out
        try:
            out[inside] = self.model.predict(self.given(rows[inside]))
        except ValueError:  # a map that overflows
            inside = inside[np.isfinite(self.image(rows[inside])).all(axis=1)]
            if inside.size:
                out[inside] = self.model.predict(self.given(rows[inside]))
        return out

    def image(self, rows: np.ndarray) -> np.ndarray:
        """Rows in the space of the vote; NaN outside of the domain of a map."""
        inside = self._inside(rows)
        Z = self.model[:-1].transform(self.given(np.where(inside[:, None], rows, self.rows()[:1])))
        return np.where(inside[:, None], np.asarray(Z.toarray() if hasattr(Z, "toarray") else Z, dtype=float), np.nan)

    def _inside(self, rows: np.ndarray) -> np.ndarray:
        which = np.clip(np.rint(rows[:, -1]), 0, len(self.frame) - 1).astype(int)
        return (self.gaps[which] | (rows[:, :-1] > self.above)).all(axis=1)


def limits_for(case: TableCase, frame: pd.DataFrame, rng) -> tuple[Limits, dict, list[str]]:
    """What may move: for the opponent in arrays, for ``Threat`` by name; and the columns of words that may change."""
    kind, X = case.threat, frame[NUMBERS]
    spread = np.maximum(X.std().to_numpy(), 1e-300)
    arrays: dict = {"frozen": np.array([False, False, False, True])}
    named: dict = {}
    changing: list[str] = []
    if kind in ("units", "all"):
        unit = spread * 10.0 ** rng.uniform(-1, 1, size=3)
        arrays["unit"], named["unit"] = np.append(unit, 1.0), dict(zip(NUMBERS, unit, strict=True))
    if kind in ("box", "all"):
        low, high = X.quantile(0.1).to_numpy(), X.quantile(0.9).to_numpy()
        arrays["lower"], arrays["upper"] = np.append(low, -np.inf), np.append(high, np.inf)
        named["lower"], named["upper"] = (dict(zip(NUMBERS, side, strict=True)) for side in (low, high))
    if kind in ("up", "all"):
        arrays["only_up"], named["only_up"] = np.array([True, False, False, False]), ["a"]
        arrays["only_down"], named["only_down"] = np.array([False, True, False, False]), ["b"]
    if kind == "frozen":
        who = NUMBERS[int(rng.integers(3))]
        arrays["frozen"] = arrays["frozen"] | np.array([name == who for name in [*NUMBERS, "row"]])
        named["frozen"] = [who]
    if kind in ("whole", "all") and case.data not in ("tiny", "huge"):
        arrays["integer"], named["integer"] = np.array([False, False, True, False]), ["n"]
    if kind in ("relations", "all"):
        top = float((X["a"] + 0.5 * X["n"]).max() + spread[0])
        arrays["relations"] = np.array([[1.0, 0.0, 0.5, 0.0]]), np.array([top])
        named["relations"] = [({"a": 1.0, "n": 0.5}, "<=", top)]
    if kind in ("categories", "all"):
        changing = ["w"]
        named["free"] = {"w": ["x", "y"]}
    if kind == "one change":
        changing = ["w", "c"]
        named |= {"categories": {"w": ["x", "y"], "c": [0.0, 1.0]}, "max_changes": 1}
    if "c" not in changing:  # numbers that an encoder reads
        named["frozen"] = [*named.get("frozen", []), "c"]
    return Limits(case.norm, **arrays), named, changing


def attack(case: TableCase) -> Tally:
    """Certify rows of a table and attack them, in every category that they may change to."""
    return quietly(_attack, case)


def _attack(case: TableCase) -> Tally:
    rng, tally = np.random.default_rng(case.seed), Tally()
    frame, y = table(case, rng)
    dress = DRESSES[case.dress]
    steps = STEPS[case.steps]()
    if case.dress == "array":
        steps = [_numbered(steps[0]), *steps[1:]]
    model = make_pipeline(*steps, CLASSIFIERS[case.classifier]())
    try:
        model.fit(dress(frame), y)
        model.predict(dress(frame))
    except (ValueError, TypeError, np.linalg.LinAlgError):  # there is no model to attack
        return tally
    limits, named, changing = limits_for(case, frame, rng)
    if case.dress == "array":
        named = _by_number(named)
    above = ABOVE.get(case.steps, -np.inf)
    numbers = Numbers(model, frame, dress, above)
    rows = _rows(numbers, limits, rng)
    options = {"at": float(rng.choice([0.01, 0.3])) * _size(limits, frame)} if case.verdict else {}
    given = numbers.given(rows)
    threat = Threat({"l2": 2, "linf": np.inf, "l1": 1}[case.norm], **named)
    certificate = certified(tally, model, given, threat=threat, budget=50, witness=bool(rng.random() < 0.6), **options)
    if certificate is None:
        return tally
    _check_witnesses(tally, numbers, rows, certificate, limits, changing)
    found = np.isfinite(certificate.upper)
    for variant in _variants(frame, rows, changing, rng):
        numbers = Numbers(model, variant, dress, above)
        own = rows.copy()
        own[:, -1] = np.arange(len(rows))
        seen = SimpleNamespace(
            radius=certificate.radius, prediction=certificate.prediction,
            adversarial=np.where(found[:, None], _matrix(certificate.adversarial, own), np.nan),
        )  # fmt: skip
        points = np.column_stack([frame[NUMBERS].fillna(0.0), rng.integers(len(rows), size=len(frame))])
        tally.add(attack_radius(numbers, own, seen, limits, points, rng, rounds=3, singles=4))
    return tally


def _rows(numbers: Numbers, limits: Limits, rng) -> np.ndarray:
    """Rows of the data, moved ones, and some near a boundary between rows of the same words."""
    everything = numbers.rows()
    fresh = everything[rng.integers(len(everything), size=3)]
    fresh[:, :2] += 0.3 * rng.normal(size=(3, 2)) * everything[:, :2].std(axis=0)
    low = everything[rng.integers(len(everything), size=40)]
    high = everything[rng.integers(len(everything), size=40)]
    high[:, -1] = low[:, -1]
    rows = np.vstack([fresh, everything[:1], between(numbers, low, high, 3, rng)])
    if limits.relations is not None:
        A, b = limits.relations
        rows = rows[(rows @ A.T < b).all(axis=1)]
    return rows if FULL else rows[::2]


def _size(limits: Limits, frame: pd.DataFrame) -> float:
    """The length of a move by the spread of the numbers."""
    return float(limits.lengths(np.append(frame[NUMBERS].std().to_numpy(), 0.0)[None])[0])


def _variants(frame: pd.DataFrame, rows: np.ndarray, changing: list[str], rng):
    """The frame of the rows as they are, and with categories changed."""
    own = frame.iloc[rows[:, -1].astype(int)].reset_index(drop=True)
    yield own
    values = {"w": ["x", "y"], "c": [0.0, 1.0]}
    for name in changing:
        yield own.assign(**{name: rng.choice(np.array(values[name], dtype=object if name == "w" else float), len(own))})


def _matrix(adversarial, own: np.ndarray) -> np.ndarray:
    """Witnesses as numbers; what is a gap stays as it is."""
    if isinstance(adversarial, np.ndarray):
        adversarial = pd.DataFrame(adversarial, columns=[*NUMBERS, *WORDS])
    values = adversarial[NUMBERS].astype(float).to_numpy()
    return np.column_stack([np.where(np.isnan(values), own[:, :-1], values), own[:, -1]])


def _check_witnesses(tally: Tally, numbers: Numbers, rows, certificate, limits: Limits, changing: list[str]) -> None:
    """Every witness changes the answer, keeps gaps and words, and is possible."""
    found = np.flatnonzero(np.isfinite(certificate.upper))
    tally.expect(bool((certificate.radius <= certificate.upper).all()), "a radius is longer than its own witness")
    if not found.size:
        return
    moved = certificate.adversarial
    moved = pd.DataFrame(moved, columns=[*NUMBERS, *WORDS]) if isinstance(moved, np.ndarray) else moved
    moved = moved.iloc[found].reset_index(drop=True)
    before = numbers.frame.iloc[rows[found, -1].astype(int)].reset_index(drop=True)
    tally.expect(bool((moved[NUMBERS].isna() == before[NUMBERS].isna()).all(axis=None)), "a witness fills in a gap")
    for name in set(WORDS) - set(changing):
        same = (moved[name].astype(object) == before[name]) | (moved[name].isna() & before[name].isna())
        tally.expect(bool(same.all()), f"a witness changes {name!r}, which stands still")
    own = rows[found]
    where = _matrix(moved, own)
    tally.expect(bool(_allowed(limits, where, own).all()), "a witness is not possible")
    answers = numbers.model.predict(numbers.dress(moved.astype(dict.fromkeys(NUMBERS, float))))
    for i, answer in enumerate(answers):
        tally.expect(answer != certificate.prediction[found[i]], f"witness {found[i]} does not change the answer")


def _allowed(limits: Limits, moved: np.ndarray, rows: np.ndarray) -> np.ndarray:
    """As ``possible``, but a witness may touch a relation."""
    from dataclasses import replace

    out = replace(limits, relations=None).possible(moved, rows)
    if limits.relations is not None:
        A, b = limits.relations
        out &= (moved @ A.T - b <= 1e-9 * (np.abs(moved) @ np.abs(A).T + np.abs(b))).all(axis=1)
    return out


def _numbered(step: ColumnTransformer) -> ColumnTransformer:
    """The same with columns by number, for arrays."""
    place = {name: i for i, name in enumerate([*NUMBERS, *WORDS])}
    step.transformers = [(name, inner, [place[c] for c in columns]) for name, inner, columns in step.transformers]
    return step


def _by_number(named: dict) -> dict:
    """The same threat with numbers for columns."""
    place = {name: i for i, name in enumerate([*NUMBERS, *WORDS])}

    def numbered(value):
        if isinstance(value, dict):
            return {place[name]: each for name, each in value.items()}
        if isinstance(value, list):
            return [place[v] if isinstance(v, str) else (numbered(v[0]), *v[1:]) for v in value]
        return value

    return {name: numbered(value) for name, value in named.items()}
