"""Threads for the compiled kernels; one BLAS thread beneath them.

The matrices of metric learning are small and the products many, so a multi-threaded BLAS spends its
time waiting (on a busy machine, 30 to 50 times longer than working). Here rows are cut into blocks,
a few threads each take the next block, and BLAS runs single-threaded inside a block. The cut depends
on the problem alone, never on the number of threads, so neither does any result.
"""

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise
from queue import Empty, SimpleQueue
from typing import TypeVar

import joblib
import numba
import numpy as np
from threadpoolctl import ThreadpoolController

Block = TypeVar("Block")
Result = TypeVar("Result")

# A block holds at least _MIN_WORK nanoseconds of work, about what waking a thread costs, and there are at most
# _MAX_BLOCKS: enough to balance the load of the few threads of a workstation.
_MIN_WORK, _MAX_BLOCKS = 100_000, 16


def n_threads(n_jobs: int | None) -> int:
    """Number of threads that ``n_jobs`` stands for.

    ``None`` is numba's own setting (``NUMBA_NUM_THREADS``, by default the processors this process may
    use; joblib lowers it inside its workers), ``-1`` is every processor.
    """
    if n_jobs is None:
        return int(numba.config.NUMBA_NUM_THREADS)  # reading the setting does not start numba's threads
    return int(joblib.effective_n_jobs(n_jobs))


def pieces(nanoseconds: float) -> int:
    """Number of blocks to cut work of this length into; it does not depend on the number of threads."""
    return int(min(max(nanoseconds / _MIN_WORK, 1), _MAX_BLOCKS))


def blocks(n: int, count: int) -> list[slice]:
    """Cut ``range(n)`` into ``count`` nearly equal slices."""
    edges = np.linspace(0, n, count + 1).astype(int).tolist()
    return [slice(start, stop) for start, stop in pairwise(edges)]


def balanced(work: np.ndarray, count: int) -> list[slice]:
    """Cut ``range(n)`` into at most ``count`` slices of nearly equal work.

    ``work`` has n + 1 entries: ``work[r]`` is the work of the rows before r.
    """
    edges = np.searchsorted(work, np.linspace(0, work[-1], count + 1)[1:-1])
    edges = np.unique([0, *edges, len(work) - 1]).tolist()
    return [slice(start, stop) for start, stop in pairwise(edges)]


def map_blocks(task: Callable[[Block], Result], parts: Sequence[Block], n_jobs: int | None) -> list[Result]:
    """``[task(part) for part in parts]``, over up to ``n_jobs`` threads that exist for this call only.

    The results are in the order of the parts; the first error of a task is raised. A task must release
    the GIL for the threads to run at the same time. Code that maps many times keeps a :class:`Workers` instead.

    Examples
    --------
    >>> map_blocks(lambda part: part.stop - part.start, blocks(10, 3), n_jobs=2)
    [3, 3, 4]
    """
    with Workers(min(n_threads(n_jobs), len(parts))) as workers:
        return workers.map(task, parts)


class Workers:
    """A few threads that apply a task to blocks of rows; a thread takes the next block when it is free.

    Parameters
    ----------
    threads : int
        Number of threads, the calling one included.
    """

    def __init__(self, threads: int = 1):
        self.threads = max(1, threads)
        self._jobs: SimpleQueue = SimpleQueue()
        self._others = [threading.Thread(target=_serve, args=(self._jobs,), daemon=True) for _ in range(threads - 1)]
        for other in self._others:
            other.start()

    def map(self, task: Callable[[Block], Result], parts: Sequence[Block]) -> list[Result]:
        """``[task(part) for part in parts]``; a task must release the GIL for the threads to run at the same time."""
        helpers = min(len(self._others), len(parts) - 1)
        if helpers <= 0:
            return [task(part) for part in parts]
        results: list = [None] * len(parts)
        waiting: SimpleQueue = SimpleQueue()
        for index in range(len(parts)):
            waiting.put(index)
        done: SimpleQueue = SimpleQueue()

        def drain() -> None:
            error: BaseException | None = None
            try:
                while True:
                    index = waiting.get_nowait()
                    results[index] = task(parts[index])
            except Empty:
                pass
            except BaseException as caught:  # handed to the caller below
                error = caught
            done.put(error)

        for _ in range(helpers):
            self._jobs.put(drain)
        drain()
        errors = [error for error in (done.get() for _ in range(helpers + 1)) if error is not None]
        if errors:
            raise errors[0]
        return results

    def close(self) -> None:
        """End the threads."""
        for _ in self._others:
            self._jobs.put(None)
        for other in self._others:
            other.join()
        self._others = []

    def __enter__(self) -> "Workers":
        return self

    def __exit__(self, *exc) -> None:
        self.close()


def _serve(jobs: SimpleQueue) -> None:
    """Run jobs from the queue until it gives None."""
    while (job := jobs.get()) is not None:
        job()


class _BlasLimit:
    """A counter of the fits under way: the first limits BLAS to one thread, the last restores the old limit.

    The limit belongs to the process, so two fits in two threads would otherwise restore each other's
    limit instead of the user's. Some BLAS libraries accept a new limit only from the thread that set the
    last one, and the last fit to end need not be the first that began: one extra thread sets and restores.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._inside = 0
        self._controller: ThreadpoolController | None = None
        self._release = threading.Event()

    def enter(self) -> None:
        with self._lock:
            if self._inside == 0:
                self._controller = self._controller or ThreadpoolController()
                held, self._release = threading.Event(), threading.Event()
                # A daemon, so that a Ctrl-C at a bad moment cannot leave a thread that the interpreter waits for.
                holder = threading.Thread(target=_hold_limit, args=(self._controller, held, self._release), daemon=True)
                try:
                    holder.start()
                    held.wait()
                except BaseException:  # Ctrl-C
                    self._release.set()
                    raise
                self._holder = holder
            self._inside += 1

    def leave(self) -> None:
        with self._lock:
            self._inside -= 1
            if self._inside == 0:
                self._release.set()
                self._holder.join()


def _hold_limit(controller: ThreadpoolController, held: threading.Event, release: threading.Event) -> None:
    """Limit BLAS to one thread, say so by ``held``, and restore the old limit upon ``release``."""
    try:
        with controller.limit(limits=1, user_api="blas"):
            held.set()
            release.wait()
    finally:
        held.set()  # after an error, too: nobody may wait for it


_blas = _BlasLimit()


@contextmanager
def single_threaded_blas() -> Iterator[None]:
    """Limit BLAS to one thread, for as long as any thread of the process is inside such a ``with`` block."""
    _blas.enter()
    try:
        yield
    finally:
        _blas.leave()
