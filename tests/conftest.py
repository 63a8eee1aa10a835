"""Data for the tests that need real sets, and no silent skipping where it matters."""

import os
from pathlib import Path

import numpy as np
import pytest
from hypothesis import settings
from sklearn.preprocessing import StandardScaler, normalize

from holdfast.selection import robust_classifier
from tests.sizes import FULL

settings.register_profile("holdfast", deadline=None, derandomize=True, max_examples=20)
settings.load_profile("holdfast")

UCI = ["australian", "breast_cancer", "ecoli", "fourclass", "haberman", "iris", "segment"]
UCI += ["sonar", "voting", "wdbc", "wine", "yeast", "credit"]


def folder() -> Path | None:
    """The folder HOLDFAST_DATA names, if it is there; in CI it must be."""
    path = os.environ.get("HOLDFAST_DATA")
    if path and Path(path).is_dir():
        return Path(path)
    if os.environ.get("CI") == "true":
        pytest.fail("HOLDFAST_DATA names no folder; in CI the data sets must be there.")
    return None


@pytest.fixture(scope="session", autouse=True)
def folds_are_made_once():
    """Searches of few rows make their folds once here, and three times at full size: a third of the time."""
    if FULL:
        yield
        return
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(robust_classifier, "_REPEATS", 1)
        yield


@pytest.fixture(scope="session")
def data_folder() -> Path:
    """The folder of data sets."""
    found = folder()
    if found is None:
        pytest.skip("HOLDFAST_DATA is not set: tests on the paper's data sets are left out")
    return found


@pytest.fixture(scope="session")
def local_cluster():
    """``local_cluster(n)``: a Dask cluster of n processes of one thread on this machine."""
    distributed = pytest.importorskip("distributed")

    def start(n_workers: int):
        return distributed.LocalCluster(
            n_workers=n_workers, threads_per_worker=1, memory_limit="1GB", dashboard_address=None
        )

    return start


@pytest.fixture(scope="session")
def paper_data(data_folder):
    """``paper_data(name)``: X, y as the paper prepares them, the whole set at once."""

    def load(name: str) -> tuple[np.ndarray, np.ndarray]:
        with np.load(data_folder / f"{name}.npz", allow_pickle=False) as file:
            X, y = file["X"].astype(np.float64), file["y"]
        X = np.where(np.isnan(X), 0.5, X)  # voting: neither yes nor no
        return normalize(StandardScaler().fit_transform(X)), y

    return load
