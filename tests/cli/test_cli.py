"""The commands, in this process; streams, signals and the first start as the installed program."""

import contextlib
import json
import os
import pickle
import signal
import subprocess
import sys
import threading
import time
import zipfile

import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import load_iris

from holdfast._core.compiling import NOTICE
from holdfast.cli import app, progress
from holdfast.cli.options import Warnings
from tests.cli.program import ENVIRONMENT, PROGRAM, run, start


@pytest.fixture(scope="session")
def folder(tmp_path_factory):
    """A folder with a table of irises, one with the labels left out, and an audit of the first."""
    folder = tmp_path_factory.mktemp("cli")
    X, y = load_iris(return_X_y=True)
    frame = pd.DataFrame(X, columns=["sl", "sw", "pl", "pw"])
    frame["site"] = np.where(np.arange(150) % 2, "hill", "valley")
    frame["kind"] = np.array(["a", "b", "c"])[y]
    frame.iloc[:, :2] = frame.iloc[:, :2].mask(np.random.RandomState(0).rand(150, 2) < 0.02)
    frame.to_csv(folder / "flowers.csv", index=False)
    frame.drop(columns="kind").head(20).bfill().to_csv(folder / "new.csv", index=False)
    options = ("--target", "kind", "--draws", 2, "--budget", 200, "--explain", 3, "--out", "result")
    done = run("audit", "flowers.csv", *options, cwd=folder)
    (folder / "printed.txt").write_text(done.stdout)
    assert all(line.endswith(")") for line in done.stderr.splitlines())  # at most signs of life
    return folder


def files(folder):
    return sorted(str(p.relative_to(folder)) for p in folder.rglob("*"))


def test_audit(folder):
    printed = (folder / "printed.txt").read_text()
    for words in (
        "105 training rows",
        "(chosen)",
        "Plain k-NN",
        "always ",
        "Worst class",
        "Report: result/report.html",
    ):
        assert words in printed
    assert "frozen: site" in printed
    assert "filled with the median" in printed
    compared = [f"models/{key}.holdfast" for key in ("base", "knn", "logistic", "robust")]
    assert files(folder / "result") == [
        "model.holdfast",
        "models",
        *compared,
        "report.html",
        "report.json",
        "report.md",
    ]
    summary = json.loads((folder / "result" / "report.json").read_text())
    assert summary["data"]["frozen"] == ["site"]
    assert not [p for p in folder.iterdir() if p.name.startswith(".")]


def test_audit_replaces_only_when_told(folder):
    before = (folder / "result" / "report.json").read_bytes()
    options = ("audit", "flowers.csv", "-t", "kind", "-o", "result", "--tune", "none", "--explain", 2)
    done = run(*options, cwd=folder, code=1)
    assert "already there" in done.stderr
    assert (folder / "result" / "report.json").read_bytes() == before
    keep = folder / "result" / "mine.txt"
    keep.write_text("mine")
    done = run(*options, "--force", "--json", cwd=folder)
    told = json.loads(done.stdout)
    assert told["models"]["robust"]["certified"] <= told["models"]["robust"]["accuracy"]
    assert (folder / "result" / "report.json").read_bytes() != before
    assert keep.read_text() == "mine"
    keep.unlink()


def test_predict(folder):
    model = "result/model.holdfast"
    done = run("predict", model, "new.csv", cwd=folder)
    assert done.stdout.splitlines() == ["prediction", *["a"] * 20]
    run("predict", model, "new.csv", "--out", "labels.csv", cwd=folder)
    written = pd.read_csv(folder / "labels.csv")
    assert written["prediction"].tolist() == ["a"] * 20
    assert written["row"].tolist() == list(range(1, 21))
    assert written["share"].between(0.33, 1).all()
    assert "already there" in run("predict", model, "new.csv", "-o", "labels.csv", cwd=folder, code=1).stderr


