"""``--threat FILE``: what may move, by the columns of the raw table."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import CertifiedKNeighborsClassifier, Euclidean, save
from holdfast.datasets.encoder import TableEncoder
from tests.cli.program import run

THREAT = """
norm = "inf"
only_up = ["age"]
integer = ["age"]
free = ["house"]
relations = [[{paid = 1, owed = -1}, "<=", 0]]

[unit]
owed = 10
paid = 10
"""


@pytest.fixture(scope="module")
def place(tmp_path_factory):
    """A folder with a table, a model of it and two threats."""
    folder = tmp_path_factory.mktemp("threat")
    rng = np.random.default_rng(0)
    table = pd.DataFrame({"age": rng.integers(20, 60, 60), "owed": rng.uniform(10, 100, 60).round()})
    table["paid"] = (table["owed"] * rng.uniform(0, 1, 60)).round()
    table["house"], table["sex"] = rng.choice(["own", "rent"], 60), rng.choice(["f", "m"], 60)
    answer = np.where(table["paid"] > table["owed"] / 2, "good", "bad")
    last = CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=1)
    model = make_pipeline(TableEncoder(), StandardScaler(), last).fit(table[:50], answer[:50])
    save(model, folder / "loans.holdfast")
    table[50:].to_csv(folder / "new.csv", index=False)
    (folder / "threat.toml").write_text(THREAT)
    (folder / "wrong.toml").write_text('only_up = ["house", "size"]\n')
    return folder


def test_attack_keeps_the_threat(place):
    done = run(
        "attack", "loans.holdfast", "new.csv", "--threat", "threat.toml", "--out", "moved.csv", "--jobs", 1, cwd=place
    )
    assert "Note: age can only grow." in done.stdout
    assert "Note: house may take any of its values in the rows of training, at no cost." in done.stdout
    moved, table = pd.read_csv(place / "moved.csv"), pd.read_csv(place / "new.csv")
    seen = np.isfinite(moved["size"])
    assert seen.any()
    moved, table = moved[seen], table[seen]
    assert (moved["age"] >= table["age"]).all()
    assert (moved["age"] % 1 == 0).all()
    assert (moved["paid"] <= moved["owed"]).all()
    assert (moved["sex=f"] == (table["sex"] == "f")).all()
    assert (moved["house=own"] + moved["house=rent"] == 1).all()


def test_certify_tells_what_was_allowed_to_move(place):
    done = run("certify", "loans.holdfast", "new.csv", "--threat", "threat.toml", "--json", "--jobs", 1, cwd=place)
    found = json.loads(done.stdout)
    assert "age stays a whole number." in found["threat"]
    assert found["units"] == "units of the threat"
    assert len(found["certificates"]["radius"]) == 10


def test_a_wrong_threat_is_told_in_one_sentence_each(place):
    done = run("certify", "loans.holdfast", "new.csv", "--threat", "wrong.toml", cwd=place, code=1)
    words = " ".join(done.stderr.split())
    assert "only_up names 'house', which holds categories" in words
    assert "only_up names 'size', but the columns are age, owed, paid, house, sex" in words


def test_audit_under_a_threat(place, tmp_path):
    table = pd.read_csv(place / "new.csv")
    table = pd.concat([table] * 4, ignore_index=True)
    table["paid"] = np.minimum(table["paid"] + np.arange(len(table)) % 3, table["owed"])
    table["answer"] = np.where(table["paid"] > table["owed"] / 2, "good", "bad")
    table.to_csv(tmp_path / "loans.csv", index=False)
    done = run(
        "audit", "loans.csv", "--target", "answer", "--threat", place / "threat.toml", "--sensitive", "sex",
        "--models", "logistic", "--tune", "none", "--radius", 1, "--jobs", 1, cwd=tmp_path,
    )  # fmt: skip
    words = " ".join(done.stdout.split())
    assert "Distances are in units of the threat, the largest change of any one feature." in words
    assert "Allowed to move: The size of a move is the largest change of a feature." in words
    assert "Does the answer depend on sex?" in words
    assert "What was allowed to move" in (tmp_path / "loans-audit" / "report.md").read_text()
