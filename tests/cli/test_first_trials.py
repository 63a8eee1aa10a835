"""What a new user tries first, with small tables made here; and where each trial of a review by such a user is held.

The review ran some 60 tables and the API of every day. Its trials by section, and the tests that hold each (a name
alone is of this file):

1.1 every quick-start command, `make demo`, `make docs`: tests/docs/test_pages.py, tests/examples, .ci/run
1.2 the first run says that it compiles: tests/_core/test_compiling.py;
    cli/test_cli.py::test_signs_of_life_without_a_terminal
1.3 what half a standard deviation means: test_a_distance_is_explained_as_the_quick_start_does
1.4 missing words are told: test_notes_and_verdict
1.5 the example of `bench`: adversary/test_tables.py::test_bench_takes_the_options_of_its_help
1.6 `--help` in full sentences: test_help_is_not_cut_off
2.1 German CSV: auditing/test_candidates.py::test_german_lab_file, datasets/test_formats.py
2.2 thousands, currencies, percents: datasets/test_formats.py, datasets/test_checks.py (income, rate)
2.3 latin-1, UTF-16: datasets/test_formats.py::test_encodings_are_found
2.4 BOM, tsv, Parquet types, quoted newlines, HTML in names: datasets/test_table.py, test_strange_but_right_tables
2.5 gz, zip, feather, xlsx, pkl, JSON on one line: datasets/test_formats.py
2.6 imbalance 1:200: auditing/test_candidates.py::test_a_rare_class_that_nobody_finds_is_said
2.7 majority and plain k-NN beside every number: cli/test_cli.py::test_audit, auditing/test_verdict.py
2.8 birthwt, chile, heating: verdicts: auditing/test_verdict.py
2.9 1e9 ± 1e-3; 1e30; scales from 1e-200 to 1e150: datasets/test_checks.py (offset, huge, vast)
2.10 a leak; radii beyond the data: datasets/test_checks.py, auditing/test_candidates.py::test_everything_frozen_…
2.11 duplicates, identifiers, `Unnamed: 0`, unique words: datasets/test_checks.py
2.12 binary and integer columns: datasets/test_checks.py (smoker, grade), test_whole_numbers_are_told_as_such
2.13 dates, several problems at once: datasets/test_checks.py, cli/test_cli.py::test_a_look_at_the_data
2.14 small classes: datasets/test_checks.py::test_repairs
2.15 42 raw warnings: test_no_raw_warnings, cli/test_cli.py::test_warnings_are_one_note
2.16 more columns than rows: a coin toss: test_a_coin_toss_in_many_columns,
    auditing/test_candidates.py::test_a_coin_toss_is_remarked
2.17 refusals that were good: cli/test_cli.py::test_every_kind_of_bad_input, datasets/test_table.py
2.18 large tables, 50 classes: auditing/test_run.py::test_large_data_are_thinned,
    auditing/test_summary.py::test_bounded_…
2.19 the same result from the same seed:
    adversary/test_tables.py::test_an_audit_depends_on_nothing_but_data_and_seed
2.20 the p-value at the terminal: test_notes_and_verdict
3.1 unseen categories, gaps in new rows: adversary/test_tables.py
3.2 out of distribution: test_rows_unlike_the_data_are_flagged
3.3 missing, extra, reordered columns; a word among numbers: adversary/test_tables.py, test_a_word_among_new_numbers
3.4 ids, row numbers, vote shares: cli/test_cli.py::test_predict, test_streams;
    auditing/test_candidates.py::test_rows_keep_…
3.5 streams, a reader that goes away, Ctrl-C: cli/test_cli.py
3.6 certifying the training rows: test_training_rows_are_noticed
4.1 columns in another order, a wrong reference: adversary/test_columns.py, adversary/test_reference.py
4.2 ColumnTransformer, imputers, unions, samplers: certificates/test_pipelines.py, cli/test_table_models.py
4.3 monotone steps; what is refused: certificates/lemmas/test_steps.py, certificates/test_certify.py
4.4 weights, Manhattan, radius, centroids, linear models: certificates/test_readers.py,
    lemmas/test_distances.py
4.5 GridSearchCV, FrozenEstimator: certificates/test_pipelines.py::test_searches_…
4.6 `frozen=` by name: test_python_of_every_day
4.7 `audit(df, "y")` in a notebook: test_python_of_every_day
4.8 certified accuracy of scikit-learn's k-NN as a score: test_python_of_every_day
4.9 index of a frame, nullable labels, polars: test_python_of_every_day, base/test_frames.py
4.10 `kneighbors` (scikit-learn's k-NN takes no `sample_weight`, nor does ours): test_who_voted
5.1 print headings, captions on a phone, theme, class table: report/test_browser.py
5.2 what columns do, not the diagonal of M: test_weights_of_columns_are_what_they_do
5.3 columns are counted as in the table: test_notes_and_verdict
5.4 terms explained: report/test_html.py
5.5 impossible values in moves: doctests of auditing/sections.py, test_whole_numbers_are_told_as_such
5.6 confusion matrix, subgroups, neighbours, row ids: test_the_report_has_what_was_missing
"""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.model_selection import cross_val_score
from sklearn.neighbors import KNeighborsClassifier, KNeighborsRegressor
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