def test_certify(folder):
    options = ("certify", "result/models/knn.holdfast", "flowers.csv", "--target", "kind", "--allow-unknown")
    done = run(*options, "--out", "certificates.parquet", cwd=folder)
    assert "certified accuracy" in done.stdout
    frame = pd.read_parquet(folder / "certificates.parquet")
    assert len(frame) == 150
    assert frame["row"].tolist() == list(range(1, 151))
    assert frame["far"].dtype == bool
    assert (frame["radius"] <= frame["upper"]).all()
    told = json.loads(run(*options, "--json", "--budget", 20, cwd=folder).stdout)
    assert told["rows"] == 150
    assert 0 < told["certified_accuracy"] <= told["hold"]


def test_attack(folder):
    done = run("attack", "result/model.holdfast", "flowers.csv", "--allow-unknown", "--out", "moved.csv", cwd=folder)
    assert "becomes" in done.stdout
    frame = pd.read_csv(folder / "moved.csv")
    assert (frame["prediction"] != frame["changed_to"])[np.isfinite(frame["size"])].all()
    told = json.loads(run("attack", "result/model.holdfast", "new.csv", "--json", cwd=folder).stdout)
    assert len(told["adversarial"]) == 20


def test_streams(folder):
    """Standard input and output, names of rows, and a reader that goes away."""
    text = (folder / "new.csv").read_text().splitlines()
    named = "\n".join([f"plant,{text[0]}", *(f"p{k},{line}" for k, line in enumerate(text[1:]))])
    done = run("predict", "result/model.holdfast", "-", "--id", "plant", "--out", "-", cwd=folder, input=named)
    lines = done.stdout.splitlines()
    assert lines[0].startswith("row,id,prediction")
    assert lines[1].startswith("1,p0,a")
    assert len(lines) == 21
    pipe = f"set -o pipefail; '{PROGRAM}' certify result/model.holdfast new.csv --out - | head -1"
    done = subprocess.run(["bash", "-c", pipe], cwd=folder, env=ENVIRONMENT, capture_output=True, text=True)
    assert (done.returncode, done.stdout.split(",")[0]) == (0, "row")
    assert "Traceback" not in done.stderr
    assert "Broken" not in done.stderr


def test_a_look_at_the_data(folder):
    done = run("audit", "flowers.csv", "-t", "kind", "--check", cwd=folder)
    assert "150 rows" in done.stdout
    frame = pd.read_csv(folder / "flowers.csv").assign(plant=[f"p{k}" for k in range(150)], seen="2024-01-31")
    frame.loc[::2, "seen"] = "2024-02-01"
    frame.to_csv(folder / "ids.csv", index=False)
    told = json.loads(run("audit", "ids.csv", "-t", "kind", "--check", "--json", cwd=folder).stdout)
    assert [f["flag"] for f in told["findings"]] == ["--drop plant", "--dates seen"]
    done = run("audit", "ids.csv", "-t", "kind", "-o", "ids", cwd=folder, code=1)
    assert "All at once: --drop plant --dates seen" in done.stderr


def test_audit_of_a_model(folder):
    done = run("audit", "--model", "result/model.holdfast", "flowers.csv", "-t", "kind", "-o", "used",
               cwd=folder, code=1)  # fmt: skip
    assert "has no value" in done.stderr
    labelled = pd.read_csv(folder / "flowers.csv").dropna().to_csv(index=False)
    (folder / "whole.csv").write_text(labelled)
    done = run("audit", "--model", "result/model.holdfast", "whole.csv", "-t", "kind", "-o", "used",
               "--reference", "flowers.csv", "--explain", 2, "--json", cwd=folder)  # fmt: skip
    told = json.loads(done.stdout)
    assert set(told["models"]) == {"yours", "logistic", "knn", "majority"}
    assert files(folder / "used") == ["report.html", "report.json", "report.md"]


def test_warnings_are_one_note(capsys):
    gathered = Warnings()
    for text in ("a", "b", "a", "a"):
        gathered(text, UserWarning, "x.py", 1)
    gathered.print_note()
    assert capsys.readouterr().err == "holdfast: note: a (3 more warnings, 2 different)\n"


