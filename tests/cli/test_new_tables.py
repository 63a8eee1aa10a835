"""New tables on the command line: what was found out about a file is said, what a model does not know is counted."""

import json
import os
import subprocess

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, OrdinalEncoder, StandardScaler

from holdfast import CertifiedKNeighborsClassifier, load, save
from holdfast.base import disk as files
from holdfast.cli.options import write_frame
from holdfast.datasets import TableEncoder
from tests.cli.program import ENVIRONMENT, PROGRAM, run

N = 40


def people(seed=0):
    """Whole ages, incomes, days, words."""
    rng = np.random.default_rng(seed)
    return pd.DataFrame({
        "age": rng.integers(18, 80, N), "income": rng.lognormal(3, 0.5, N).round(2),
        "day": pd.Timestamp("2024-01-01") + pd.to_timedelta(rng.integers(0, 500, N), unit="D"),
        "job": rng.choice(["cook", "smith", "clerk"], N),
    })  # fmt: skip


@pytest.fixture
def folder(tmp_path):
    """A model of a table with an encoder, and one of a ColumnTransformer that ignores words it does not know."""
    frame = people()
    y = np.where(frame["age"] + frame["income"] > 70, "yes", "no")
    last = CertifiedKNeighborsClassifier(n_neighbors=1)
    model = make_pipeline(TableEncoder(dates=["day"]), StandardScaler(), last).fit(frame, y)
    save(model, tmp_path / "ours.holdfast")
    words = OneHotEncoder(handle_unknown="ignore", sparse_output=False)
    front = ColumnTransformer([("n", StandardScaler(), ["age", "income"]), ("w", words, ["job", "flag"])])
    table = frame.assign(flag=np.where(frame["age"] % 2, "True", "False"))[["age", "income", "job", "flag"]]
    save(make_pipeline(front, KNeighborsClassifier(1)).fit(table, y), tmp_path / "theirs.holdfast")
    frame.to_csv(tmp_path / "t.csv", index=False)
    table.to_csv(tmp_path / "f.csv", index=False)
    return tmp_path


def test_explain_holds_whole_what_training_had_whole(folder):
    """Not what happens to be whole in a new file of one row: then a smaller change does it."""
    people()[:1].assign(income=20, age=30.0).to_csv(folder / "one.csv", index=False)
    told = json.loads(run("explain", "ours.holdfast", "one.csv", "--json", cwd=folder).stdout)["counterfactuals"][0]
    assert told["sentence"].endswith("with age, day whole")
    moved = {each["column"]: each["to"] for each in told["changes"]}
    assert moved["income"] % 1
    assert not moved.get("age", 0) % 1
    known = json.loads(run("attack", "ours.holdfast", "one.csv", "--json", cwd=folder).stdout)["size"][0]
    assert told["lower_bound"] >= known * 0.99 or told["size"] < 1.5 * known


def test_a_witness_with_a_date_is_read_back(folder):
    frame = people()[:5].drop(columns="job")
    y = load(folder / "ours.holdfast").predict(people()[:5]).tolist()
    y = ["yes", "no", "yes", "no", "no"] if len(set(y)) < 2 else y
    last = CertifiedKNeighborsClassifier(n_neighbors=1)
    save(make_pipeline(TableEncoder(dates=["day"]), StandardScaler(), last).fit(frame, y), folder / "d.holdfast")
    frame.to_csv(folder / "d.csv", index=False)
    run("attack", "d.holdfast", "d.csv", "-o", "moved.csv", cwd=folder)
    found = json.loads(run("predict", "d.holdfast", "moved.csv", "--json", cwd=folder).stdout)["prediction"]
    assert found == pd.read_csv(folder / "moved.csv")["changed_to"].tolist()


