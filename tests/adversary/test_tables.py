"""Tables and reports nobody meant well with: other columns, other values, names that speak to terminals."""

import copy
import importlib
import json
import random
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from sklearn.pipeline import make_pipeline

from holdfast import CertifiedKNeighborsClassifier, load, save
from holdfast.auditing.prepare import attack_table, certify_table, predict_table
from holdfast.auditing.result import summarise
from holdfast.auditing.rows import read_new_rows
from holdfast.auditing.run import audit
from holdfast.base.text import printable
from holdfast.cli import small as bench
from holdfast.datasets import TableEncoder, open_data
from holdfast.datasets.tables import Dataset
from holdfast.report.html import write_report
from holdfast.report.markdown import render_markdown
from tests.cli import program
from tests.cli.program import ENVIRONMENT, PROGRAM

CONTROL = {chr(c) for c in (*range(32), 127, *range(128, 160), 0x202E, 0x2066)} - {"\n"}
HOSTILE = "\x1b]0;owned\x07\x1b[31m\x9b2J\x7f\u202e"


def run(*arguments, cwd, code=0):
    """Run the program in this process; it must show no control character."""
    done = program.run(*arguments, cwd=cwd, code=code)
    assert not CONTROL & set(done.stdout + done.stderr)
    return done.stdout, done.stderr


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """An Adult-like table (labels such as <=50K, a word column, a ms timestamp beside a rate), and a model of it."""
    folder = tmp_path_factory.mktemp("tables")
    rng = np.random.RandomState(0)
    n = 60
    income = np.where(np.arange(n) % 2, "<=50K", ">50K")
    frame = pd.DataFrame(
        {
            "age": rng.normal(40, 8, n).round(1) + 10 * (income == ">50K"),
            "when": 1.7e12 + rng.normal(0, 1e10, n).round(),
            "rate": rng.normal(0, 1e-4, n),
            "same": 7.0,
            "work": np.where(rng.rand(n) < 0.5, "state", "own"),
            "income": income,
        }
    )
    frame.to_csv(folder / "adult.csv", index=False)
    run("fit", "adult.csv", "-t", "income", "-o", "m.holdfast", "--tune", "none", cwd=folder)
    return folder


@pytest.fixture
def frame(folder):
    return pd.read_csv(folder / "adult.csv").drop(columns=["income", "same"]).head(8)  # constant columns are left out


# -- labels and units -----------------------------------------------------------------------------------


def test_labels_keep_their_sign(folder):
    out, _ = run("certify", "m.holdfast", "adult.csv", "--target", "income", "--json", cwd=folder)
    told = json.loads(out)
    assert set(told["certificates"]["prediction"]) == {"<=50K", ">50K"}
    assert told["certified_accuracy"] is not None
    assert told["ignored_columns"] == ["same"]
    out, err = run("predict", "m.holdfast", "adult.csv", cwd=folder)
    assert set(out.split()[1:]) == {"<=50K", ">50K"}
    assert "ignored: same, income" in err


@pytest.mark.parametrize(
    ("y", "names", "labels"),
    [
        ([2, 4], ["2=benign", "4=malignant"], ["benign", "malignant"]),
        (["<=50K", ">50K"], ["<=50K", ">50K"], ["<=50K", ">50K"]),
        ([0, 1], ["<=50K", ">=50K"], ["<=50K", ">=50K"]),
        (["a=b", "c=b"], ["a=b", "c=b"], ["a=b", "c=b"]),
        ([0, 1], [], [0, 1]),
    ],
)
def test_only_the_class_itself_is_taken_off_a_name(y, names, labels):
    assert Dataset("d", np.zeros((2, 1)), np.array(y), ["x"], target_names=names).labels.tolist() == labels


def test_spreads_that_differ_by_fourteen_orders_are_audited(folder):
    out, _ = run("audit", "adult.csv", "-t", "income", "--tune", "none", "-o", "audited", cwd=folder)
    assert "without influence: same" in out
    summary = json.loads((folder / "audited" / "report.json").read_text())
    assert 0 <= summary["at_radius"]["robust"]["certified_error"] <= 1
    assert (folder / "audited" / "model.holdfast").exists()