def test_signs_of_life_without_a_terminal(capsys):
    with progress.lines_every(0.05) as report:
        report("Training", 3, 7)
        time.sleep(0.3)
    lines = capsys.readouterr().err.splitlines()
    assert 1 <= len(lines) <= 6
    assert lines[-1].startswith("holdfast: Training, 3 of 7 (")


def test_the_rest_is_estimated():
    now = 0
    pace = progress.Pace(lambda: now)
    now = 4
    assert pace.line() == "Starting (4 s)"
    pace.report("Training: LMNN", 0, 1)
    now = 10
    assert pace.line() == "Training: LMNN (10 s; 6 s of it in this step)"
    pace.report("Certifying", 0, 100)
    now = 18
    pace.report("Certifying", 25, 100)
    assert pace.line() == "Certifying, 25 of 100 (18 s; about 24 s left)"
    now = 20
    assert pace.rest() == "about 30 s left"  # it grows while nothing moves
    pace.report("Certifying", 25, 1000)
    assert pace.rest() == "about 6 min left"
    pace.report("Certifying", 1000, 1000)
    assert pace.line() == "Certifying, 1000 of 1000 (20 s)"


def test_an_audit_is_never_silent(folder, monkeypatch, tmp_path):
    """Every stage that takes long is on some line, its count moves, and the rest is estimated."""
    monkeypatch.setattr(progress, "_SECONDS_BETWEEN_LINES", 0.05)
    monkeypatch.setattr(progress, "_SECONDS_SEEN", 0.0)
    reports, report = [], progress.Pace.report
    monkeypatch.setattr(progress.Pace, "report", lambda self, *args: (reports.append(args), report(self, *args))[1])
    options = ("--target", "kind", "--draws", 2, "--budget", 200, "--explain", 8, "--out", tmp_path / "result")
    lines = run("audit", "flowers.csv", *options, cwd=folder).stderr.splitlines()
    assert any("; about " in line and line.endswith(" left)") for line in lines)
    counts = {stage: [done for each, done, _ in reports if each == stage] for stage, *_ in reports}
    assert len(set(counts["Choosing a model"])) > 15  # of the trials, as they end
    assert all(done == sorted(done) for done in counts.values())
    explained = next(done for stage, done in counts.items() if stage.startswith("Explaining"))
    assert explained == [0, 4, 8, 8, 12, 16]
    assert {"Training what was chosen", "Writing the report"} <= set(counts)
    times = [float(line.rsplit("(", 1)[1].split(" s")[0]) for line in lines]
    assert max(np.diff(times), default=0.0) <= 5


@pytest.mark.parametrize(
    "command", [["certify"], ["attack"], ["explain", "--target", "b"]], ids=lambda command: command[0]
)
def test_rows_are_counted(folder, monkeypatch, command):
    reports = []
    monkeypatch.setattr(progress.Pace, "report", lambda self, *args: reports.append(args))
    run(command[0], "result/model.holdfast", "new.csv", *command[1:], "--budget", 100, cwd=folder)
    assert reports[0][1:] == (0, 20)
    assert reports[-1][1:] == (20, 20)


def test_certify_says_whose_budget_ended_and_what_stays(folder):
    run("fit", "flowers.csv", "--target", "kind", "--out", "kinds.holdfast", "--tune", "none", cwd=folder)
    asked = ("certify", "kinds.holdfast", "new.csv", "--radius", 0.3)
    said = run(*asked, "--budget", 0, cwd=folder).stdout
    assert "hold against any move up to 0.3 that leaves site (words) as it is." in said
    assert "The budget ended the search for " in said
    assert "--budget 1000." in said
    told = json.loads(run(*asked, "--budget", 0, "--json", cwd=folder).stdout)
    assert told["frozen"] == {"site": "words"}
    assert told["budget_ended"] == sum(told["certificates"]["budget_ended"]) > 0
    assert "The budget ended" not in run(*asked, cwd=folder).stdout


def test_fit(folder):
    done = run("fit", "iris", "--out", "iris.holdfast", "--tune", "none", cwd=folder)
    assert "tau 1" in done.stdout
    told = run("predict", "iris.holdfast", "iris", "--json", cwd=folder)
    assert json.loads(told.stdout)["prediction"][0] == "setosa"


