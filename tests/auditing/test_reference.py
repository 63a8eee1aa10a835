"""Rows that are said to be those of training: refused where they cannot be, doubted where they look strange."""

import numpy as np
import pandas as pd
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import MinMaxScaler, StandardScaler

import holdfast
from holdfast import CertifiedKNeighborsClassifier
from holdfast.datasets import TableEncoder
from tests.auditing.test_given_rows import COLUMNS, TEST, TRAIN, X, Y

LEARN, LABELS = X[TRAIN], Y[TRAIN]
WRONG = {
    "scaled": ((LEARN - LEARN.mean()) / LEARN.std(), LABELS),
    "other order": (LEARN[::-1], LABELS),
    "flipped": (LEARN, 1 - LABELS),
    "the test rows": (X[TEST], Y[TEST]),
    "more rows": (X, Y),
    "other columns": (LEARN[["b", "a", "c"]].set_axis(COLUMNS, axis=1), LABELS),
}


def audited(model, reference, X_test=X[TEST], y_test=Y[TEST]):
    return holdfast.audit(model=model, X=X_test, y=y_test, reference=reference, explain=0)


@pytest.mark.parametrize("wrong", sorted(WRONG))
@pytest.mark.parametrize(
    "model",
    [
        CertifiedKNeighborsClassifier(None, 1),
        CertifiedKNeighborsClassifier(None, 1, prune=0.5),
        make_pipeline(TableEncoder(), StandardScaler(), PCA(2), CertifiedKNeighborsClassifier(None, 3)),
        make_pipeline(StandardScaler(), KNeighborsClassifier(1)),
        make_pipeline(TableEncoder(), StandardScaler(), KNeighborsClassifier(3)),
    ],
    ids=["own", "pruned", "behind steps", "scikit-learn", "scikit-learn behind the encoder"],
)
def test_neighbours_are_compared_one_by_one(model, wrong):
    model.fit(LEARN, LABELS)
    with pytest.raises(ValueError, match=r"reference must be the|reference"):
        audited(model, WRONG[wrong])
    result = audited(model, (LEARN, LABELS))
    assert set(result.models) == {"yours", "logistic", "knn"}
    assert not any("reference" in note for note in result.notes)


LINEAR = make_pipeline(MinMaxScaler(), LogisticRegression(C=100.0)).fit(LEARN, LABELS)


@pytest.mark.parametrize("wrong", ["scaled", "flipped"])
def test_rows_that_the_model_does_not_know_are_refused(wrong):
    with pytest.raises(ValueError, match="it was not trained on the former"):
        audited(LINEAR, WRONG[wrong])


def test_the_right_rows_are_not_doubted():
    assert audited(LINEAR, (LEARN, LABELS)).notes == []


def test_rows_of_the_audit_among_those_of_training_are_counted():
    (note,) = audited(LINEAR, (X, Y)).notes
    assert note.startswith("30 of 30 rows of the audit are among those of reference")


def test_other_units_of_a_column_are_told():
    shifted = X[TEST].assign(b=X[TEST]["b"] * 100 + 5_000)
    notes = audited(LINEAR, (LEARN, LABELS), shifted).notes
    assert any("Column b has the median" in note and "check that both have the same units" in note for note in notes)


def test_another_deviation_than_the_scaler_of_the_model_is_told():
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(LEARN, LABELS)
    (note,) = audited(model, (LEARN[:50], LABELS[:50])).notes
    assert note.startswith("Column a has the standard deviation")
    assert audited(model, (LEARN, LABELS)).notes == []


def test_labels_are_counted():
    with pytest.raises(ValueError, match="one label for each row; got 60 and 50"):
        audited(LINEAR, (LEARN, LABELS[:50]))


def test_a_model_that_tells_no_classes_is_refused_by_name():
    from sklearn.linear_model import LinearRegression

    with pytest.raises(TypeError, match="LinearRegression cannot be certified"):
        audited(LinearRegression().fit(LEARN, LABELS), None)


def test_a_pipeline_of_one_step():
    assert audited(make_pipeline(LogisticRegression()).fit(LEARN, LABELS), (LEARN, LABELS)).notes == []


def test_rows_without_names():
    plain = make_pipeline(StandardScaler(), LogisticRegression()).fit(LEARN.to_numpy(), LABELS)
    result = audited(plain, (LEARN.to_numpy(), LABELS), X[TEST].to_numpy())
    assert result.feature_names == ["x0", "x1", "x2"]
    with pytest.raises(ValueError, match="The rows hold words"):
        audited(plain, None, X[TEST].assign(a="hill").to_numpy())
    with pytest.raises(ValueError, match="The rows have 2 columns, but the model takes 3"):
        audited(plain, None, pd.DataFrame(np.zeros((30, 2)), columns=["a", "b"]))
