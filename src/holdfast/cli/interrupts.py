"""Ctrl-C while modules are imported, and while kernels are compiled."""

import os
import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

INTERRUPTED = 130
STOPPED = "stopped; no file was left half-written."


@contextmanager
def stops_at_once() -> Iterator[None]:
    """Within it Ctrl-C ends the program on the spot, with one line and exit code 130.

    Imports take seconds, and an exception in the middle of one comes out as a traceback, or is swallowed by the module.
    For imports only: nothing is cleaned up.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.getsignal(signal.SIGINT)
    if before is not signal.default_int_handler:  # ignored, as in the background, or somebody else's
        yield
        return
    signal.signal(signal.SIGINT, _stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


@contextmanager
def remembered() -> Iterator[Callable[[], None]]:
    """Yield a function that raises ``KeyboardInterrupt`` if Ctrl-C was pressed within the block and had no effect.

    The exception of a Ctrl-C is lost where Python code is called back from C, as while the compiler works. So long work
    calls the function now and then.
    """
    pressed: list[int] = []

    def note(number: int, frame) -> None:
        pressed.append(number)
        raise KeyboardInterrupt

    def raise_if_pressed() -> None:
        if pressed and threading.current_thread() is threading.main_thread():
            raise KeyboardInterrupt

    main = threading.current_thread() is threading.main_thread()
    before = signal.getsignal(signal.SIGINT)
    if not main or before is not signal.default_int_handler:
        yield raise_if_pressed
        return
    signal.signal(signal.SIGINT, note)
    try:
        yield raise_if_pressed
    finally:
        signal.signal(signal.SIGINT, before)


def _stop(number: int, frame) -> None:
    os.write(2, f"holdfast: {STOPPED}\n".encode())
    os._exit(INTERRUPTED)
