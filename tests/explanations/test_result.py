"""Tables, digits, sentences, notebooks, reports and the command line."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import CertifiedKNeighborsClassifier, Euclidean, Threat, counterfactuals, save
from holdfast.certificates.columns import Encoding
from holdfast.explanations.question import IsClass
from holdfast.explanations.search import shorten

RNG = np.random.default_rng(0)
PEOPLE = pd.DataFrame(
    {
        "age": RNG.integers(20, 70, 200),
        "income": RNG.normal(40.0, 10.0, 200).round(1),
        "debt": RNG.gamma(2.0, 8.0, 200).round(1),
        "member": RNG.random(200) < 0.5,
    },
    index=[f"person {i}" for i in range(200)],
)
GOOD = np.where(PEOPLE["income"] - PEOPLE["debt"] + 0.2 * PEOPLE["age"] + 4 * PEOPLE["member"] > 35, "good", "bad")
MODEL = make_pipeline(StandardScaler(), LogisticRegression(C=100.0)).fit(PEOPLE, GOOD)
THREAT = Threat(unit={"income": 10.0, "debt": 10.0}, frozen=["member", "age"], only_up=["income"], only_down=["debt"])


@pytest.fixture(scope="module")
def found():
    return counterfactuals(MODEL, PEOPLE[:40], "good", threat=THREAT)


def test_points_are_a_table_like_the_rows(found):
    assert list(found.points.columns) == list(PEOPLE.columns)
    assert list(found.points.index) == list(PEOPLE.index[:40])
    assert found.points["age"].dtype == PEOPLE["age"].dtype
    assert found.points["member"].dtype == bool
    assert (found.points[["age", "member"]] == PEOPLE[["age", "member"]][:40]).all(axis=None)
    assert (MODEL.predict(found.points) == "good").all()


def test_numbers_are_short_and_still_valid(found):
    moved = found.changes
    assert moved["to"].map(lambda value: len(repr(value))).max() <= 7
    long = counterfactuals(MODEL, PEOPLE[:40], "good", threat=THREAT, rounding=0.0)
    assert (found.size <= 1.01 * long.size).all()
    assert (found.lower_bound <= long.size).all()


def test_changes_and_frames(found):
    assert list(found.changes.columns) == ["row", "number", "column", "from", "to"]
    assert set(found.changes["column"]) <= {"income", "debt"}
    first = found.changes.iloc[0]
    assert first["from"] == PEOPLE.loc[first["row"], first["column"]]
    assert first["to"] == found.points.loc[first["row"], first["column"]]
    frame = found.to_frame()
    assert len(frame) == 40
    assert set(frame["status"]) == {"found", "already"}


def test_sentences(found):
    texts = found.sentences()
    entry = int(np.flatnonzero(found.status == "found")[0])
    assert texts[entry].startswith("to be good instead of bad: ")
    assert "→" in texts[entry]
    assert texts[entry].endswith("can do it")
    assert "it is good already" in texts
    assert "<table>" in found._repr_html_()
    assert repr(found) == f"<Counterfactuals of 40 rows: 40 answers, {int(found.closest.sum())} proven closest, l2>"


def test_names_are_escaped():
    table = PEOPLE[["income", "debt"]].rename(columns={"debt": "<b>\x1b[31m"})
    model = LogisticRegression(max_iter=1000).fit(table, GOOD)
    answers = counterfactuals(model, table[:3])
    assert "<b>" not in answers._repr_html_()
    assert "\x1b" not in "".join(answers.sentences())


def test_plot(found):
    plt = pytest.importorskip("matplotlib.pyplot")
    row = int(found.row[np.flatnonzero(found.status == "found")[0]])
    ax = found.plot(row)
    assert [tick.get_text() for tick in ax.get_yticklabels()]
    plt.close("all")


def test_digits_leave_what_they_cannot_shorten():
    class Strict:
        """Accepts one point only."""

        moves = Threat().bind(Encoding(2))

        def accepts(self, points, rows, codes, targets):
            return (points == [[np.pi, 1.0]]).all(axis=1)

        def sizes(self, points, rows):
            return np.linalg.norm(points - rows, axis=1)

    rows, points = np.zeros((1, 2)), np.array([[np.pi, 1.0]])
    out = shorten(Strict(), rows, np.zeros(1, int), np.zeros(1, int), points, 0.5)
    assert (out == points).all()


def test_one_class_against_the_rest_keeps_names():
    asked = IsClass(MODEL, "good")
    assert list(asked.feature_names_in_) == list(PEOPLE.columns)
    assert (asked.predict(PEOPLE) == (MODEL.predict(PEOPLE) == "good")).all()


def test_explain_on_the_command_line(tmp_path):
    from typer.testing import CliRunner

    from holdfast.cli.app import app

    rows = PEOPLE.drop(columns="member").astype(float)
    model = make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=1)).fit(rows, GOOD)
    save(model, tmp_path / "m.holdfast")
    rows[:12].to_csv(tmp_path / "rows.csv", index=False)
    call = ["explain", str(tmp_path / "m.holdfast"), str(tmp_path / "rows.csv"), "--jobs", "1"]
    out = tmp_path / "changes.csv"
    done = CliRunner().invoke(app, [*call, "--target", "good", "--out", str(out)])
    assert done.exit_code == 0, done.output
    assert "12 answers for 12 rows" in done.output
    lines = pd.read_csv(out)
    assert list(lines.columns[:3]) == ["row", "number", "prediction"]
    moved = rows[:12].reset_index(drop=True)
    for line in lines.dropna(subset="column").itertuples():
        moved.loc[line.row - 1, line.column] = line.to
    assert (model.predict(moved) == "good").all()
    printed = CliRunner().invoke(app, [*call, "--json", "--n", "2"])
    data = json.loads(printed.stdout)
    assert data["rows"] == 12
    assert len(data["counterfactuals"]) == 24
    wrong = CliRunner().invoke(app, [*call, "--target", "better"])
    assert wrong.exit_code == 1
