"""Logistic regression, C chosen by certified accuracy."""

from sklearn.linear_model import LogisticRegression

from holdfast import RobustClassifierCV


def make(radius: float, seed: int, objective: str | float = 0.7) -> RobustClassifierCV:
    """C from 0.001 to 1000, in half powers of ten."""
    models = [LogisticRegression(C=10.0 ** (k / 2), max_iter=2000) for k in range(-6, 7)]
    return RobustClassifierCV(radius, candidates=models, objective=objective, random_state=seed)


def make_certified(radius: float, seed: int) -> RobustClassifierCV:
    """By certified accuracy alone."""
    return make(radius, seed, "certified")