def test_an_audit_depends_on_nothing_but_data_and_seed(folder):
    first, second = (
        summarise(audit(open_data(folder / "adult.csv", "income"), tune="none", explain=4, n_jobs=jobs))
        for jobs in (1, 2)
    )
    for each in (first, second):
        del each["created"], each["seconds"]
    assert first == second


# -- columns ------------------------------------------------------------------------------------------------


def test_columns_go_by_name(folder, frame):
    model = load(folder / "m.holdfast")
    expected = predict_table(model, frame)
    other = frame[frame.columns[::-1]].assign(extra=1.0)
    found = read_new_rows(model, other)
    assert found.ignored == ["extra"]
    assert found.reordered
    assert (predict_table(model, other) == expected).all()
    assert (certify_table(model, other).radius == certify_table(model, frame).radius).all()
    notes = " ".join(found.notes())
    assert "ignored: extra" in notes
    assert "taken by name" in notes
    assert not read_new_rows(model, frame).notes()


@pytest.mark.parametrize("function", [predict_table, certify_table, attack_table])
def test_missing_and_renamed_columns_are_refused(folder, frame, function):
    model = load(folder / "m.holdfast")
    with pytest.raises(ValueError, match="lacks the columns 'age', 'rate'"):
        function(model, frame.drop(columns=["age", "rate"]))
    with pytest.raises(ValueError, match=r"lacks the column 'age'.*it has 'Age', which the model does not know"):
        function(model, frame.rename(columns={"age": "Age"}))
    with pytest.raises(ValueError, match="Two columns are named 'age'"):
        function(model, pd.concat([frame, frame[["age"]]], axis=1))


def test_models_without_an_encoder_check_names_too():
    from holdfast import CertifiedKNeighborsClassifier

    rng = np.random.RandomState(0)
    X = pd.DataFrame(rng.normal(size=(30, 3)), columns=["a", "b", "c"])
    model = CertifiedKNeighborsClassifier().fit(X, X["a"] > 0)
    found = certify_table(model, X[["c", "a", "b"]].assign(d=0.0))
    assert (found.prediction == model.predict(X)).all()
    with pytest.raises(ValueError, match="lacks the column 'b'"):
        certify_table(model, X[["a", "c"]])
    with pytest.raises(ValueError, match="no value in 'a' in 1 rows"):
        predict_table(model, X.mask(X.isin([X.iloc[0, 0]])))
    with pytest.raises(ValueError, match=r"takes numbers only.*'b'"):
        predict_table(model, X.assign(b="word"))


# -- values -------------------------------------------------------------------------------------------------


def spoil(frame):
    frame = frame.astype({"age": object, "rate": float})
    frame.loc[1, "age"] = "old"
    frame.loc[[2, 3], "age"] = None
    frame.loc[4, "rate"] = np.inf
    frame.loc[[5, 6, 7], "work"] = "army"
    frame.loc[0, "work"] = None
    return frame


WORDS = (
    "column 'age' has words instead of numbers in row 2 ('old')",
    "column 'age' has no value in 2 rows, the first is row 3",
    "column 'rate' has infinite numbers in row 5",
    "column 'work' has categories not seen in training in 3 rows, such as 'army' in row 6",
    "column 'work' has no value in row 1",
    "--allow-unknown",
)


def test_unknown_values_are_refused_all_at_once(folder, frame):
    bad = spoil(frame)
    bad.to_csv(folder / "bad.csv", index=False)
    for command in ("predict", "certify", "attack"):
        _, err = run(command, "m.holdfast", "bad.csv", cwd=folder, code=1)
        assert all(words in err for words in WORDS), err
        assert err.count("\n") == 1


def test_allowed_unknown_values_are_counted(folder, frame):
    spoil(frame).to_csv(folder / "bad.csv", index=False)
    for command in ("predict", "certify", "attack"):
        out, _ = run(command, "m.holdfast", "bad.csv", "--allow-unknown", "--json", cwd=folder)
        told = json.loads(out)
        assert told["rows_with_unknown_values"] == 8
        kinds = {(each["column"], each["kind"]): each["rows"] for each in told["unknown_values"]}
        assert kinds == {
            ("age", "word"): 1,
            ("age", "gap"): 2,
            ("rate", "infinite"): 1,
            ("work", "category"): 3,
            ("work", "gap"): 1,
        }
        out, err = run(command, "m.holdfast", "bad.csv", "--allow-unknown", cwd=folder)
        assert "8 of 8 rows hold values that the model was not trained on" in out + err


