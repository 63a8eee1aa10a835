"""What is no threat, no option and no number is refused in one sentence."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer
from sklearn.random_projection import SparseRandomProjection

from holdfast import Threat, attack, audit, certify, counterfactuals
from holdfast.certificates import dependence

RNG = np.random.default_rng(0)
X = RNG.uniform(1, 3, (60, 4))
Y = (X[:, 0] > X[:, 1]).astype(int)
MODEL = LogisticRegression().fit(X, Y)
DICT = {"norm": 2}


@pytest.mark.parametrize(
    "ask",
    [
        lambda: certify(MODEL, X, threat=DICT),
        lambda: attack(MODEL, X, threat=DICT),
        lambda: counterfactuals(MODEL, X[:2], threat=DICT),
        lambda: dependence(MODEL, X, {0: [1, 2]}, threat=DICT),
        lambda: audit(model=MODEL, X=X, y=Y, threat=DICT),
        lambda: audit("iris", threat=DICT, tune="none", models=["knn"]),
    ],
)
def test_a_dict_is_no_threat(ask):
    with pytest.raises(TypeError, match=r"threat must be a Threat; got dict; Threat\.from_dict makes one of a dict"):
        ask()


def test_texts_and_files_of_threats(tmp_path):
    with pytest.raises(ValueError, match="The threat is no JSON: "):
        Threat.from_json("{")
    with pytest.raises(FileNotFoundError, match=r"There is no file .*nowhere\.toml to read a threat from"):
        Threat.from_file(tmp_path / "nowhere.toml")


def test_options_and_words():
    with pytest.raises(TypeError, match=r"attack has no option 'speed'; its options are those of certify: threat, at"):
        attack(MODEL, X, speed=3)
    with pytest.raises(ValueError, match=r"X holds words, but the model takes numbers only \(could not convert .*'a'"):
        certify(MODEL, np.full((2, 4), "a", dtype=object))


def test_what_was_an_error_and_has_an_answer():
    """A projection whose matrix is sparse; counterfactuals of arrays behind a monotone step."""
    model = make_pipeline(SparseRandomProjection(3, random_state=0), LogisticRegression()).fit(X, Y)
    found = certify(model, X)
    assert found.exact.all()
    assert (model.predict(found.adversarial) != found.prediction).all()
    bent = make_pipeline(FunctionTransformer(np.log1p), LogisticRegression()).fit(X, Y)
    answers = counterfactuals(bent, X[:3])
    assert (bent.predict(answers.points[answers.valid]) != answers.prediction[answers.valid]).all()
    assert answers.valid.any()
