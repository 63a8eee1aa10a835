"""The models compared, the verdict on them, and tables of which it must say what they are."""

import numpy as np
import pandas as pd
import pytest

import holdfast
from holdfast.auditing import candidates
from holdfast.auditing.candidates import CANDIDATES, Candidate
from holdfast.auditing.sections import data_distance
from holdfast.auditing.verdict import chance_of_accuracy, chance_of_difference, majority_scores, recommend, scores
from holdfast.datasets import read_table
from holdfast.datasets.checks import Repairs


def made(n, p, seed, gap=1.0, share=0.5):
    """Two classes of Gaussian rows, ``gap`` apart in the first column."""
    rng = np.random.default_rng(seed)
    y = (rng.random(n) < share).astype(int)
    X = rng.normal(size=(n, p))
    X[:, 0] += gap * y
    return pd.DataFrame(X, columns=[f"x{k}" for k in range(p)]).assign(y=np.where(y == 1, "failure", "fine"))


def verdict(frame, **options):
    result = holdfast.audit(frame, "y", tune="none", budget=100, explain=2, **options)
    return result, result.summary()


def test_a_rare_class_that_nobody_finds_is_said():
    frame = made(500, 3, 0, gap=0.2, share=0.02)
    result, summary = verdict(frame, models=["knn"])
    rows = (result.y_test == "failure").sum()
    assert all(own["worst"]["found"] == 0 for own in summary["scores"].values())
    told = summary["verdict"]["sentence"] + summary["verdict"]["detail"]
    assert f"of 'failure' it finds none of {rows} test rows" in told
    assert "Not worth it" in told
    assert summary["verdict"]["tone"] == "worse"
    assert summary["majority"]["certified"] >= summary["scores"]["knn"]["certified"]


def test_a_coin_toss_is_remarked():
    frame = made(60, 64, 1, gap=0.0)
    result, summary = verdict(frame, models=["logistic", "knn"])
    assert "Not worth it" in summary["verdict"]["sentence"]
    assert "no better than a guess" in summary["verdict"]["sentence"]
    assert [f.kind for f in result.findings] == ["few rows"]


def test_a_good_model_is_recommended_and_is_what_is_shipped(tmp_path):
    frame = made(300, 3, 2, gap=6.0)
    result, summary = verdict(frame)
    assert summary["verdict"]["sentence"].startswith(f"Use {result.methods[result.recommended]}: ")
    assert "always answering" in summary["verdict"]["sentence"]
    assert summary["recommended"] == result.recommended == recommend(result.scores())
    assert set(result.accuracies()) == {"logistic", "knn", "base", "robust", "majority"}
    assert next(iter(result.model().named_steps)) == "table"
    paths = holdfast.auditing.write_audit(result, tmp_path / "out")
    shipped = holdfast.load(paths["model"])
    X = frame.drop(columns="y").head(5)
    assert (shipped.predict(X) == result.model(result.recommended).predict(X)).all()


def test_german_lab_file(tmp_path):
    """Decimal commas are numbers that move, not words that are frozen."""
    rng = np.random.default_rng(0)
    sick = np.arange(80) % 2
    lines = [f"{v:.1f};{p:.0f};{'krank' if s else 'gesund'}".replace(".", ",") for v, p, s in
             zip(rng.normal(5, 0.5, 80) + sick, rng.normal(130, 9, 80), sick, strict=True)]  # fmt: skip
    (tmp_path / "labor.csv").write_text("\n".join(["hba1c;blutdruck;diagnose", *lines]))
    result = holdfast.audit(read_table(tmp_path / "labor.csv", "diagnose"), tune="none", models=["knn"], explain=0)
    assert not result.frozen.any()
    assert any("decimal commas" in note for note in result.notes)
    assert result.accuracies()["knn"]["median_radius"] < result.extent


def test_everything_frozen_but_noise_is_beyond_the_data():
    frame = made(120, 1, 3, gap=0.0)
    frame["cause"] = np.where(frame["y"] == "failure", "flu", "none")
    result, summary = verdict(frame.assign(x0=frame["x0"] * 1e-3), models=["logistic", "knn"])
    assert [f.kind for f in result.findings] == ["leak"]
    html = holdfast.report.render_html(summary)
    assert "beyond the data" in html
    assert "e+0" not in summary["predictions"]["knn"]["most"][0]["sentence"]


