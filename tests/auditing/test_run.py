import numpy as np
import pandas as pd
import pytest
from sklearn.datasets import make_classification

from holdfast import load, save
from holdfast.auditing.prepare import attack_table, certify_table, match_labels, predict_table, subsample, to_matrix
from holdfast.auditing.run import audit, train
from holdfast.datasets import read_table
from holdfast.selection.families import FAMILIES


@pytest.fixture(scope="module")
def mixed(tmp_path_factory):
    """A table with numbers, holes, words, and a constant column."""
    X, y = make_classification(150, 4, n_informative=3, n_redundant=1, random_state=0)
    frame = pd.DataFrame(X * [1, 10, 100, 1] + 5, columns=["a", "b", "c", "d"])
    frame.loc[::10, "b"] = None
    frame["colour"] = np.where(np.random.RandomState(0).rand(150) < 0.5, "red", "blue")
    frame["same"] = 1
    frame["label"] = np.where(y == 1, "yes", "no")
    path = tmp_path_factory.mktemp("mixed") / "mixed.csv"
    frame.to_csv(path, index=False)
    return path


@pytest.fixture(scope="module")
def result(mixed):
    return audit(read_table(mixed, "label"), tune="certified", n_draws=3, radius=0.3, explain=4)


def test_result_is_whole(result):
    assert result.feature_names == ["a", "b", "c", "d", "colour=blue", "colour=red"]
    assert result.frozen.tolist() == [False] * 4 + [True] * 2
    assert len(result.X_train) + len(result.X_test) == 150
    assert result.classes == ["no", "yes"]
    assert result.settings["robust"]["family"] in FAMILIES
    assert result.settings["class_weight"] is None
    assert result.methods["robust"].endswith(" (chosen)")
    assert len(result.data_hash) == 64
    notes = " ".join(result.notes)
    assert "15 missing numbers" in notes
    assert "frozen: colour" in notes
    assert "same" in notes
    for each in result.accuracies().values():
        assert each["certified"] <= each["attacked"] <= each["accuracy"]


def test_certificates_are_in_deviations_and_leave_categories_alone(result):
    for which, certificate in result.certificates.items():
        found = np.isfinite(certificate.upper)
        assert found.any()
        move = certificate.adversarial[found] - result.X_test[found]
        assert (move[:, result.frozen] == 0).all()
        np.testing.assert_allclose(np.linalg.norm(move / result.scale, axis=1), certificate.upper[found], rtol=1e-6)
        assert (certificate.radius <= certificate.upper).all()
        changed = result.models[which].predict(certificate.adversarial[found])
        assert (changed != certificate.prediction[found]).all()
        assert "standard deviations" in certificate.units


def test_saved_model_takes_the_table(result, mixed, tmp_path):
    model = load(save(result.model("robust"), tmp_path / "m.holdfast"))
    frame = pd.read_csv(mixed)
    with pytest.raises(ValueError, match="column 'b' has no value in"):
        predict_table(model, frame)
    with pytest.raises(ValueError, match="column 'b' has no value in"):
        model.predict(frame)
    model.set_params(table__allow_unknown=True)
    assert (predict_table(model, frame, allow_unknown=True) == model.predict(frame)).all()
    y = match_labels(model, frame["label"])
    certificate = certify_table(model, frame.head(20), y[:20], allow_unknown=True)
    attacked = attack_table(model, frame.head(20), allow_unknown=True)
    assert (certificate.radius <= attacked.size + 1e-12).all()
    rows = to_matrix(model, frame.head(20), allow_unknown=True)
    held = ~np.isnan(attacked.adversarial).any(axis=1)
    assert (attacked.adversarial[held][:, 4:6] == rows[held][:, 4:6]).all()
    with pytest.raises(ValueError, match="none of the model's classes"):
        match_labels(model, ["maybe"])


def test_same_seed_same_audit(mixed, result):
    again = audit(read_table(mixed, "label"), n_draws=3, radius=0.3, explain=0, n_jobs=1)
    assert again.settings == result.settings
    np.testing.assert_array_equal(again.X_test, result.X_test)
    for key, certificate in result.certificates.items():
        np.testing.assert_allclose(again.certificates[key].radius, certificate.radius)


@pytest.mark.parametrize("tune", ["accuracy", "none"])
def test_other_tunings(tune):
    stages = []
    found = audit("iris", tune=tune, n_draws=3, explain=2, progress=lambda stage, done, total: stages.append(stage))
    assert found.accuracies()["robust"]["accuracy"] > 0.85
    assert "malic" not in found.feature_names
    assert any("Certifying" in stage for stage in stages)


def test_large_data_are_thinned(monkeypatch):
    monkeypatch.setattr("holdfast.auditing.run.MAX_TRAIN_ROWS", 60)
    monkeypatch.setattr("holdfast.auditing.run.MAX_TEST_ROWS", 20)
    found = audit("iris", tune="none", explain=0)
    assert len(found.X_train) == 60
    assert len(found.X_test) == 21
    assert any("60 of 105 training rows" in note for note in found.notes)
    counts = np.unique(found.y_train, return_counts=True)[1]
    assert counts.tolist() == [20, 20, 20]


def test_subsample_keeps_rare_classes():
    y = np.repeat([0, 1], [1000, 8])
    kept = subsample(y, 100, 0)
    assert (y[kept] == 1).sum() == 6
    assert len(kept) < 120
    assert (subsample(y, 5000, 0) == np.arange(1008)).all()


def test_bad_settings(mixed, tmp_path):
    for options, match in (
        ({"radius": -1}, "radius must be a number above 0"),
        ({"radius": float("nan")}, "radius"),
        ({"tune": "well"}, "tune must be one of"),
        ({"n_neighbors": 0}, "n_neighbors"),
        ({"test_size": 1.5}, "test_size"),
        ({"test_size": 0.001}, "too few rows"),
        ({"budget": -1}, "budget"),
    ):
        with pytest.raises(ValueError, match=match):
            audit("iris", **options)
    frame = pd.DataFrame({"a": range(20), "word": ["u", "v"] * 10, "y": [0] * 17 + [1] * 3})
    frame.to_csv(tmp_path / "rare.csv", index=False)
    with pytest.raises(ValueError, match="The class 1 has 3 rows"):
        audit(tmp_path / "rare.csv", "y")
    with pytest.raises(ValueError, match="The class 1 has 3 rows"):
        train(tmp_path / "rare.csv", "y")
    frame.assign(y=[0, 1] * 10).drop(columns="a").to_csv(tmp_path / "words.csv", index=False)
    with pytest.raises(ValueError, match="Every column holds categories"):
        audit(tmp_path / "words.csv", "y")


def test_train_takes_all_rows():
    model, settings, notes = train("iris", tune="none")
    assert model[-1].reference_.shape == (150, 4)
    assert settings["perturbation__tau"] == 1.0
    assert notes == []
    assert set(model.classes_) == {"setosa", "versicolor", "virginica"}