import holdfast
from holdfast import CertifiedKNeighborsClassifier, certify
from holdfast.certificates.api import CertifiedAccuracy
from holdfast.datasets import read_table
from tests.cli.program import run

FAST = ("--tune", "none", "--explain", 0)
N = 120


def table(seed=0, n=N, gap=2.0):
    """A measurement that tells the class, one that does not, a code, a category, names of rows, gaps."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    frame = pd.DataFrame({
        "name": [f"r{k}" for k in range(n)], "useful": rng.normal(size=n) + gap * y, "noise": 100 * rng.normal(size=n),
        "rooms": rng.integers(1, 12, n), "sex": rng.choice(["f", "m"], n), "y": np.where(y, "ill", "well"),
    })  # fmt: skip
    frame.loc[::15, "sex"] = None
    return frame


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A table, new rows, and the audit of the table with what it printed."""
    folder = tmp_path_factory.mktemp("first")
    table().to_csv(folder / "t.csv", index=False)
    table(seed=1, n=6).dropna().drop(columns="y").to_csv(folder / "new.csv", index=False)
    done = run(
        "audit", "t.csv", "-t", "y", "--id", "name", "--models", "knn", "--models", "logistic", *FAST, cwd=folder
    )
    (folder / "said.txt").write_text(done.stdout)
    return folder


@pytest.fixture(scope="module")
def report(folder):
    return json.loads((folder / "t-audit" / "report.json").read_text())


def test_a_distance_is_explained_as_the_quick_start_does(folder):
    said = (folder / "said.txt").read_text()
    assert "over all columns together: 0.5 is half a deviation of one, or a quarter of each of four" in said


def test_help_is_not_cut_off(folder):
    said = run("--help", cwd=folder).stdout
    assert "..." not in said.split("Commands:")[1].split("Start with")[0]
    for command in ("audit", "fit", "predict", "certify", "attack", "explain", "report", "datasets", "bench"):
        own = run(command, "--help", cwd=folder).stdout
        assert "list[str]" not in own, command
        assert command in ("datasets", "bench") or "Examples:" in own


def test_notes_and_verdict(folder, report):
    said = (folder / "said.txt").read_text()
    assert "Missing words are a category of their own, (missing), in sex." in said
    assert "always " in said
    assert "(p " in said or "proves as much" in said
    assert "Worst class: of" in said
    assert report["data"]["n_columns"] == 4  # of the table, not of its encoding
    assert report["data"]["frozen"] == ["sex"]


def test_strange_but_right_tables(tmp_path):
    frame = table(n=20).assign(**{"<b>größe</b>": pd.array(range(20), dtype="Int64")})
    frame["flag"], frame["sex"] = pd.array([True, False] * 10, dtype="boolean"), frame["sex"].astype("category")
    frame.to_parquet(tmp_path / "t.parquet")
    found = read_table(tmp_path / "t.parquet", "y", drop=["name"])
    assert found.feature_names == ["useful", "noise", "rooms", "sex", "<b>größe</b>", "flag"]
    (tmp_path / "q.csv").write_text('a,"two\nlines",y\n' + '1,"x\ny",p\n2,z,q\n' * 4)
    found = read_table(tmp_path / "q.csv", "y")
    assert found.feature_names == ["a", "two\nlines"]
    assert found.X.iloc[0, 1] == "x\ny"


def test_whole_numbers_are_told_as_such(folder, report):
    changes = [c for model in report["predictions"].values() for row in model["least"] for c in row["changes"]]
    rooms = [change for change in changes if change["feature"] == "rooms"]
    assert rooms
    assert all(change["whole"] for change in rooms)
    sentences = " ".join(row["sentence"] for row in report["predictions"]["knn"]["least"])
    assert "towards" in sentences or "to about" in sentences