def test_rows_keep_their_numbers_and_names():
    frame = made(90, 3, 4, gap=4.0)
    frame.index = [f"patient {k}" for k in range(90)]
    frame.iloc[5, 0] = 80.0
    result, summary = verdict(frame, models=["knn"])
    for each in [*summary["predictions"]["knn"]["least"], *summary["predictions"]["knn"]["most"]]:
        assert each["id"] == f"patient {each['row'] - 1}"
        assert each["true"] == frame["y"].iloc[each["row"] - 1]
        assert len(each["neighbors"]) == 3
        votes = [frame["y"].iloc[v["row"] - 1] for v in each["neighbors"]]
        assert max(set(votes), key=votes.count) == each["prediction"]
        assert votes == [v["label"] for v in each["neighbors"]]
    train, test = set(result.train_rows), set(result.test_rows)
    assert len(train | test) == 90
    assert not train & test
    if 6 in test:
        assert [each["row"] for each in summary["far"]["rows"]] == [6]


def test_far_rows():
    rng = np.random.default_rng(0)
    train = rng.normal(size=(400, 3))
    found = data_distance(train, np.vstack([rng.normal(size=(50, 3)), [[30.0, 0, 0]]]))
    assert found.far[-1]
    assert found.far[:-1].mean() < 0.1


def test_repairs_and_duplicates():
    frame = made(120, 3, 5, gap=2.0)
    frame = pd.concat([frame, frame.head(30)], ignore_index=True)
    frame.loc[:2, "y"] = "rare"
    with pytest.raises(ValueError, match=r"The class rare has 3 rows.*--drop-small"):
        holdfast.audit(frame, "y", tune="none")
    result = holdfast.audit(
        frame, "y", tune="none", models=["knn"], repairs=Repairs(drop_small=True, drop_duplicates=True), explain=0
    )
    assert result.classes == ["failure", "fine"]
    assert len(result.y_train) + len(result.y_test) == 120
    assert result.findings == []


def test_dates_become_days_in_the_model_too(tmp_path):
    frame = made(120, 2, 6, gap=4.0)
    frame["seen"] = [f"2024-{1 + k % 12:02}-{1 + k % 28:02}" for k in range(120)]
    with pytest.raises(ValueError, match="--dates seen"):
        holdfast.audit(frame, "y", tune="none")
    result = holdfast.audit(frame, "y", tune="none", models=["knn"], dates=["seen"], explain=0)
    assert result.feature_names[-1] == "seen"
    assert 19_000 < result.X_test[:, -1].min() < 21_000
    model = holdfast.load(holdfast.save(result.model(), tmp_path / "m.holdfast"))
    assert set(model.predict(frame.drop(columns="y"))) == {"failure", "fine"}


def test_scores_by_hand():
    frame = made(80, 2, 7, gap=2.0)
    result = holdfast.audit(frame, "y", tune="none", models=["logistic"], explain=0)
    certificate, y = result.certificates["logistic"], result.y_test
    own = scores(certificate, y, 0.5)
    right = certificate.prediction == y
    proven = right & (certificate.radius > 0.5)
    assert own["certified"] == pytest.approx(certificate.certified_accuracy(y, 0.5))
    by_class = [proven[y == c].mean() for c in ("failure", "fine")]
    assert own["balanced_certified"] == pytest.approx(np.mean(by_class))
    assert own["worst"]["label"] == min(("failure", "fine"), key=lambda c: right[y == c].mean())
    assert majority_scores(np.array(["a", "a", "b"]), np.array(["a", "b", "b"]))["accuracy"] == pytest.approx(1 / 3)


def test_chances():
    y = np.array(["a", "b"] * 20)
    assert chance_of_accuracy(y, y) < 0.01
    assert chance_of_accuracy(np.array(["a"] * 40), y) == 1.0
    first, second = np.arange(40) < 20, np.arange(40) < 30
    assert chance_of_difference(first, second) == pytest.approx(2 * 0.5**10)
    assert chance_of_difference(first, first) == 1.0


def test_a_further_candidate_is_one_line(monkeypatch):
    stump = Candidate("twin", "Twin of k-NN", "The same again.", CANDIDATES[1].fit)
    monkeypatch.setattr(candidates, "CANDIDATES", [*CANDIDATES, stump])
    result, summary = verdict(made(120, 2, 8, gap=3.5), models=["knn", "twin"])
    assert result.recommended == "knn"  # of equals the first
    assert summary["verdict"]["tone"] == "even"
    with pytest.raises(ValueError, match="models must be some of"):
        verdict(made(80, 2, 8), models=["forest"])
