"""How far a command is, and about how long the rest takes: on standard error, for people only."""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from holdfast.cli.options import print_error, remembered

_SECONDS_BETWEEN_LINES = 5.0  # where there is no terminal
_SECONDS_SEEN = 2.0  # of a stage, before the rest is estimated


@contextmanager
def progress_bars(quiet: bool = False, certifies: bool = True) -> Iterator[Callable[[str, int, int], None]]:
    """Show ``progress(stage, done, total)`` on standard error, unless ``quiet``: bars on a terminal, else lines.

    Bars show the time of each stage and the rest, and move while a stage is silent; lines are printed every five
    seconds. If the kernels (of certificates if ``certifies``, else of training) have yet to be compiled, a notice says
    so, because no bar moves meanwhile.
    """
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn

    console = Console(stderr=True)
    shown = console.is_terminal and not quiet
    if shown and (notice := _compiling_notice(certifies)):
        console.print(notice, highlight=False)
    bars = Progress(
        TextColumn("{task.description}"), BarColumn(), TextColumn("{task.fields[count]}"), TimeElapsedColumn(),
        TextColumn("{task.fields[rest]}"), console=console, transient=True, disable=not shown,
    )  # fmt: skip
    tasks: dict = {}
    pace = Pace()

    def progress(stage: str, done: int, total: int) -> None:
        stop_if_asked()
        pace.report(stage, done, total)
        unknown = total <= 1 and not done  # of a stage in one piece: the bar only pulses
        if stage not in tasks:
            tasks[stage] = bars.add_task(stage, total=None if unknown else total, count="", rest="")
        count = "" if total <= 1 else f"{done}/{total}"
        bars.update(tasks[stage], completed=done, total=None if unknown else total, count=count, rest=pace.rest())

    with remembered() as stop_if_asked:
        if not shown and not quiet:
            with lines_every(_SECONDS_BETWEEN_LINES) as print_stage:

                def progress_line(stage: str, done: int, total: int) -> None:
                    stop_if_asked()
                    print_stage(stage, done, total)

                yield progress_line
            return
        with bars:
            yield progress


class Pace:
    """The stage that is going on, and about when it ends if it goes on as it did.

    Attributes
    ----------
    stage : str
    done, total : int
        Of the stage.
    """

    def __init__(self, clock: Callable[[], float] = time.monotonic):
        self._clock = clock
        self._began = self._stage_began = clock()
        self.stage, self.done, self.total = "Starting", 0, 1
        self._done_before = 0

    def report(self, stage: str, done: int, total: int) -> None:
        """So much of a stage is done."""
        if stage != self.stage:
            self._stage_began, self._done_before = self._clock(), done
        self.stage, self.done, self.total = stage, done, total

    def rest(self) -> str:
        """About how long the stage still takes: ``"about 3 min left"``; nothing if that is not known yet."""
        done, left = self.done - self._done_before, self.total - self.done
        seen = self._clock() - self._stage_began
        if done <= 0 or left <= 0 or seen < _SECONDS_SEEN:
            return ""
        seconds = seen * left / done
        return f"about {seconds / 60:.0f} min left" if seconds > 90 else f"about {max(seconds, 1):.0f} s left"

    def line(self) -> str:
        """``Choosing a model, 66 of 300 (10 s; about 36 s left)``; of a stage in one piece how long it has taken."""
        now = self._clock()
        counted = self.stage if self.total <= 1 else f"{self.stage}, {self.done} of {self.total}"
        rest = self.rest()
        if not rest and not self.done and now - self._stage_began < now - self._began:
            rest = f"{now - self._stage_began:.0f} s of it in this step"
        return f"{counted} ({now - self._began:.0f} s{f'; {rest}' if rest else ''})"


@contextmanager
def lines_every(seconds: float) -> Iterator[Callable[[str, int, int], None]]:
    """Print how far the latest stage is on standard error every so many seconds; nothing if the work ends before."""
    pace, finished = Pace(), threading.Event()

    def print_lines() -> None:
        while not finished.wait(seconds):
            print_error(pace.line())

    thread = threading.Thread(target=print_lines, daemon=True)
    thread.start()
    try:
        yield pace.report
    finally:
        finished.set()
        thread.join()


def _compiling_notice(certifies: bool) -> str | None:
    """A notice if the kernels of certificates (else those of training) have yet to be compiled."""
    from holdfast._core.compiling import compiling_notice

    if certifies:
        from holdfast._core.order import vote_rows  # every certificate takes it

        return compiling_notice([vote_rows])
    from holdfast._core.geometry import pair_forms, pair_squares

    return compiling_notice([pair_forms, pair_squares])