@pytest.mark.parametrize("command", ["predict", "certify", "attack", "explain"])
def test_words_that_a_pipeline_ignores_are_counted(folder, command):
    table = pd.read_csv(folder / "f.csv", dtype={"flag": str})
    table[:3].assign(job=["lila", "cook", "cook "]).to_csv(folder / "new.csv", index=False)
    done = run(command, "theirs.holdfast", "new.csv", cwd=folder, code=1)
    assert "'job' has categories not seen in training in 2 rows, such as 'lila' in row 1" in done.stderr
    table[:3].assign(job=["cook", None, "cook"]).to_csv(folder / "gap.csv", index=False)
    assert "'job' has no value in row 2" in run(command, "theirs.holdfast", "gap.csv", cwd=folder, code=1).stderr
    for name, count in (("new.csv", 2), ("gap.csv", 1), ("f.csv", 0)):
        asked = ("--allow-unknown", "--json")
        done = json.loads(run(command, "theirs.holdfast", name, *asked, cwd=folder).stdout)
        assert done["rows_with_unknown_values"] == count
    table[:3].assign(age=[30, None, 40]).to_csv(folder / "gap.csv", index=False)
    done = run(command, "theirs.holdfast", "gap.csv", "--allow-unknown", cwd=folder, code=1)
    assert "nothing to put in place of these values: column 'age' has no value in row 2" in done.stderr


def test_codes_that_an_encoder_does_not_know(folder):
    frame = pd.DataFrame({"code": [1, 2, 3, 4] * 5, "n": np.arange(20.0)})
    encode = OrdinalEncoder(handle_unknown="use_encoded_value", unknown_value=-1)
    front = ColumnTransformer([("c", encode, ["code"])], remainder="passthrough")
    save(make_pipeline(front, KNeighborsClassifier(1)).fit(frame, [0, 1] * 10), folder / "c.holdfast")
    frame[:2].assign(code=[1, 9]).to_csv(folder / "c.csv", index=False)
    assert "such as" not in run("predict", "c.holdfast", "c.csv", "--allow-unknown", cwd=folder).stderr
    assert (
        "categories not seen in training in row 2 ('9')"
        in run("predict", "c.holdfast", "c.csv", cwd=folder, code=1).stderr
    )


def test_formulas_are_escaped_in_csv(tmp_path):
    """In cells and headings; numbers and words that a spreadsheet shows as they are stay."""
    frame = pd.DataFrame({"=a": ["=1+1", "+x", "@y", "-1", "plain", "\tz"], "b": [-1.0, 2, 3, 4, 5, 6]})
    write_frame(frame, tmp_path / "t.csv")
    found = pd.read_csv(tmp_path / "t.csv")
    assert list(found) == ["'=a", "b"]
    assert found["'=a"].tolist() == ["'=1+1", "'+x", "'@y", "-1", "plain", "'\tz"]
    assert found["b"].tolist() == [-1, 2, 3, 4, 5, 6]
    write_frame(frame, tmp_path / "t.parquet")
    assert pd.read_parquet(tmp_path / "t.parquet")["=a"].tolist() == frame["=a"].tolist()


def test_names_of_outputs(folder, monkeypatch):
    (folder / "link").symlink_to("nowhere")
    for asked in (("predict", "ours.holdfast", "t.csv"), ("audit", "wine")):
        assert "link to nowhere, which is not there" in run(*asked, "-o", "link", cwd=folder, code=1).stderr
        assert "the name is empty" in run(*asked, "-o", "", cwd=folder, code=2).stderr
    monkeypatch.setattr(files.os, "fsync", lambda handle: (_ for _ in ()).throw(OSError(28, "No space left on device")))
    said = run("predict", "ours.holdfast", "t.csv", "-o", "p.csv", cwd=folder, code=1).stderr
    assert said.endswith("p.csv: No space left on device.\n")


def test_closed_streams_and_terminals_without_some_letters(folder):
    y = np.where(people()["age"] > 40, "Łódź", "=1")
    last = CertifiedKNeighborsClassifier(n_neighbors=1)
    save(make_pipeline(TableEncoder(dates=["day"]), last).fit(people(), y), folder / "w.holdfast")
    asked = [PROGRAM, "predict", "w.holdfast", "t.csv"]
    environment = {**ENVIRONMENT, "PYTHONIOENCODING": "cp1252"}
    done = subprocess.run(asked, cwd=folder, env=environment, capture_output=True, timeout=300, check=True)
    assert b"\\u0141\xf3d\\u017a" in done.stdout
    closed = f"exec '{PROGRAM}' predict w.holdfast t.csv -o p.csv >&-"
    done = subprocess.run(
        ["sh", "-c", closed], cwd=folder, env=os.environ, capture_output=True, timeout=300, check=False
    )
    assert (done.returncode, done.stdout) == (0, b"")
    assert (folder / "p.csv").exists()
    assert b"bug" not in done.stderr
