"""Work in blocks: sums in a fixed order, and threads."""

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

LEAF = 1024  # rows summed in one piece: large enough for one BLAS call, small enough for the cache of a core


def leaves(n: int) -> list[slice]:
    """Cut ``range(n)`` every LEAF rows; the cuts among the first rows do not depend on how many follow."""
    return [slice(start, min(start + LEAF, n)) for start in range(0, n, LEAF)]


def add(u: tuple, v: tuple) -> tuple:
    """Add two tuples entry by entry; None counts as zero."""
    return tuple(b if a is None else a if b is None else a + b for a, b in zip(u, v, strict=True))


def tree_sum(parts: Sequence, add: Callable = add):
    """Pairwise summation: add neighbours in pairs, then the sums in pairs, and so on. Each group of 2^s neighbours is
    summed by itself, so a worker that holds one can sum it alone, and the total has the same bits.

    >>> tree_sum(["a", "b", "c", "d", "e"], lambda u, v: f"({u}+{v})")
    '(((a+b)+(c+d))+e)'
    """
    parts = list(parts)
    while len(parts) > 1:
        pairs = [add(u, v) for u, v in zip(parts[::2], parts[1::2], strict=False)]
        parts = pairs + parts[2 * len(pairs) :]
    return parts[0]


def round_reproducibly(value: float, gradient: np.ndarray) -> tuple[float, np.ndarray]:
    """Round a value to 30 binary digits and a gradient to 24 of its largest entry.

    Sums in another order differ in their last digits, and rounding removes these digits unless a number lies so near
    to the middle between two multiples of the unit that the two sums fall on different sides of it. If the entries of
    a gradient differ by ``ε`` of the largest one on average, an entry rounds differently with probability at most
    ``2^24 ε``, and some entry of p² in one of N evaluations with probability at most about ``N p² 2^24 ε``.

    Measured over orders of the rows (LMNN-PL on wine, breast cancer and digits; p = 13, 30, 64): ``ε`` from 4e-17 to
    1e-16, so that a fit of 100 evaluations gets a different entry with probability 2e-5 to 2e-4. Where ``ε`` were 1e-14
    (naive sums over 10^7 numbers) it would be 4 % at p = 50: rare, not impossible.

    Examples
    --------
    >>> value, gradient = round_reproducibly(1.0 + 1e-15, np.array([3.0, 1e-15]))
    >>> value, gradient.tolist()
    (1.0, [3.0, 0.0])
    """
    return float(round_to_bits(np.asarray(value), 30)), round_to_bits(gradient)


def round_to_bits(x: np.ndarray, bits: int = 24) -> np.ndarray:
    """Round every entry to a multiple of ``2^(e − bits)``, where ``2^e`` is just above the largest entry of x."""
    largest = max(x.max(), -x.min())
    if not largest < 1e290:  # what is added below would overflow
        return x
    unit = np.ldexp(1.0, max(int(np.frexp(largest)[1]) - bits, -1000))
    shift = np.ldexp(1.5 * unit, 52)  # numbers of this size are multiples of the unit: adding it rounds to one
    return (x + shift) - shift


def product_by_rows(A: np.ndarray, B: np.ndarray) -> np.ndarray:
    """``A Bᵀ``, in which a row of A gives the same bits whatever rows are beside it; BLAS sums in an order that depends
    on their number. Takes about four times as long.

    >>> A, B = np.linspace(0.0, 1.0, 35).reshape(5, 7), np.linspace(1.0, 2.0, 21).reshape(3, 7)
    >>> bool((product_by_rows(A, B)[2:3] == product_by_rows(A[2:3], B)).all())
    True
    """
    return np.einsum("mi,ri->mr", np.ascontiguousarray(A), np.ascontiguousarray(B))


# -- blocks and threads -----------------------------------------------------------------------------

Block = TypeVar("Block")
Result = TypeVar("Result")

# A block holds at least _MIN_WORK nanoseconds of work, about what waking a thread costs, and there are at most
# _MAX_BLOCKS: enough to balance the load of the few threads of a workstation.
_MIN_WORK, _MAX_BLOCKS = 100_000, 16


def n_threads(n_jobs: int | None) -> int:
    """Number of threads for ``n_jobs``: None is numba's setting (``NUMBA_NUM_THREADS``, by default the processors that
    this process may use; joblib lowers it inside its workers), ``-1`` every processor.
    """
    if n_jobs is None:
        return int(numba.config.NUMBA_NUM_THREADS)  # reading the setting does not start numba's threads
    return int(joblib.effective_n_jobs(n_jobs))


def count_blocks(nanoseconds: float) -> int:
    """Number of blocks to cut work of this length into; it does not depend on the number of threads."""
    return int(min(max(nanoseconds / _MIN_WORK, 1), _MAX_BLOCKS))


def blocks(n: int, count: int) -> list[slice]:
    """Cut ``range(n)`` into ``count`` nearly equal slices."""
    edges = np.linspace(0, n, count + 1).astype(int).tolist()
    return [slice(start, stop) for start, stop in pairwise(edges)]


def balanced(work: np.ndarray, count: int) -> list[slice]:
    """Cut ``range(n)`` into at most ``count`` slices of nearly equal work; ``work[r]``, of n + 1, is that of the rows
    before r.
    """
    edges = np.searchsorted(work, np.linspace(0, work[-1], count + 1)[1:-1])
    edges = np.unique([0, *edges, len(work) - 1]).tolist()
    return [slice(start, stop) for start, stop in pairwise(edges)]


def map_blocks(task: Callable[[Block], Result], parts: Sequence[Block], n_jobs: int | None) -> list[Result]:
    """``[task(part) for part in parts]`` over up to ``n_jobs`` threads that exist for this call only; the first error
    is raised. Tasks run at the same time only if they release the GIL.

    >>> map_blocks(lambda part: part.stop - part.start, blocks(10, 3), n_jobs=2)
    [3, 3, 4]
    """
    with Workers(min(n_threads(n_jobs), len(parts))) as workers:
        return workers.map(task, parts)


class Workers:
    """A few threads, the calling one included, that apply a task to blocks of rows; each takes the next block when it
    is free.
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


# -- one thread of BLAS -----------------------------------------------------------------------------


class _BlasLimit:
    """A counter of the fits under way: the first limits BLAS to one thread, the last restores the process's old limit.
    One extra thread does both, because some BLAS libraries accept a new limit only from the thread that set the last
    one.
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
