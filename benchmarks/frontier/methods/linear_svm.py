"""A linear support vector machine, C chosen by certified accuracy."""

from sklearn.svm import LinearSVC

from holdfast import RobustClassifierCV


def make(radius: float, seed: int, objective: str | float = 0.7) -> RobustClassifierCV:
    """C from 0.001 to 100, in half powers of ten."""
    models = [LinearSVC(C=10.0 ** (k / 2), dual=False, random_state=0) for k in range(-6, 5)]
    return RobustClassifierCV(radius, candidates=models, objective=objective, random_state=seed)


def make_certified(radius: float, seed: int) -> RobustClassifierCV:
    """By certified accuracy alone."""
    return make(radius, seed, "certified")
