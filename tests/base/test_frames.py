from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from holdfast import CertifiedKNeighborsClassifier, CertifiedPrototypeClassifier, certify
from holdfast.base.inputs import as_pandas, with_names


def test_names_are_those_the_estimator_was_fitted_on():
    rows = np.ones((2, 2))
    assert with_names(rows, object()) is rows
    frame = with_names(rows, SimpleNamespace(feature_names_in_=["a", "b"]))
    assert list(frame.columns) == ["a", "b"]
    np.testing.assert_array_equal(frame.to_numpy(), rows)


@pytest.mark.parametrize(("kind", "numpy"), [("Int64", "i"), ("UInt8", "u"), ("boolean", "b")])
@pytest.mark.parametrize("model", [CertifiedKNeighborsClassifier(n_neighbors=1), CertifiedPrototypeClassifier()])
def test_nullable_labels_stay_what_they_are(kind, numpy, model):
    X, y = np.arange(8.0)[:, None], pd.Series([0, 1] * 4).astype(kind)
    fitted = clone(model).fit(X, y)
    assert fitted.classes_.dtype.kind == numpy
    assert certify(fitted, X, y).to_frame()["prediction"].dtype.kind == numpy


def test_tables_of_other_libraries():
    """As of polars: columns and to_pandas, no iloc."""

    class Other:
        columns = ("a",)

        def to_pandas(self):
            return pd.DataFrame({"a": [1.0]})

    frame = pd.DataFrame({"a": [1.0]})
    assert as_pandas(frame) is frame
    assert as_pandas(Other()).equals(frame)
    assert as_pandas([1]) == [1]
