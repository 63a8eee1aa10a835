import os
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pandas as pd
import pytest

from holdfast import load_dataset
from holdfast.datasets import CATALOGUE

BUILT_IN = [name for name, entry in CATALOGUE.items() if entry.builtin]


@pytest.fixture(autouse=True)
def no_folder(monkeypatch):
    monkeypatch.delenv("HOLDFAST_DATA", raising=False)


@pytest.mark.parametrize("name", BUILT_IN)
def test_built_in(name):
    found = load_dataset(name)
    assert found.X.shape == CATALOGUE[name].shape
    assert len(found.feature_names) == found.X.shape[1]
    assert len(found.target_names) == len(np.unique(found.y)) == len(np.unique(found.labels))
    assert found.source.startswith("scikit-learn")


@pytest.mark.parametrize("name", list(CATALOGUE))
def test_the_paper_folder(name, data_folder):
    if max(CATALOGUE[name].shape[0] * CATALOGUE[name].shape[1], 0) > 10_000_000:
        pytest.skip("large")
    found = load_dataset(name, data_folder)
    assert found.X.dtype == np.float64
    assert name == "aps" or not np.isnan(found.X).any()
    if name == "voting":
        assert set(np.unique(found.X)) == {0.0, 0.5, 1.0}
    if name == "ecoli":
        assert found.X.max() > 50  # KEEL's values


def test_counts_of_the_catalogue_agree():
    assert sum(entry.paper for entry in CATALOGUE.values()) == 16
    for name, entry in CATALOGUE.items():
        assert sum(entry.counts) == entry.shape[0], name
        assert list(entry.counts) == sorted(entry.counts, reverse=True), name


def test_unknown_name():
    with pytest.raises(ValueError, match=r"no data set named 'whine'.*wine"):
        load_dataset("whine")


def test_folder_goes_first_and_variable_counts(tmp_path, monkeypatch):
    found = load_dataset("iris")
    np.savez(tmp_path / "iris.npz", X=found.X + 1, y=found.y)
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path))
    assert load_dataset("iris").X[0, 0] == found.X[0, 0] + 1
    assert load_dataset("wine").source.startswith("scikit-learn")  # not in the folder
    monkeypatch.setenv("HOLDFAST_DATA", str(tmp_path / "nowhere"))
    with pytest.raises(FileNotFoundError, match="HOLDFAST_DATA"):
        load_dataset("iris")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_tables_in_the_folder(tmp_path, suffix):
    found = load_dataset("iris")
    frame = pd.DataFrame(found.X, columns=found.feature_names)
    frame["target"] = found.labels
    if suffix == "csv":
        frame.to_csv(tmp_path / "iris.csv", index=False)
    else:
        frame.to_parquet(tmp_path / "iris.parquet")
    read = load_dataset("iris", tmp_path)
    np.testing.assert_allclose(read.X, found.X)
    assert read.target_names == ["setosa", "versicolor", "virginica"]
    frame = frame.rename(columns={"target": "what"})
    if suffix == "csv":
        frame.to_csv(tmp_path / "iris.csv", index=False)
    else:
        frame.to_parquet(tmp_path / "iris.parquet")
    with pytest.raises(ValueError, match="no column named y, target, class"):
        load_dataset("iris", tmp_path)


def test_wrong_contents(tmp_path):
    found = load_dataset("iris")
    path = tmp_path / "iris.npz"
    np.savez(path, X=found.X[:-1], y=found.y[:-1])
    with pytest.raises(ValueError, match=r"shape \(149, 4\), but should have \(150, 4\)"):
        load_dataset("iris", tmp_path)
    np.savez(path, X=found.X, y=np.arange(150) % 2)
    with pytest.raises(ValueError, match="class counts 0: 75, 1: 75"):
        load_dataset("iris", tmp_path)
    np.savez(path, X=found.X)
    with pytest.raises(ValueError, match="lacks the array y"):
        load_dataset("iris", tmp_path)
    np.savez(path, X=found.X, y=np.array([{}] * 150, dtype=object), allow_pickle=True)
    with pytest.raises(ValueError, match="Python objects"):
        load_dataset("iris", tmp_path)
    np.savez(path, X=np.zeros((10, 10)).astype(str), y=found.y[:10])
    with pytest.raises(ValueError, match="not numbers"):
        load_dataset("iris", tmp_path)


def test_damaged_file_is_told_and_left_alone(tmp_path):
    found = load_dataset("iris")
    path = tmp_path / "iris.npz"
    np.savez_compressed(path, X=found.X, y=found.y)
    whole = path.read_bytes()
    for broken in (whole[: len(whole) // 2], b"", b"hello", whole[:200] + bytes(100) + whole[300:]):
        path.write_bytes(broken)
        with pytest.raises(ValueError, match="damaged"):
            load_dataset("iris", tmp_path)
        assert os.listdir(tmp_path) == ["iris.npz"]


def test_no_source():
    with pytest.raises(FileNotFoundError, match=r"fourclass.npz.*HOLDFAST_DATA"):
        load_dataset("fourclass")


def test_offline(monkeypatch):
    def unreachable(**options):
        raise URLError("no network")

    monkeypatch.setattr("sklearn.datasets.fetch_openml", unreachable)
    with pytest.raises(ConnectionError, match=r"haberman .*OpenML \(set 43\).*no network.*Go online"):
        load_dataset("haberman")


def test_openml_votes(monkeypatch):
    asked = {}
    rng = np.random.RandomState(0)
    words = rng.choice(["y", "n", None], size=(435, 16))
    frame = pd.DataFrame(words, columns=[f"v{k}" for k in range(16)]).astype("category")
    target = pd.Series(["democrat"] * 267 + ["republican"] * 168, dtype="category")

    def fetch(**options):
        asked.update(options)
        return SimpleNamespace(data=frame, target=target)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch)
    found = load_dataset("voting")
    assert asked["data_id"] == 56
    assert set(np.unique(found.X)) == {0.0, 0.5, 1.0}
    assert found.target_names == ["democrat", "republican"]
    frame = frame.iloc[:-1]
    target = target.iloc[:-1]
    with pytest.raises(ValueError, match="voting from OpenML 56 has shape"):
        load_dataset("voting")


def test_openml_incomplete_rows_and_classes(monkeypatch):
    X = np.random.RandomState(0).rand(699, 9)
    X[:16, 3] = np.nan
    frame = pd.DataFrame(X)
    target = pd.Series(["a"] * 16 + ["benign"] * 444 + ["malignant"] * 239)
    monkeypatch.setattr("sklearn.datasets.fetch_openml", lambda **_: SimpleNamespace(data=frame, target=target))
    assert load_dataset("breast_cancer").X.shape == (683, 9)
    frame = pd.DataFrame(np.random.RandomState(0).rand(500, 8))
    target = pd.Series(["CYT"] * 463 + ["POX"] * 20 + ["ERL"] * 17)
    assert load_dataset("yeast").X.shape == (483, 8)
