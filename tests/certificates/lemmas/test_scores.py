"""Lemma F5: scores that cancel. No float64 evaluation inside the radius finds another class ahead."""

from fractions import Fraction

import numpy as np
import pytest
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from holdfast import certify
from holdfast.certificates import LinearProblem, Moves
from holdfast.certificates.questions import score_rounding
from holdfast.certificates.readers import voter_for


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e8])
@pytest.mark.parametrize("norm", [2, np.inf, 1])
def test_f5_no_evaluation_inside_the_radius_changes_the_answer(offset, norm):
    rng = np.random.default_rng(int(np.log10(offset + 1)))
    X = rng.normal(size=(120, 6)) + offset
    y = rng.integers(3, size=120)
    broken = 0
    for steps in ((), (StandardScaler(),), (StandardScaler(), PCA(4))):
        model = make_pipeline(*steps, LogisticRegression(C=1e3, max_iter=50)).fit(X - (0 if steps else offset), y)
        rows = X[:20] - (0 if steps else offset)
        certificate = certify(model, rows, norm=norm)
        there = np.isfinite(certificate.upper) & (certificate.radius > 0)
        move = (certificate.adversarial - rows)[there]
        for share in (1 - 1e-15, 1 - 1e-12, 1 - 1e-9, 0.5):
            moved = rows[there] + move * (share * certificate.radius / certificate.upper)[there, None]
            alone = np.concatenate([model.predict(row[None]) for row in moved]) if len(moved) else []
            for prediction in (model.predict(moved) if len(moved) else [], alone):
                changed = np.flatnonzero(np.asarray(prediction) != certificate.prediction[there])
                for t in changed:  # only a move that is really shorter counts
                    exact = [Fraction(b) - Fraction(a) for a, b in zip(rows[there][t], moved[t], strict=True)]
                    broken += exact_norm_below(exact, norm, Fraction(certificate.radius[there][t]))
    assert broken == 0


def exact_norm_below(delta, norm, radius) -> bool:
    sizes = [abs(value) for value in delta]
    if norm == 2:
        return sum(value**2 for value in sizes) < radius**2
    return (max(sizes) if norm == np.inf else sum(sizes)) < radius


def test_f5_the_allowance_covers_the_error_of_a_score():
    """A score as computed differs from the exact one by less than the allowance; chains that cancel included."""
    rng = np.random.default_rng(0)
    for scale in (1.0, 1e6):
        first = scale * rng.normal(size=(5, 5))
        second = rng.normal(size=(3, 5)) @ np.linalg.inv(first)  # the product is of size 1, its factors are not
        x = rng.normal(size=(1, 5))
        exact = [
            sum(Fraction(w) * sum(Fraction(a) * Fraction(v) for a, v in zip(row, x[0], strict=True))
                for w, row in zip(weights, first, strict=True))
            for weights in second
        ]  # fmt: skip
        computed = ((x @ first.T) @ second.T)[0]
        problem = LinearProblem(second @ first, absolute=np.abs(second) @ np.abs(first), n_steps=2)
        error = score_rounding(problem, x, 1)[0][0]
        for c in range(3):
            assert abs(Fraction(computed[c]) - exact[c]) <= Fraction(error[c])


def test_f5_an_svc_adds_up_its_support_vectors_one_by_one():
    """The allowance covers ``n_SV + d`` roundings of every term; not those of d features only."""
    rng = np.random.default_rng(4)
    X = rng.normal(size=(1500, 1))
    y = (X[:, 0] + 3.0 * rng.normal(size=1500) > 0).astype(int)
    model = SVC(kernel="linear", C=1e-3).fit(X, y)
    vectors = len(model.support_vectors_)
    assert vectors > 1_000
    voter = voter_for(model)
    problem = voter.chain.question(voter.problem, Moves())
    assert problem.n_terms == vectors + 1
    x = np.array([[0.3]])
    terms = (np.abs(model.dual_coef_) @ np.abs(model.support_vectors_ @ x.T)).item()
    assert score_rounding(problem, x, 1)[0][0, 1] >= (vectors + 1) * 2.0**-53 * terms