def test_what_is_allowed_is_filled_with_medians(folder, frame):
    model = load(folder / "m.holdfast")
    found = read_new_rows(model, spoil(frame), allow_unknown=True)
    encoder: TableEncoder = model[0]
    age = encoder.feature_names_.index("age")
    assert (found.matrix[1:4, age] == encoder.medians_["age"]).all()
    words = [k for k, name in enumerate(encoder.feature_names_) if name.startswith("work=")]
    assert not found.matrix[5:][:, words].any()
    assert np.isfinite(found.matrix).all()


def test_predict_of_a_loaded_model_refuses_what_the_command_line_refuses(tmp_path):
    train = pd.DataFrame({"w": ["a", "b", "a", "b"], "n": [1.0, 2.0, None, 4.0]})
    model = make_pipeline(TableEncoder(), CertifiedKNeighborsClassifier(n_neighbors=1)).fit(train, [0, 1, 0, 1])
    save(model, tmp_path / "small.holdfast")
    model = load(tmp_path / "small.holdfast")
    new = pd.DataFrame({"w": ["a", "c"], "n": [None, 2.0]})
    for ask in (model.predict, model.predict_proba):
        with pytest.raises(
            ValueError, match=r"column 'w' has categories not seen .*; column 'n' has no value in row 1"
        ):
            ask(new)
    assert len(model.set_params(tableencoder__allow_unknown=True).predict(new)) == 2


def test_a_missing_word_is_known_if_training_had_one():
    train = pd.DataFrame({"w": ["a", None, "b"], "n": [1.0, 2.0, 3.0]})
    matrix, unknown = TableEncoder().fit(train).transform_new(train)
    assert not unknown
    assert (matrix == TableEncoder().fit_transform(train)).all()


# -- terminals and reports ------------------------------------------------------------------------------------


def test_printable():
    assert not CONTROL & set(printable(HOSTILE))
    assert printable("ä – 数 👩‍🚀 a=b") == "ä – 数 👩‍🚀 a=b"
    assert printable("a\nb\udcff") == "a\\nb\\udcff"


def test_no_name_reaches_a_terminal_unescaped(tmp_path):
    rng = np.random.RandomState(0)
    x, y = f"x{HOSTILE}", np.arange(40) % 2
    frame = pd.DataFrame({x: rng.normal(size=40) + 3 * y, "z": rng.normal(size=40), "extra" + HOSTILE: 0.0})
    frame["label"] = np.where(y, f"yes{HOSTILE}", "no\r")
    table = tmp_path / f"t{HOSTILE.replace('/', '')}.csv"
    frame.to_csv(table, index=False)
    extra = ("--drop", "extra" + HOSTILE)
    out, _ = run("fit", table.name, "-t", "label", *extra, "-o", "m.holdfast", "--tune", "none", cwd=tmp_path)
    assert "\\x1b" in out
    run("audit", table.name, "-t", "label", *extra, "-o", "r", "--tune", "none", cwd=tmp_path)
    for command in ("predict", "certify", "attack"):
        out, err = run(command, "m.holdfast", table.name, cwd=tmp_path)
        assert "\\x1b" in out + err
        told, _ = run(command, "m.holdfast", table.name, "--json", cwd=tmp_path)
        assert f"yes{HOSTILE}" in json.loads(told).get("prediction", [f"yes{HOSTILE}"])
    run("audit", table.name, "-t", "nothing", cwd=tmp_path, code=1)
    run("predict", "m.holdfast", f"no{HOSTILE}.csv", cwd=tmp_path, code=1)
    run("predict", "m.holdfast", table.name, table.name, cwd=tmp_path, code=2)
    run("predict", f"--{HOSTILE}", cwd=tmp_path, code=2)
    run(f"no{HOSTILE}", cwd=tmp_path, code=2)
    assert not CONTROL & set((tmp_path / "r" / "report.md").read_text())
    run("report", "r", "-o", "again", cwd=tmp_path)


@pytest.fixture(scope="module")
def summary():
    return json.loads(json.dumps(summarise(audit("iris", tune="none", budget=50, explain=4))))


