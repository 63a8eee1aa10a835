"""Gradient boosting, which certifies nothing here: its accuracy is what certainty costs."""

from sklearn.ensemble import HistGradientBoostingClassifier


def make(radius: float, seed: int) -> HistGradientBoostingClassifier:
    """At its defaults."""
    return HistGradientBoostingClassifier(random_state=seed)
