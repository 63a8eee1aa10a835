from types import SimpleNamespace

import numpy as np

from holdfast.numerics.frames import with_names


def test_names_are_those_the_estimator_was_fitted_on():
    rows = np.ones((2, 2))
    assert with_names(rows, object()) is rows
    frame = with_names(rows, SimpleNamespace(feature_names_in_=["a", "b"]))
    assert list(frame.columns) == ["a", "b"]
    np.testing.assert_array_equal(frame.to_numpy(), rows)