def places(value, path=()):
    """Every place in a JSON document."""
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, each in items:
        yield (*path, key)
        yield from places(each, (*path, key))


def put(summary, place, value):
    spoiled = copy.deepcopy(summary)
    inner = spoiled
    for key in place[:-1]:
        inner = inner[key]
    inner[place[-1]] = value
    return spoiled


MARKUP = "|x|<script>alert(1)</script>[a](javascript:b)\n# h\x1b[31m"


def test_no_cell_of_a_report_is_markdown(summary):
    """Text in every place; what renders must be escaped."""
    rng, rendered = random.Random(0), 0
    wanted = [p for p in places(summary) if p[0] in ("data", "verdict", "models", "predictions", "versions", "created")]
    for place in rng.sample(wanted, min(len(wanted), 300)):
        spoiled = put(summary, place, MARKUP)
        try:
            text = render_markdown(spoiled)
        except (TypeError, ValueError, KeyError, AttributeError):
            continue
        rendered += 1
        assert "<script" not in text
        assert "[a](" not in text
        assert "|x|" not in text
        assert "\n# h" not in text
        assert not CONTROL & set(text)
    assert rendered > 50


@pytest.mark.parametrize("seed", range(2))
def test_a_damaged_report_gets_one_sentence(summary, seed, tmp_path):
    rng = random.Random(seed)
    everywhere = list(places(summary))
    wrong = [None, "", "x", -1, 1e400, 10**400, [], {}, [[]], True, {"key": 1}, ["a"], 1e-320]
    for number in range(10):
        spoiled = put(summary, rng.choice(everywhere), rng.choice(wrong))
        said = "damaged"
        try:
            write_report(spoiled, tmp_path / f"{seed}-{number}")
        except ValueError as refused:
            said = str(refused)
        assert any(words in said for words in ("damaged", "has format", "not the summary"))


def test_a_damaged_report_at_the_command_line(summary, tmp_path):
    broken = {
        "missing": {k: v for k, v in summary.items() if k != "curve"},
        "words": put(summary, ("at_radius", "robust", "clean_error"), "x"),
        "list": [1, 2],
        "nothing": {"kind": "holdfast audit", "format": 2},
        "verdict": put(summary, ("verdict",), None),
    }
    for name, content in broken.items():
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
        _, err = run("report", f"{name}.json", "-o", f"out-{name}", cwd=tmp_path, code=1)
        assert err.count("\n") == 1
        assert not (tmp_path / f"out-{name}").exists()
    (tmp_path / "deep.json").write_text("[" * 100_000)
    run("report", "deep.json", cwd=tmp_path, code=1)


# -- the program ----------------------------------------------------------------------------------------------


@pytest.mark.skipif(not Path("/proc/self/maps").exists(), reason="reads from /proc how far imports have come")
@pytest.mark.parametrize("module", ["numpy", "scipy", "llvmlite"])
def test_ctrl_c_during_imports_shows_no_traceback(tmp_path, module):
    """The interpreter's own start cannot be helped; from the first large import on, one line is said."""
    with subprocess.Popen(
        [PROGRAM, "audit", "wdbc", "-o", "result"],
        cwd=tmp_path,
        env=ENVIRONMENT,
        stderr=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        maps = Path(f"/proc/{process.pid}/maps")
        while f"/{module}/" not in maps.read_text() and process.poll() is None:
            time.sleep(0.01)
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert (process.returncode, out) == (130, "")
    assert err == "holdfast: stopped; no file was left half-written.\n"
    assert list(tmp_path.iterdir()) == []


def test_bench_takes_the_options_of_its_help(tmp_path, monkeypatch):
    calls = []
    monkeypatch.setattr(
        bench.subprocess, "run", lambda call, **_: calls.append(call[3:]) or subprocess.CompletedProcess(call, 0)
    )
    run("bench", "--profile", "quick", "--sets", "iris", cwd=tmp_path)
    run("bench", "tables", cwd=tmp_path)
    run("bench", cwd=tmp_path)
    assert calls == [["run", "--profile", "quick", "--sets", "iris"], ["tables"], ["--help"]]
    parser = importlib.import_module("benchmarks.yang.__main__")._parser()
    assert parser.parse_args(calls[0]).profile == "quick"
