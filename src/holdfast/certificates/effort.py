"""The work that goes into the bounds of a batch of rows."""

from dataclasses import dataclass

from holdfast.certificates.problems import Budget


@dataclass(frozen=True)
class Effort:
    """The work that goes into a bracket.

    Attributes
    ----------
    fast : bool
        Whether to leave out searches for the exact radius.
    witness : bool
        Whether to look for adversarial points.
    budget : Budget
        Limits of an engine's search, for each row.
    memory : float
        Megabytes that distances to all reference points may take at once.
    n_jobs : int or None
        Threads.
    """

    fast: bool
    witness: bool
    budget: Budget
    memory: float
    n_jobs: int | None
