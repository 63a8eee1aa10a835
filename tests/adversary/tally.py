"""Tries and breaks, counted."""

from dataclasses import dataclass, field


@dataclass
class Tally:
    """How often a promise was tried, and how often it broke.

    Attributes
    ----------
    tries : int
        Moves, witnesses, radii or refusals looked at.
    breaks : list of str
        What broke, one line each.
    refused : int
        Models or rows that certify refused with a sentence, which is sound.
    worst : float
        The largest quotient of a radius and a move that breaks it; 1 if none does.
    """

    tries: int = 0
    breaks: list[str] = field(default_factory=list)
    refused: int = 0
    worst: float = 1.0

    def expect(self, holds: bool, otherwise: str) -> None:
        """One try; ``otherwise`` says what broke if it does not hold."""
        self.tries += 1
        if not holds:
            self.breaks.append(otherwise)

    def add(self, other: "Tally") -> None:
        """Count those of another tally too."""
        self.tries += other.tries
        self.breaks += other.breaks
        self.refused += other.refused
        self.worst = max(self.worst, other.worst)

    def check(self) -> None:
        """Fail with the first few breaks, if there are any."""
        assert not self.breaks, f"{len(self.breaks)} of {self.tries} broken: " + "; ".join(self.breaks[:3])
