"""Every command on a saved pipeline that takes words and gaps by itself, against the same model in Python."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from holdfast import Threat, attack, audit, certify, counterfactuals, load, save
from holdfast.certificates.training import deviations
from tests.cli.program import run

WORDS, NUMBERS = ["job", "sex"], ["age", "income"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """Applicants: whole years, incomes with gaps, two columns of words, one with gaps; two models of them."""
    folder, rng = tmp_path_factory.mktemp("tables"), np.random.default_rng(0)
    frame = pd.DataFrame({
        "case": [f"c{k}" for k in range(90)], "age": rng.integers(18, 80, 90),
        "income": rng.lognormal(3, 0.5, 90).round(1),
        "job": rng.choice(["clerk", "smith", "cook"], 90), "sex": rng.choice(["f", "m"], 90),
    })  # fmt: skip
    frame.loc[::9, "income"], frame.loc[::11, "job"] = np.nan, None
    frame["answer"] = np.where((frame["age"] > 45) ^ (frame["job"] == "cook"), "yes", "no")
    front = ColumnTransformer([
        ("n", make_pipeline(SimpleImputer(add_indicator=True), StandardScaler()), NUMBERS),
        ("w", OneHotEncoder(handle_unknown="ignore"), WORDS),
    ])  # fmt: skip
    train, rest = frame[:60], frame[60:72]
    for name, last in (("knn", KNeighborsClassifier(3)), ("logistic", LogisticRegression())):
        save(make_pipeline(front, last).fit(train[NUMBERS + WORDS], train["answer"]), folder / f"{name}.holdfast")
    train.to_csv(folder / "train.csv", index=False)
    rest.to_csv(folder / "test.csv", index=False)
    rest[["case", "sex", "job", "income", "age"]].to_csv(folder / "new.csv", index=False)  # in another order
    (folder / "free.toml").write_text('norm = "linf"\nunit = "std"\nfree = ["sex"]\nfrozen = ["age"]\n')
    return folder


@pytest.fixture(scope="module")
def rows(folder):
    return pd.read_csv(folder / "new.csv")[NUMBERS + WORDS]


@pytest.fixture(scope="module", params=["knn", "logistic"])
def model(request):
    return request.param


def test_units_are_the_deviations_the_model_divides_by(folder, model):
    train = pd.read_csv(folder / "train.csv")
    found = deviations(load(folder / f"{model}.holdfast"))
    filled = train["income"].fillna(train["income"].mean())
    np.testing.assert_allclose(found, [train["age"].std(ddof=0), filled.std(ddof=0), 1, 1])


def test_certify_and_predict(folder, rows, model):
    loaded = load(folder / f"{model}.holdfast")
    told = json.loads(run("certify", f"{model}.holdfast", "new.csv", "--id", "case", "--json", cwd=folder).stdout)
    known = certify(loaded, rows, threat=Threat(unit=deviations(loaded)))
    finite = [np.inf if radius is None else radius for radius in told["certificates"]["radius"]]
    np.testing.assert_allclose(finite, known.radius)
    assert told["units"].startswith("standard deviations")
    assert told["certificates"]["id"][0] == "c60"
    done = run("predict", f"{model}.holdfast", "new.csv", cwd=folder)
    assert done.stdout.split()[1:] == loaded.predict(rows).tolist()


def test_attack(folder, rows, model):
    loaded = load(folder / f"{model}.holdfast")
    done = run("attack", f"{model}.holdfast", "new.csv", "--id", "case", "-o", f"{model}.csv", "--force", cwd=folder)
    assert "becomes" in done.stdout
    assert "(c" in done.stdout  # rows by name
    moved = pd.read_csv(folder / f"{model}.csv")
    there = np.isfinite(moved["size"]).to_numpy()
    again = loaded.predict(moved.loc[there, NUMBERS + WORDS])
    assert (again == moved.loc[there, "changed_to"]).all()
    assert (again != moved.loc[there, "prediction"]).all()
    for column in WORDS:  # words and gaps stay
        assert moved.loc[there, column].fillna("").tolist() == rows.loc[there, column].fillna("").tolist()
    assert (moved.loc[there, "income"].isna() == rows.loc[there, "income"].isna()).all()
    known = attack(loaded, rows, threat=Threat(unit=deviations(loaded)))
    np.testing.assert_allclose(moved["size"], known.size)


def test_attack_with_a_category_that_may_change(folder, rows, model):
    arguments = ("attack", f"{model}.holdfast", "new.csv", "--threat", "free.toml")
    told = json.loads(run(*arguments, "--json", cwd=folder).stdout)
    moved = pd.DataFrame(told["adversarial"], columns=told["features"])
    there = moved["sex"].notna()
    assert (moved["sex"] != rows["sex"])[there].any()
    assert (moved["age"] == rows["age"])[there].all()
    if model == "knn":
        assert "sex from" in run(*arguments, cwd=folder).stdout


def test_explain(folder, rows, model):
    loaded = load(folder / f"{model}.holdfast")
    arguments = ("explain", f"{model}.holdfast", "new.csv", "--target", "yes", "--id", "case")
    told = json.loads(run(*arguments, "--json", cwd=folder).stdout)
    assert told["rows"] == len(rows)
    assert [entry["id"] for entry in told["counterfactuals"]] == [f"c{k}" for k in range(60, 72)]
    for row, entry in enumerate(told["counterfactuals"]):
        changed = rows.iloc[[row]].astype({"age": float})
        for change in entry["changes"]:
            assert change["column"] in NUMBERS
            changed[change["column"]] = change["to"]
        if entry["status"] != "impossible":
            assert loaded.predict(changed)[0] == "yes"
            assert changed["age"].iloc[0] == round(changed["age"].iloc[0])  # whole years
    known = counterfactuals(loaded, rows, "yes", threat=Threat(unit=deviations(loaded)))
    sizes = [np.inf if entry["size"] is None else entry["size"] for entry in told["counterfactuals"]]
    np.testing.assert_allclose(sizes, known.size)
    said = run(*arguments, "--out", f"{model}-changes.csv", cwd=folder).stdout
    assert "have that answer already" in said
    assert "(c6" in said
    assert pd.read_csv(folder / f"{model}-changes.csv")["id"].nunique() == len(rows)


def test_explain_with_a_category_that_may_change(folder, model):
    told = json.loads(
        run("explain", f"{model}.holdfast", "new.csv", "--threat", "free.toml", "--json", cwd=folder).stdout
    )
    columns = {change["column"] for entry in told["counterfactuals"] for change in entry["changes"]}
    assert columns <= {"sex", "income"}


def test_audit(folder, model):
    options = ("audit", "--model", f"{model}.holdfast", "test.csv", "-t", "answer", "--id", "case", "--explain", 4)
    done = run(*options, "--reference", "train.csv", "--sensitive", "sex", "-o", f"{model}-audit", cwd=folder)
    for words in ("Logistic regression", "Plain k-NN", "always ", "Does the answer depend on sex?", "deviations"):
        assert words in done.stdout
    assert "Note: The threat lets nothing move" not in done.stdout + done.stderr
    told = json.loads((folder / f"{model}-audit" / "report.json").read_text())
    assert told["data"]["n_columns"] == 4
    assert told["data"]["frozen"] == ["job", "sex"]
    assert told["subgroups"]
    assert told["far"] is not None
    listed = told["predictions"]["yours"]["least"]
    assert all(row["id"].startswith("c") for row in listed)
    assert {change["feature"] for row in listed for change in row["changes"]} <= set(NUMBERS)
    page = (folder / f"{model}-audit" / "report.html").read_text()
    assert "nan" not in page.split("<script")[0].lower().replace("finance", "")


def test_an_audit_measures_as_certify_does(folder, rows, model):
    """The same radii from audit, with and without training rows, and from certify."""
    loaded, test = load(folder / f"{model}.holdfast"), pd.read_csv(folder / "test.csv")
    train = pd.read_csv(folder / "train.csv")
    known = certify(loaded, rows, threat=Threat(unit=deviations(loaded)))
    for reference in (None, (train[NUMBERS + WORDS], train["answer"])):
        found = audit(model=loaded, X=rows, y=test["answer"], reference=reference, explain=0)
        np.testing.assert_allclose(found.certificates["yours"].radius, known.radius)
        moved = found.certificates["yours"].adversarial
        there = np.isfinite(known.upper)
        gaps = np.isnan(found.X_test)
        assert np.isfinite(moved[there][~gaps[there]]).all()
        assert np.isnan(moved[~there]).all()


def test_what_a_model_does_not_know_is_said(folder, model):
    (folder / "short.csv").write_text("age,income,sex\n40,20,f\n")
    for command in ("attack", "explain", "certify", "predict"):
        done = run(command, f"{model}.holdfast", "short.csv", cwd=folder, code=1)
        assert "lacks the column" in done.stderr
    (folder / "words.csv").write_text("age,income,sex,job\nold,20,f,cook\n")
    for command in ("attack", "explain", "certify"):
        done = run(command, f"{model}.holdfast", "words.csv", cwd=folder, code=1)
        assert "'age' has words instead of numbers in row 1 ('old')" in done.stderr
    (folder / "numbers.csv").write_text("age,income,sex,job\n40,20,f,1\n41,21,m,2\n")
    for command in ("attack", "explain", "certify", "predict"):
        done = run(command, f"{model}.holdfast", "numbers.csv", cwd=folder, code=1)
        assert "'job' holds numbers" in done.stderr
