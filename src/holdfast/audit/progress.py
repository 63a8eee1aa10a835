"""Progress of a job with several stages."""

from collections.abc import Callable

#: ``progress(stage, done, total)``, called as a stage goes on.
StageProgress = Callable[[str, int, int], None]


def no_progress(stage: str, done: int, total: int) -> None:
    """Report nothing."""