def test_report(folder):
    run("report", "result", "--out", "again", cwd=folder)
    assert files(folder / "again") == ["report.html", "report.json", "report.md"]
    assert "--force" in run("report", "result", cwd=folder, code=1).stderr
    assert json.loads(run("report", "result/report.json", "--json", cwd=folder).stdout)["kind"] == "holdfast audit"
    (folder / "cut.json").write_text((folder / "result" / "report.json").read_text()[:500])
    assert "damaged" in run("report", "cut.json", cwd=folder, code=1).stderr


def test_datasets(folder):
    rows = json.loads(run("datasets", "--json", cwd=folder).stdout)
    assert {"wine": "built in", "sonar": "OpenML", "fourclass": "needs a file"}.items() <= {
        row["name"]: row["from"] for row in rows
    }.items()
    assert "australian" in run("datasets", cwd=folder).stdout


def test_help_and_usage(folder):
    told = run("--help", cwd=folder).stdout
    for command in ("audit", "fit", "predict", "certify", "attack", "report", "datasets", "bench"):
        assert f"  {command} " in told
    assert "holdfast audit wine" in run("audit", "--help", cwd=folder).stdout
    assert "No such option" in run("audit", "wine", "--nonsense", cwd=folder, code=2).stderr
    run("predict", cwd=folder, code=2)
    assert start("--version", cwd=folder).stdout.startswith("holdfast 0.")
    assert "no file nowhere.csv" in start("audit", "nowhere.csv", "-t", "kind", cwd=folder, code=1).stderr


def test_bench_outside_a_checkout_or_within(folder, capfd):
    run("bench", "--help-bench", cwd=folder)
    assert "benchmarks.yang" in capfd.readouterr().out  # a process of its own writes there


def write_bad(folder):
    """One file for each kind of bad input: name -> (arguments, what is said)."""
    text = (folder / "flowers.csv").read_text()
    lines = text.splitlines()
    (folder / "empty.csv").write_text("")
    (folder / "header.csv").write_text(lines[0] + "\n")
    (folder / "text.csv").write_text(text.replace(lines[9], "oops" + lines[9][3:]))
    (folder / "one.csv").write_text("\n".join([lines[0], *(x for x in lines if x.endswith(",a"))]))
    (folder / "nan.csv").write_text(text.replace(lines[5], lines[5][:-1]))
    (folder / "pickle.holdfast").write_bytes(pickle.dumps({"a": 1}))
    (folder / "cut.holdfast").write_bytes((folder / "result" / "model.holdfast").read_bytes()[:5000])
    with zipfile.ZipFile(folder / "bomb.holdfast", "w", zipfile.ZIP_DEFLATED) as file:
        file.writestr("schema.json", bytes(2**24))
    with open(folder / "huge.csv", "wb") as file:
        file.truncate(2**31)
    (folder / "short.csv").write_text("sl,sw\n1,2\n")
    (folder / "file").write_text("")


BAD = {
    "missing file": (("audit", "nowhere.csv", "-t", "kind"), "no file nowhere.csv"),
    "wrong column": (("audit", "flowers.csv", "-t", "sort"), "no column 'sort'"),
    "empty table": (("audit", "empty.csv", "-t", "kind"), "empty.csv is empty"),
    "no rows": (("fit", "header.csv", "-t", "kind", "-o", "x"), "no rows"),
    "text among numbers": (("audit", "text.csv", "-t", "kind"), "row 9 says 'oops"),
    "stdin and a file": (("audit", "-", "-t", "kind"), "standard input is empty"),
    "one class": (("fit", "one.csv", "-t", "kind", "-o", "x"), "a in every row"),
    "nan target": (("audit", "nan.csv", "-t", "kind"), "have no 'kind', the first is row 5"),
    "2 GB": (("audit", "huge.csv", "-t", "kind"), "Take a sample"),
    "unknown name": (("audit", "whine"), "neither a file nor the name"),
    "negative radius": (("audit", "iris", "--radius", "-1"), "radius must be"),
    "wrong tuning": (("audit", "iris", "--tune", "well"), "tune must be one of"),
    "pickle": (("predict", "pickle.holdfast", "new.csv"), "Pickles are never loaded"),
    "cut model": (("certify", "cut.holdfast", "new.csv"), "cut short"),
    "zip bomb": (("attack", "bomb.holdfast", "new.csv"), "compressed"),
    "no model": (("predict", "nowhere.holdfast", "new.csv"), "no model file"),
    "lacks columns": (("predict", "result/model.holdfast", "short.csv"), "lacks the columns 'pl', 'pw', 'site'"),
    "wrong label column": (("certify", "result/model.holdfast", "new.csv", "-t", "kind"), "no column 'kind'"),
    "out is a file": (("audit", "iris", "-o", "file"), "is a file"),
    "out in no folder": (("fit", "iris", "-o", "no/where"), "no folder no"),
    "no report": (("report", "nowhere"), "no file nowhere"),
}


