"""Data sets × methods × rounds: run the cells that have no file yet, and write each as soon as it is done."""

import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
import pandas as pd

from benchmarks.yang.cell import Cell, run_cell
from benchmarks.yang.methods import METHODS
from benchmarks.yang.sets import SETS, UCI
from benchmarks.yang.store import CELLS, write


@dataclass(frozen=True)
class Profile:
    """A size of run: sets, methods, rounds, and the effort of tuning."""

    sets: Sequence[str]
    methods: Sequence[str]
    rounds: int
    draws: int
    folds: int


_QUICK = ["ecoli", "fourclass", "haberman", "iris", "voting", "wdbc", "wine"]
_MOST = [name for name in METHODS if "@" not in name or name == "LMNN-PL@0.2"]
_FEW = ["Euclidean", "LMNN", "LMNN-PL", "PNCA", "LMNN-PL@0.2"]
PROFILES: dict[str, Profile] = {
    "full": Profile(list(SETS), list(METHODS), 20, 50, 5),
    "light": Profile(UCI, list(METHODS), 20, 10, 3),
    "quick": Profile(_QUICK, _MOST, 3, 5, 3),
    "tiny": Profile(["iris", "wine"], _FEW, 2, 2, 2),
}


def cells(profile: Profile, preprocessing: str = "paper") -> list[Cell]:
    """The cells of a profile, round by round, so that an interrupted run has all methods on some rounds."""
    return [
        Cell(dataset, method, number, profile.draws, profile.folds, preprocessing)
        for number in range(profile.rounds)
        for dataset in profile.sets
        for method in profile.methods
        if number < SETS[dataset].rounds
    ]


def run(
    todo: Sequence[Cell],
    folder: Path,
    *,
    jobs: int = 1,
    dask: str | None = None,
    data_dir: str | None = None,
    say=print,
) -> list[Cell]:
    """Run the cells whose file is not there; returns those that failed.

    Workers compute, this process writes: each cell as soon as it is done, whole or not at all. So a run can be
    killed at any moment; the next one with the same folder goes on where it was.

    Parameters
    ----------
    todo : sequence of Cell
    folder : Path
        Files go to ``folder/cells``.
    jobs : int
        Processes, each on one thread.
    dask : str or None
        Address of a ``dask.distributed`` scheduler, whose workers then compute. They must be able to import
        this package and to read the data.
    data_dir : str or None
    say : callable
        Shows a line.
    """
    left = [cell for cell in todo if not (folder / CELLS / cell.path).is_file()]
    say(f"{len(todo)} cells, {len(todo) - len(left)} of them already there")
    failed: list[Cell] = []
    clock = _Clock(left, jobs)
    for cell, seconds, rows, error in _results(left, jobs, dask, data_dir):
        if error is None:
            write(folder / CELLS / cell.path, pd.DataFrame(rows))
            word = f"{seconds:.1f} s"
        else:
            failed.append(cell)
            word = "FAILED: " + error
        clock.done(cell, seconds)
        say(f"[{clock.finished}/{len(left)}] {cell.dataset} {cell.method} round {cell.round}: {word}; {clock}")
    return failed


Result = tuple[Cell, float, list[dict[str, Any]], str | None]


def _results(left: Sequence[Cell], jobs: int, dask: str | None, data_dir: str | None) -> Iterator[Result]:
    """The cells, in the order in which they are done."""
    if dask is None and jobs == 1:
        yield from (_attempt(cell, data_dir) for cell in left)
        return
    with _backend(jobs, dask):
        parallel = joblib.Parallel(return_as="generator_unordered", batch_size=1, pre_dispatch="2*n_jobs")
        yield from parallel(joblib.delayed(_attempt)(cell, data_dir) for cell in left)


@contextmanager
def _backend(jobs: int, dask: str | None) -> Iterator[None]:
    """The joblib back end that runs the cells."""
    if dask is None:
        with joblib.parallel_config("loky", n_jobs=jobs, inner_max_num_threads=1):
            yield
        return
    try:
        from distributed import Client
    except ImportError as missing:
        raise ImportError("--dask needs dask.distributed: pip install distributed") from missing
    with Client(dask), joblib.parallel_config("dask"):
        yield


def _attempt(cell: Cell, data_dir: str | None) -> Result:
    """Rows of a cell, or its error: a cell that fails does not end the run."""
    began = time.perf_counter()
    try:
        rows, error = run_cell(cell, data_dir), None
    except Exception as problem:
        where = traceback.extract_tb(problem.__traceback__)[-1]
        rows, error = [], f"{type(problem).__name__}: {problem} ({Path(where.filename).name}, line {where.lineno})"
    return cell, time.perf_counter() - began, rows, error


class _Clock:
    """Estimated time left, from finished cells of the same kind."""

    def __init__(self, left: Sequence[Cell], workers: int):
        self.left, self.workers = set(left), max(1, workers)
        self.seen: dict[tuple[str, str], list[float]] = {}
        self.began, self.finished, self.busy = time.perf_counter(), 0, 0.0

    def done(self, cell: Cell, seconds: float) -> None:
        self.left.discard(cell)
        self.seen.setdefault((cell.dataset, cell.method), []).append(seconds)
        self.finished += 1
        self.busy += seconds

    def __str__(self) -> str:
        every = float(np.mean([np.mean(times) for times in self.seen.values()]))
        work = sum(float(np.mean(self.seen.get((cell.dataset, cell.method), [every]))) for cell in self.left)
        passed = time.perf_counter() - self.began
        rate = max(self.busy / passed, 1e-9) if self.finished >= 2 * self.workers else float(self.workers)
        return f"{_duration(work / rate)} left"


def _duration(seconds: float) -> str:
    if seconds < 100:
        return f"{seconds:.0f} s"
    return f"{seconds / 60:.0f} min" if seconds < 6000 else f"{seconds / 3600:.1f} h"
