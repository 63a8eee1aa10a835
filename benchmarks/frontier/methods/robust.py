"""The search over all families, and over one of them alone."""

from holdfast import RobustClassifierCV


def make(radius: float, seed: int) -> RobustClassifierCV:
    """At its defaults."""
    return RobustClassifierCV(radius, random_state=seed)


def make_certified(radius: float, seed: int) -> RobustClassifierCV:
    """By certified accuracy alone."""
    return RobustClassifierCV(radius, objective="certified", random_state=seed)


def make_margin_lvq(radius: float, seed: int) -> RobustClassifierCV:
    """Prototypes trained for the radius alone."""
    return RobustClassifierCV(radius, candidates=["margin_lvq"], random_state=seed)


def make_lmnn(radius: float, seed: int) -> RobustClassifierCV:
    """LMNN-PL alone, with k and pruned rows."""
    return RobustClassifierCV(radius, candidates=["lmnn"], random_state=seed)
