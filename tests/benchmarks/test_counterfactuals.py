"""The benchmark of counterfactuals, on a few rows and without peers."""

import numpy as np
import pandas as pd
from sklearn.datasets import load_iris

from benchmarks.counterfactuals.__main__ import ours, summary
from benchmarks.counterfactuals.sets import MODELS, Split


def test_our_rows_are_valid_and_keep_the_limits():
    X, y = load_iris(return_X_y=True)
    X, y = X[50:], y[50:] - 1
    split = Split(X[::2], y[::2], X[1:9:2], np.array([True, True, True, False]))
    model = MODELS["knn1"]().fit(split.train, split.labels)
    lines = [{"set": "iris", "model": "knn1", **line} for line in ours(split, model, 0.01) + ours(split, model, 0.0)]
    table = pd.DataFrame(lines)
    assert table.valid[table.answer].all()
    assert (table.categories_changed[table.answer] == 0).all()
    found = summary(table).set_index("method")
    assert list(found.index) == ["holdfast", "holdfast_unrounded"]
    assert (found.closer_than_ours == 0).all()
    assert (found.limits_broken.fillna(0) == 0).all()