def test_every_kind_of_bad_input(folder):
    write_bad(folder)
    before = files(folder)
    for kind, (arguments, words) in BAD.items():
        done = run(*arguments, cwd=folder, code=1)
        assert words in done.stderr, (kind, done.stderr)
        assert done.stderr.startswith("holdfast: "), kind
        assert done.stderr.count("\n") == 1, kind
        assert files(folder) == before, kind


def test_traceback_on_request(folder, monkeypatch):
    """The exception leaves the program, so the interpreter shows where it was raised."""
    monkeypatch.chdir(folder)
    monkeypatch.setenv("HOLDFAST_DEBUG", "1")
    monkeypatch.setattr(sys, "argv", ["holdfast", "audit", "nowhere.csv", "-t", "x"])
    with pytest.raises(FileNotFoundError, match=r"no file nowhere\.csv"):
        app.run()


class _Screen(threading.Thread):
    """Reads a terminal until it is closed, as a terminal does: a program that writes must never have to wait."""

    def __init__(self, ours: int):
        super().__init__(daemon=True)
        self._ours, self.seen = ours, ""
        self.start()

    def run(self):
        with contextlib.suppress(OSError):  # a closed terminal
            while more := os.read(self._ours, 4096).decode(errors="replace"):
                self.seen += more


@pytest.mark.parametrize(("how", "code"), [(signal.SIGKILL, -9), (signal.SIGINT, 130)])
def test_a_stopped_audit_leaves_no_report(tmp_path, how, code):
    """On a terminal there are progress bars; once they are seen, the program is stopped."""
    ours, theirs = os.openpty()
    screen = _Screen(ours)
    with subprocess.Popen(
        [PROGRAM, "audit", "wdbc", "--out", "result"],
        cwd=tmp_path,
        env={**ENVIRONMENT, "TERM": "xterm"},
        stderr=theirs,
        stdout=subprocess.PIPE,
        text=True,
        # Where the tests run in the background Ctrl-C is ignored, and what is started here would ignore it too.
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
    ) as process:
        os.close(theirs)
        while "Tuning LMNN" not in screen.seen and process.poll() is None:
            time.sleep(0.05)
        process.send_signal(how)
        process.communicate()
    screen.join(10)
    os.close(ours)
    assert process.returncode == code
    assert list(tmp_path.iterdir()) == []
    assert "Traceback" not in screen.seen
    assert ("half-written" in screen.seen) == (how == signal.SIGINT)


@pytest.mark.parametrize("certifies", [True, False])
def test_compiling_is_announced_on_a_terminal_only(monkeypatch, capsys, certifies):
    assert progress._compiling_notice(certifies) in (None, NOTICE)
    monkeypatch.setattr(progress, "_compiling_notice", lambda certifies: NOTICE)
    for force, quiet in (("", False), ("1", True), ("1", False)):
        monkeypatch.setenv("FORCE_COLOR", force)  # what rich takes for a terminal
        with progress.progress_bars(quiet, certifies):
            pass
        assert (NOTICE in capsys.readouterr().err) == (force == "1" and not quiet)
