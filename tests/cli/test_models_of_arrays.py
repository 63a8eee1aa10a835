"""Models fitted in Python, on the command line: labels of every type, columns by position, folders of audits."""

import json

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import certify, save
from tests.cli.program import run

RNG = np.random.default_rng(0)
X = pd.DataFrame(RNG.normal(size=(60, 3)) * [1.0, 2.0, 5.0], columns=["1", "2", "0"])
Y = (X.sum(axis=1) > 0).to_numpy()


@pytest.mark.parametrize("kind", [float, bool, int])
@pytest.mark.parametrize("written", [float, bool, int])
def test_labels_match_however_they_are_written(kind, written, tmp_path):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:40], Y[:40].astype(kind))
    save(model, tmp_path / "m.holdfast")
    X[40:].assign(y=Y[40:].astype(written)).to_csv(tmp_path / "new.csv", index=False)
    right = model.score(X[40:], Y[40:].astype(kind))
    told = json.loads(run("certify", "m.holdfast", "new.csv", "-t", "y", "--json", cwd=tmp_path).stdout)
    assert np.mean(told["certificates"]["correct"]) == pytest.approx(right)
    audit = run("audit", "--model", "m.holdfast", "new.csv", "-t", "y", "--explain", 0, "--json", cwd=tmp_path)
    assert json.loads(audit.stdout)["models"]["yours"]["accuracy"] == pytest.approx(right)


def test_numbers_in_a_threat_are_positions(tmp_path):
    model = make_pipeline(StandardScaler(), LogisticRegression()).fit(X[:40], Y[:40])
    save(model, tmp_path / "m.holdfast")
    X[40:].to_csv(tmp_path / "new.csv", index=False)
    (tmp_path / "second.toml").write_text("frozen = [1]\n")
    run("certify", "m.holdfast", "new.csv", "--threat", "second.toml", "--out", "c.csv", cwd=tmp_path)
    by_hand = certify(model, X[40:], frozen=[False, True, False])
    np.testing.assert_allclose(pd.read_csv(tmp_path / "c.csv")["radius"], by_hand.radius)