def test_no_raw_warnings(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(57, 3)), columns=list("abc")).assign(g=np.where(np.arange(57) % 8, "m", "f"))
    frame.to_csv(tmp_path / "few.csv", index=False)
    done = run("audit", "few.csv", "-t", "g", *FAST, cwd=tmp_path)
    assert "Warning" not in done.stderr + done.stdout
    assert done.stderr.count("\n") <= 1


def test_a_coin_toss_in_many_columns(tmp_path):
    rng = np.random.default_rng(0)
    frame = pd.DataFrame(rng.normal(size=(40, 60))).add_prefix("f").assign(y=np.arange(40) % 2)
    frame.to_csv(tmp_path / "wide.csv", index=False)
    done = run("audit", "wide.csv", "-t", "y", "--models", "knn", *FAST, cwd=tmp_path)
    assert "60 columns" in done.stdout
    assert "chance" in done.stdout
    assert "Not worth it" in done.stdout


def test_rows_unlike_the_data_are_flagged(folder):
    far = pd.read_csv(folder / "new.csv").assign(useful=lambda t: t["useful"] * 1e6)
    far.to_csv(folder / "far.csv", index=False)
    done = run("certify", "t-audit/models/knn.holdfast", "far.csv", "--id", "name", "-o", "far-out.csv", cwd=folder)
    assert "unlike what the model was trained on" in done.stdout
    assert pd.read_csv(folder / "far-out.csv")["far"].all()


def test_a_word_among_new_numbers(folder):
    (folder / "word.csv").write_text("useful,noise,rooms,sex\nhigh,1,2,f\n")
    for command in ("predict", "certify", "attack", "explain"):
        said = run(command, "t-audit/models/knn.holdfast", "word.csv", cwd=folder, code=1).stderr
        assert "'useful' has words instead of numbers in row 1 ('high')" in said
        assert "--categorical" not in said


def test_training_rows_are_noticed(folder):
    arguments = ("certify", "t-audit/models/knn.holdfast", "t.csv", "--allow-unknown", "--id", "name")
    assert "are training rows of this model" in run(*arguments, cwd=folder).stdout


def test_python_of_every_day():
    frame = table().set_index("name")
    X, y = frame[["useful", "noise"]], frame["y"]
    model = make_pipeline(StandardScaler(), KNeighborsClassifier(3)).fit(X[:80], y[:80])
    found = certify(model, X[80:], y[80:], frozen=["noise"])
    assert found.to_frame().index.tolist() == X.index[80:].tolist()
    moved = found.adversarial - X[80:].to_numpy()
    assert np.nanmax(np.abs(moved[:, 1])) == 0
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        scores = cross_val_score(model, X, y, scoring=CertifiedAccuracy(0.1), cv=3)
    assert np.isfinite(scores).all()
    result = holdfast.audit(frame, "y", tune="none", models=["knn"], explain=0)
    assert result.test_ids is not None
    assert result.test_ids[0].startswith("r")
    assert result._repr_html_().startswith("<iframe")
    with pytest.raises(TypeError, match="KNeighborsRegressor cannot be certified"):
        certify(KNeighborsRegressor().fit(X, np.arange(N)), X)


def test_who_voted():
    X = np.array([[0.0], [1.0], [5.0], [6.0]])
    ours = CertifiedKNeighborsClassifier(n_neighbors=2).fit(X, [0, 0, 1, 1])
    theirs = KNeighborsClassifier(2).fit(X, [0, 0, 1, 1])
    for mine, other in zip(ours.kneighbors([[0.4], [5.1]]), theirs.kneighbors([[0.4], [5.1]]), strict=True):
        np.testing.assert_allclose(mine, other)


def test_weights_of_columns_are_what_they_do(report):
    effects = report["effects"]
    for shares in effects["models"].values():
        by_name = dict(zip(effects["columns"], shares, strict=True))
        assert by_name["useful"] == max(shares)
    assert effects["frozen"][effects["columns"].index("sex")]


def test_the_report_has_what_was_missing(folder, report):
    n = report["data"]["n_test"]
    for model in ("knn", "logistic"):
        assert np.sum(report["confusion"][model]["counts"]) == n
        assert {"balanced_accuracy", "balanced_certified", "undecided", "worst"} <= set(report["scores"][model])
    assert {group["category"] for group in report["subgroups"]} == {"f", "m", "(missing)"}
    assert {"majority", "verdict", "findings"} <= set(report)
    first = report["predictions"]["knn"]["least"][0]
    assert first["id"] == f"r{first['row'] - 1}"  # traceable to the file
    assert len(first["neighbors"]) == 3
    page = (folder / "t-audit" / "report.html").read_text()
    for words in ("onfusion", "always ", first["id"]):
        assert words in page
