"""Threats: names and numbers of columns, units, boxes and one-sided moves; what is wrong is said at once."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_wine
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import CertifiedKNeighborsClassifier, Euclidean, Threat, attack, certify
from holdfast.certificates import CertifiedAccuracy, choose, dependence
from holdfast.certificates.columns import Encoding
from holdfast.certificates.training import Training
from tests.certificates.brute_force import NORMS, engines, exact_radius, make_problem, random_problem, votes

WINE, GROWER = load_wine(return_X_y=True, as_frame=True)
TRAIN, TEST = (WINE[::2], GROWER[::2]), WINE[1::8]


@pytest.mark.parametrize("norm", NORMS)
@pytest.mark.parametrize("k", [1, 3])
def test_one_sided_moves_against_brute_force(norm, k):
    for seed in range(4):
        rng = np.random.default_rng([seed, k])
        problem, queries, x, y = random_problem(
            rng, k, 2, norm=norm, n=k + 4, only_up=[0], only_down=[1, 2] if seed % 2 else [1]
        )
        exact = np.array([exact_radius(problem, *each) for each in zip(queries, y, x, strict=True)])
        for engine in engines.values():
            if not engine.handles(problem):
                continue
            lower, upper, delta = engine(problem, queries, y, inputs=x, n_jobs=1)
            assert (lower <= exact * (1 + 1e-9) + 1e-12).all()
            assert (upper >= exact * (1 - 1e-7) - 1e-9).all()
            found = np.isfinite(upper)
            assert (delta[found, 0] >= 0).all()
            assert (delta[found, 1] <= 0).all()
            if engine.tight and np.isfinite(exact).any():
                # Exact where the search ended: always for one neighbour.
                there = np.isfinite(exact) & ((lower >= (1 - 1e-4) * upper) | (k == 1))
                np.testing.assert_allclose(lower[there], exact[there], rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("norm", ["l2", "linf", "l1"])
def test_a_unit_is_a_scaled_column(norm):
    rng = np.random.default_rng(3)
    unit = np.array([10.0, 0.1, 3.0])
    T, U, labels = rng.normal(size=(3, 3)), rng.normal(size=(20, 3)), rng.integers(2, size=20)
    x = rng.normal(size=(5, 3))
    measured = make_problem(U, labels, T, norm=NORMS[norm](3), unit=unit)
    scaled = make_problem(U, labels, T * unit, norm=NORMS[norm](3))
    y = votes(measured, x @ T.T)
    a = choose(measured)(measured, x @ T.T, y, inputs=x, n_jobs=1)
    b = choose(scaled)(scaled, x @ T.T, y, inputs=x / unit, n_jobs=1)
    np.testing.assert_allclose(a.lower, b.lower, rtol=1e-9)
    np.testing.assert_allclose(a.delta, b.delta * unit, rtol=1e-6, atol=1e-12)
    np.testing.assert_allclose(measured.moves.lengths(a.delta), a.upper, rtol=1e-9)


@pytest.mark.parametrize("last", [CertifiedKNeighborsClassifier(n_neighbors=3), LogisticRegression(max_iter=2000)])
@pytest.mark.parametrize("norm", [2, np.inf, 1])
def test_names_boxes_sides_and_units_reach_the_witness(last, norm):
    model = make_pipeline(StandardScaler(), clone(last)).fit(*TRAIN)
    threat = Threat(
        norm, unit=WINE.std().to_dict(), frozen=["ash"], only_up=["alcohol"], only_down=["proline"],
        lower=WINE.min().to_dict(), upper=WINE.max().to_dict(),
    )  # fmt: skip
    certificate = certify(model, TEST, threat=threat)
    found = np.isfinite(certificate.upper)
    assert found.any()
    move = (certificate.adversarial - TEST.to_numpy())[found]
    names = list(WINE.columns)
    assert (move[:, names.index("ash")] == 0).all()
    assert (move[:, names.index("alcohol")] >= 0).all()
    assert (move[:, names.index("proline")] <= 0).all()
    moved = certificate.adversarial[found]
    assert (moved >= WINE.min().to_numpy()).all()
    assert (moved <= WINE.max().to_numpy()).all()
    assert (certificate.radius <= certificate.upper).all()
    # Fewer moves never have a smaller radius.
    wider = certify(model, TEST, threat=Threat(norm, unit=WINE.std().to_dict()))
    assert (certificate.radius >= wider.radius * (1 - 1e-9)).all()
    np.testing.assert_allclose(attack(model, TEST, threat=threat).size, certificate.upper)


def test_loose_arguments_are_a_threat():
    model = make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(n_neighbors=1)).fit(*TRAIN)
    loose = certify(model, TEST, norm=np.inf, lower=0.0, frozen=["ash", "alcohol"])
    whole = certify(model, TEST, threat=Threat(np.inf, lower=0.0, frozen=[0, 2]))
    np.testing.assert_array_equal(loose.radius, whole.radius)
    with pytest.raises(ValueError, match="Give norm, frozen to the Threat"):
        certify(model, TEST, threat=Threat(), norm=1, frozen=[0])


def test_what_is_wrong_is_said_at_once():
    threat = Threat(unit={"a": -1.0}, frozen=["z"], only_up=[7], lower={"a": 2.0}, upper={"a": 1.0})
    with pytest.raises(ValueError) as caught:
        threat.bind(Encoding(2, ["a", "b"]))
    for part in (
        "frozen names 'z', but the columns are a, b", "only_up names feature 7, but there are 2",
        "unit must be a positive number; that of a is not", "lower is above upper for feature a",
    ):  # fmt: skip
        assert part in str(caught.value)
    with pytest.raises(ValueError, match="frozen names 'z', but the columns have no names"):
        Threat(frozen=["z"]).bind(Encoding(2))


def test_words_and_classes_are_among_what_is_wrong():
    threat = Threat(unit={"a": "std"}, free=["b"], frozen=["z"], classes=["bad"])
    for training, part in (
        (Training(), "unit={'a': 'std'} needs rows of training"),
        (Training(np.zeros((3, 2)), names=["b", "c"]), "unit names 'a', but the rows of training have no such column"),
    ):
        with pytest.raises(ValueError, match=r"frozen names 'z'.*classes names 'bad'") as caught:
            threat.bind(Encoding(2, ["a", "b"]), training, np.array([0, 1]))
        assert part in str(caught.value)


EVERYTHING = {
    "norm": np.inf, "unit": {"income": 1000.0, "age": 1}, "lower": {"income": 0}, "upper": {"age": np.inf},
    "frozen": ["sex"], "only_up": ["age"], "integer": ["age"], "free": {"race": ["race_a", "race_b"]},
    "categories": {"job": [0, 1, 2]}, "max_changes": 1, "relations": [({"paid": 1, "owed": -1}, "<=", 0)],
    "classes": ["bad"],
}  # fmt: skip
COLUMNS = ["age", "income", "sex", "race_a", "race_b", "job", "paid", "owed"]


def test_a_threat_in_arrays():
    moves = Threat(**EVERYTHING).bind(Encoding(8, COLUMNS))
    assert np.flatnonzero(moves.frozen).tolist() == [2, 3, 4, 5]  # categories change as a whole, not bit by bit
    assert np.flatnonzero(moves.integer).tolist() == [0]
    np.testing.assert_array_equal(moves.relations[0], [[0, 0, 0, 0, 0, 0, 1, -1]])
    assert [(g.name, g.columns.tolist(), len(g.patterns), g.limited) for g in moves.categories.groups] == [
        ("race", [3, 4], 2, False), ("job", [5], 3, True),
    ]  # fmt: skip


def test_everything_wrong_with_a_whole_threat_is_said_at_once():
    threat = Threat(
        unit="std", integer=["zip"], free=["race"], categories={"job": [0, "x"], "sex": [0, 1]}, frozen=["sex"],
        max_changes=-1,
        relations=[({"paid": 1, "due": -1}, "<=", 0), ({"paid": 1}, "<", 0), "paid", ({"paid": 0}, "==", 1)],
    )  # fmt: skip
    with pytest.raises(ValueError) as caught:
        threat.bind(Encoding(8, COLUMNS))
    for part in (
        "unit='std' needs rows of training", "integer names 'zip'", "The values of race are not known",
        "categories of job must list the numbers", "max_changes must be a whole number of at least 0; got -1",
        "relation 0 names 'due'", "Relation 1 must say one of <=, >=, ==; got '<'", "Relation 2 must be",
        "Relation 3 names no column with a factor other than 0",
    ):  # fmt: skip
        assert part in str(caught.value), part
    for given, part in (
        ({"free": {"sex": [0, 1]}, "frozen": ["sex"]}, "Column sex is frozen, and a category that may change"),
        ({"free": {"sex": [0, 1]}, "categories": {"sex": [0, 1]}}, "Column sex is in two categories"),
        ({"max_changes": 1}, "max_changes limits the changes of categories="),
        ({"free": {"color": ["red", "blue"]}}, "free names 'color'"),
        ({"free": {"race": ["race_a", "race_c"]}}, "free names 'race_c'"),
        ({"relations": [({"age": np.inf}, "<=", 0)]}, "Relation 0 must have finite numbers"),
    ):
        with pytest.raises(ValueError, match=part):
            Threat(**given).bind(Encoding(8, COLUMNS))
    with pytest.raises(ValueError, match="unit must be numbers"):
        Threat(unit={0: "wide"}).fitted_to(np.zeros((3, 1)))


def test_words_and_files(tmp_path):
    threat = Threat(**EVERYTHING)
    assert Threat.from_json(threat.to_json()) == threat
    assert Threat.from_dict(threat.to_dict()) == threat
    assert clone(threat) == threat
    assert hash(clone(threat)) == hash(threat)
    assert threat != Threat()
    for norm in (np.eye(2), 2.0, "l2"):
        two = Encoding(2)
        assert Threat.from_json(Threat(norm).to_json()).bind(two).norm.name == Threat(norm).bind(two).norm.name
    (tmp_path / "t.json").write_text(threat.to_json())
    assert Threat.from_file(tmp_path / "t.json") == threat
    (tmp_path / "t.toml").write_text(
        'norm = "inf"\nonly_up = ["age"]\nrelations = [[{paid = 1, owed = -1}, "<=", 0]]\n[unit]\n"0" = 2\n'
    )
    read = Threat.from_file(tmp_path / "t.toml")
    assert read == Threat(np.inf, only_up=["age"], relations=[({"paid": 1, "owed": -1}, "<=", 0)], unit={0: 2})
    assert read.bind(Encoding(8, COLUMNS)).unit[0] == 2  # a number of a column, as a word
    (tmp_path / "bad.toml").write_text("frozn = [1]\nspeed = 3\n")
    with pytest.raises(ValueError, match=r"unknown keys: 'frozn' \(is 'frozen' meant\?\), 'speed'"):
        Threat.from_file(tmp_path / "bad.toml")
    (tmp_path / "cut.json").write_text('{"norm"')
    with pytest.raises(ValueError, match="is no JSON file"):
        Threat.from_file(tmp_path / "cut.json")
    with pytest.raises(ValueError, match=r"must end in \.toml or \.json"):
        Threat.from_file(tmp_path / "t.yaml")


def test_sentences():
    assert Threat(**EVERYTHING).describe() == [
        "The size of a move is the largest change of a feature.",
        "income counts in units of 1000.",
        "age counts in units of 1.",
        "income stays at least 0.",
        "age stays at most inf.",
        "sex cannot change.",
        "age can only grow.",
        "age stays a whole number.",
        "race may take any of 2 values, at no cost.",
        "Up to 1 of job (3 values) may change, at no cost.",
        "paid - owed <= 0 holds before and after a move.",
        "Only rows with the answer bad are attacked.",
    ]
    assert Threat(unit="std", frozen=[0, 2]).describe()[1:] == [
        "Changes count in standard deviations of the rows of training.", "feature 0 and feature 2 cannot change.",
    ]  # fmt: skip


def test_units_and_categories_of_the_rows_of_training():
    X = WINE.assign(kind=np.arange(len(WINE)) % 3)
    fitted = Threat(unit="std", free=["kind"]).fitted_to(X)
    assert fitted.free == {"kind": [0, 1, 2]}
    np.testing.assert_allclose([fitted.unit[name] for name in WINE], WINE.std(ddof=0))
    model = make_pipeline(StandardScaler(), LogisticRegression(max_iter=2000)).fit(X, GROWER)
    some = X[::20]
    by_hand = certify(model, some, threat=fitted)
    for threat, options in (
        (Threat(unit="std", free=["kind"]), {"reference": (X, GROWER)}),
        (Threat(unit="std", free={"kind": [0, 1, 2]}), {}),  # the scaler stands first
    ):
        np.testing.assert_allclose(certify(model, some, threat=threat, **options).radius, by_hand.radius, rtol=1e-9)
    stored = CertifiedKNeighborsClassifier(n_neighbors=1).fit(X, GROWER)
    assert certify(stored, some[:2], threat=Threat(unit="range")).radius.max() > 0
    bare = LogisticRegression(max_iter=5000).fit(WINE * 0 + np.arange(13), GROWER)
    with pytest.raises(ValueError, match="unit='range' needs rows of training"):
        certify(bare, WINE[:2], threat=Threat(unit="range"))
    constant = Threat(unit="range").fitted_to(np.ones((4, 2)))
    assert constant.bind(Encoding(2)).unit is None


def test_a_verdict_in_a_data_frame():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(*TRAIN)
    y = GROWER[1::8].to_numpy()
    found = certify(model, TEST, y, at=0.05)
    frame = found.to_frame()
    assert frame.index.equals(TEST.index)
    assert str(frame["stable"].dtype) == "boolean"
    assert frame["stable"].tolist() == found.stable.tolist()
    assert found.certified_accuracy() == found.certified_accuracy(radii=0.05)
    both = type(found).concatenate([certify(model, part, at=0.05) for part in (TEST[:9], TEST[9:])])
    assert both.to_frame().index.equals(TEST.index)
    assert both.stable.tolist() == found.stable.tolist()
    assert "stable" in repr(found)
    with pytest.raises(ValueError, match="stable is a verdict at one size"):
        certify(model, TEST).stable  # noqa: B018
    with pytest.raises(ValueError, match="at"):
        certify(model, TEST, at=-1.0)
    score = CertifiedAccuracy(0.05, method="auto")(model, TEST, y)
    assert score == found.certified_accuracy()


def test_dependence_counts_rows():
    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=60), rng.integers(0, 2, 60)])
    model = LogisticRegression().fit(X, X[:, 0] + 0.5 * X[:, 1] > 0)
    found = dependence(model, X, {1: [0, 1]}, at=0.1)
    flipped = np.column_stack([X[:, 0], 1 - X[:, 1]])
    assert found.by_columns_alone == (model.predict(flipped) != model.predict(X)).mean()
    assert found.by_columns_alone <= found.dependent
    assert found.independent + found.dependent + found.undecided == pytest.approx(1.0)
    assert found.to_dict()["rows"] == 60
    assert len(found.sentences()) == 3
    with pytest.raises(ValueError, match="not also in free="):
        dependence(model, X, {1: [0, 1]}, threat=Threat(free={1: [0]}))


def test_a_threat_is_a_scikit_learn_object():
    threat = Threat(np.inf, unit={"a": 2.0}, only_down=["b"])
    assert repr(clone(threat)) == repr(threat)
    assert threat.get_params()["only_down"] == ["b"]


@pytest.mark.parametrize("given", [{"frozen": [0, 1]}, {"only_up": [0, 1], "only_down": [0, 1]}])
def test_a_threat_without_moves_says_so(given):
    X, y = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0]]), np.array([0, 1, 1])
    model = CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=1).fit(X, y)
    for ask in (certify, attack):
        with pytest.warns(UserWarning, match="lets nothing move"):
            ask(model, X, threat=Threat(**given))
    assert certify(model, X, threat=Threat(free={0: [0.0, 1.0, 2.0]}, frozen=[1])).upper.max() < np.inf
    with pytest.raises(ValueError, match="unit must be numbers"):
        certify(model, X, threat=Threat(unit="median"))
