"""Labels match the classes of a model as users mean them, in threats, in y and in tables."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from holdfast import Threat, certify
from holdfast.auditing.prepare import match_labels
from holdfast.base.inputs import class_codes

CLASSES = {
    "whole": np.array([0, 1]),
    "floats": np.array([0.0, 1.0]),
    "bools": np.array([False, True]),
    "words": np.array(["0", "1"]),
    "words of floats": np.array(["0.0", "1.0"]),
    "objects": np.array([0, 1], dtype=object),
}
WRITTEN = [1, 1.0, True, "1", "1.0", np.int8(1), np.float32(1), np.bool_(True), np.str_("1")]
rng = np.random.default_rng(0)
X = rng.normal(size=(40, 2))


def fitted(classes):
    return LogisticRegression().fit(X, np.where(X[:, 0] > 0, classes[1], classes[0]))


@pytest.mark.parametrize("kind", CLASSES)
@pytest.mark.parametrize("label", WRITTEN, ids=repr)
def test_one_is_one_however_it_is_written(kind, label):
    codes, unknown = class_codes([label], CLASSES[kind])
    assert codes.tolist() == [1]
    assert not unknown


@pytest.mark.parametrize("kind", [kind for kind in CLASSES if kind != "objects"])
def test_certify_and_tables_read_labels_in_one_way(kind):
    model = fitted(CLASSES[kind])
    found = certify(model, X, threat=Threat(classes=[1.0]))
    np.testing.assert_array_equal(np.isinf(found.radius), model.predict(X) == CLASSES[kind][0])
    for y in (["0", "1"] * 20, [0.0, 1.0] * 20, pd.Series([False, True] * 20)):
        found = certify(model, X, y)
        np.testing.assert_array_equal(found.true, match_labels(model, y))
        np.testing.assert_array_equal(found.true, CLASSES[kind][[0, 1] * 20])


@pytest.mark.parametrize(
    ("classes", "labels", "codes"),
    [
        (["01", "1"], ["01", "1", 1], [0, 1, 1]),  # a leading zero is part of a word
        (["1", "1.0"], ["1", "1.0", 1.0, True], [0, 1, 1, -1]),  # as written; by value it is neither
        (["a", "b"], ["b", 1, None, np.nan], [1, -1, -1, -1]),
        ([0.5, 2.5], ["0.5", 2.5, "2.50", 2], [0, 1, -1, -1]),
        ([2**53, 2**53 + 1], [2**53 + 1, float(2**53)], [1, 0]),
    ],
)
def test_a_label_is_never_taken_for_another_class(classes, labels, codes):
    assert class_codes(labels, np.array(classes))[0].tolist() == codes


def test_labels_of_no_class_are_refused_in_one_sentence():
    with pytest.raises(ValueError, match=r"^2 of 4 labels in y, the first in row 1, .* \(0, 1\): 'x', 7\. Correct"):
        certify(fitted([0, 1]), X[:4], np.array([0, "x", 1, 7], dtype=object))
