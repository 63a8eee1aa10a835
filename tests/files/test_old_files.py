"""Model files that version 0.1 wrote still load, and answer as they did."""

from importlib import import_module
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris

from holdfast import load
from holdfast.files.model_file import MOVED

FOLDER = Path(__file__).parents[1] / "data" / "models_0_1"
ROWS = load_iris(return_X_y=True)[0][::5]


@pytest.mark.parametrize("name", ["lmnn_pl", "scml", "prototypes", "capped", "sklearn"])
def test_a_model_of_0_1_answers_as_it_did(name):
    model = load(FOLDER / f"{name}.holdfast")
    expected = np.load(FOLDER / f"{name}.npy", allow_pickle=False)
    if hasattr(model, "predict"):
        np.testing.assert_array_equal(model.predict(ROWS), expected)
    else:
        np.testing.assert_allclose(model.transform(ROWS), expected, rtol=1e-12)


@pytest.mark.parametrize(("old", "new"), MOVED.items())
def test_a_moved_type_is_where_the_table_says(old, new):
    module, _, name = new.rpartition(".")
    assert getattr(import_module(module), name).__module__ == module
    assert old.startswith("holdfast.")
