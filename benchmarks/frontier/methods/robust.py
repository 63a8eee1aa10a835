"""The search over all families."""

from holdfast import RobustClassifierCV


def make(radius: float, seed: int) -> RobustClassifierCV:
    """At its defaults."""
    return RobustClassifierCV(radius, random_state=seed)


def make_certified(radius: float, seed: int) -> RobustClassifierCV:
    """By certified accuracy alone."""
    return RobustClassifierCV(radius, objective="certified", random_state=seed)
