"""The search over all families."""

from holdfast import RobustClassifierCV


def make(radius: float, seed: int) -> RobustClassifierCV:
    """At its defaults."""
    return RobustClassifierCV(radius, random_state=seed)
