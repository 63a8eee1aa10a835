"""What would have to change, of the rows that an audit explains; in the summary, in HTML and in Markdown."""

import json
import re
from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from sklearn.compose import ColumnTransformer
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from holdfast.auditing.explain import choose_rows, explain_rows
from holdfast.auditing.result import summarise
from holdfast.auditing.run import audit
from holdfast.report import render_html, render_markdown
from tests.auditing.conftest import IMG, SCRIPT


@pytest.fixture(scope="module")
def explained(audit_result):
    return replace(audit_result, explained=explain_rows(audit_result, 8, n_jobs=1))


def test_rows_of_both_ends_wrong_ones_and_others(audit_result):
    certificate, y = audit_result.certificates["base"], audit_result.y_test
    order = np.lexsort((certificate.upper, certificate.radius))
    rows = choose_rows(certificate, y, 20)
    assert len(set(rows.tolist())) == 20
    assert rows[:5].tolist() == order[:5].tolist()
    assert rows[-5:].tolist() == order[-5:].tolist()
    wrong = np.flatnonzero(certificate.prediction != y)
    assert set(wrong[:5]) <= set(rows)
    assert choose_rows(certificate, y, 1000).tolist() == order.tolist()
    assert not choose_rows(certificate, y, 0).size


def test_every_change_is_answered_as_it_says(explained):
    told = json.loads(json.dumps(summarise(explained)["counterfactuals"], allow_nan=False))
    assert len(told["rows"]) == told["answers"] == told["closest"] == 8
    assert told["least"] == [0, 1, 2]
    assert told["most"] == [7, 6, 5]
    model, found = explained.models[told["model"]], explained.explained
    for place, row in enumerate(told["rows"]):
        assert row["prediction"] != row["target"]
        assert row["sentence"].startswith(f"to be {row['target']} instead of {row['prediction']}: ")
        assert model.predict(found.closest.points[place][None])[0] == row["target"]
        single = row["single"]
        assert single["status"] in ("found", "impossible")
        assert single["size"] is None or single["size"] >= row["lower_bound"]
    low, high = explained.X_train.min(axis=0), explained.X_train.max(axis=0)
    x = explained.X_test[found.rows]
    assert ((found.closest.points >= np.minimum(low, x)) & (found.closest.points <= np.maximum(high, x))).all()
    whole = explained.feature_names.index("proline")
    assert told["whole"] == ["magnesium", "proline"]
    assert (found.closest.points[:, whole] == np.round(found.closest.points[:, whole])).all()


def test_rows_that_a_reader_names(audit_result):
    named = replace(audit_result, test_ids=np.array([f"bottle {t}" for t in range(len(audit_result.y_test))]))
    found = explain_rows(named, ["bottle 3", 8], n_jobs=1)
    assert sorted(found.rows.tolist()) == [3, 7]
    assert explain_rows(named, 0) is None
    with pytest.raises(ValueError, match="Only test rows are explained, and bottle 999 is none of them"):
        explain_rows(named, ["bottle 999"])
    with pytest.raises(ValueError, match="explain must be an integer of at least 0"):
        explain_rows(named, -1)


def test_the_report_shows_them(explained):
    summary = summarise(explained)
    page = render_html(summary)
    assert page.count('<article class="change-row">') == 8
    assert page.count("<option value=") == 8
    assert "What would have to change" in page
    text = render_markdown(summary)
    assert text.count("- Row") >= 6
    assert "8 of 8 are proven to be the smallest" in text
    without = render_html(summarise(replace(explained, explained=None)))
    assert "What would have to change" not in without


def test_hostile_names_stay_text(hostile):
    summary = summarise(replace(hostile, explained=explain_rows(hostile, 1, n_jobs=1)))
    page = render_html(summary)
    assert IMG not in page
    assert SCRIPT not in page
    assert not re.search(r"(?<!\\)<", render_markdown(summary))


def test_a_model_that_takes_words():
    rng = np.random.default_rng(0)
    X = pd.DataFrame(
        {"age": rng.integers(20, 70, 90), "debt": rng.gamma(2.0, 5.0, 90), "job": rng.choice(["a", "b"], 90)}
    )
    y = np.where(X["age"] / 10 - X["debt"] / 5 + (X["job"] == "a") > 3, "good", "bad")
    front = ColumnTransformer([("n", StandardScaler(), ["age", "debt"]), ("w", OneHotEncoder(), ["job"])])
    model = make_pipeline(front, LogisticRegression()).fit(X[:60], y[:60])
    result = audit(model=model, X=X[60:], y=y[60:], reference=(X[:60], y[:60]), explain=5, n_jobs=1)
    told = summarise(result)["counterfactuals"]
    assert told["model"] == "yours"
    assert told["whole"] == ["age"]
    assert told["within_data"]
    columns = {change["feature"] for row in told["rows"] for change in row["changes"]}
    assert columns <= {"age", "debt"}
    points = result.explained.closest.points
    assert (model.predict(points) != model.predict(X[60:].iloc[result.explained.rows])).all()
