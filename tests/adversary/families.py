"""Families of attack: a strategy that draws cases, and a function that tries one."""

from collections.abc import Callable
from dataclasses import dataclass

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis.strategies import SearchStrategy

from tests.adversary.tally import Tally


def small(examples: int) -> settings:
    """A few cases, always the same; none is shrunk, because a case is one line."""
    return settings(
        max_examples=examples, derandomize=True, database=None, deadline=None,
        phases=[Phase.explicit, Phase.generate], suppress_health_check=list(HealthCheck),
    )  # fmt: skip


@dataclass(frozen=True)
class Family:
    """Cases of one kind of attack.

    Attributes
    ----------
    name : str
    cases : SearchStrategy
    attack : callable
        Takes a case, returns a Tally.
    examples : int
        Cases at full size.
    """

    name: str
    cases: SearchStrategy
    attack: Callable[..., Tally]
    examples: int

    def run(self, examples: int) -> Tally:
        """Try many cases, and go on after a break."""
        total = Tally()

        @settings(
            max_examples=examples, database=None, derandomize=True, deadline=None,
            phases=[Phase.generate], suppress_health_check=list(HealthCheck),
        )  # fmt: skip
        @given(self.cases)
        def each(case):
            try:
                found = self.attack(case)
            except Exception as error:  # an attack must end in a certificate or a refusal
                found = Tally(1, [f"{type(error).__name__}: {error}"])
            found.breaks = [f"{case}: {line}" for line in found.breaks]
            total.add(found)

        each()
        return total
