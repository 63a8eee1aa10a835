"""The scale benchmark: its problem is the same at every size, its exponents are those of the numbers."""

import json

import numpy as np
import pytest

from benchmarks.speed import scale
from benchmarks.speed.scale_worker import clusters


def test_smaller_problems_are_the_first_rows_of_larger_ones():
    small, large = clusters(300), clusters(900)
    np.testing.assert_array_equal(small.X_train, large.X_train[:300])
    np.testing.assert_array_equal(small.y_train, large.y_train[:300])
    np.testing.assert_array_equal(small.X_test, large.X_test)
    assert set(large.y_train) == set(range(10))
    assert np.abs(large.X_train.std(axis=0) - 1.0).max() < 0.4


def test_exponents_are_slopes_of_logarithms():
    rows = [
        {"learner": "a", "rows": n, "mine_cpu_s": 3e-9 * n**2, "fit_cpu_s": 1e-4 * n, "problem": "x"}
        for n in (10_000, 100_000, 1_000_000)
    ]
    rows.append({"learner": "b", "rows": 10_000, "fit_cpu_s": 1.0})
    rows.append({"learner": "b", "rows": 100_000, "error": "It did not finish within 5 seconds."})
    first, second = scale.exponents(rows)
    assert first["mine_cpu_s"] == pytest.approx(2.0)
    assert first["fit_cpu_s"] == pytest.approx(1.0)
    assert "predict_cpu_s" not in first
    assert set(second) == {"learner", "problem"}  # one size has no slope


def test_what_does_not_finish_is_a_row(monkeypatch):
    row = scale.measure(0.01, task="fit", n=500)
    assert row["error"] == "It did not finish within 0.01 seconds."
    assert row["n"] == 500
    monkeypatch.setattr(scale.sys, "executable", "false")
    assert "error" in scale.measure(5.0, task="fit", n=500)
    assert json.dumps(row)
