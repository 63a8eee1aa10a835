"""Ctrl-C where its exception is lost."""

import contextlib
import signal

import pytest

from holdfast.cli.options import remembered


@pytest.fixture(autouse=True)
def ctrl_c_as_usual():
    """Where the tests run in the background Ctrl-C is ignored."""
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


def test_a_ctrl_c_that_was_swallowed_is_raised_again_at_the_next_report():
    with remembered() as stop_if_asked:
        stop_if_asked()
        with contextlib.suppress(KeyboardInterrupt):  # as a callback from C does
            signal.raise_signal(signal.SIGINT)
        with pytest.raises(KeyboardInterrupt):
            stop_if_asked()
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler


def test_an_interrupt_that_was_lost_is_not_printed(capfd):
    """Python prints a traceback where an exception has no caller, as in a callback of the compiler."""

    class CalledBack:
        def __del__(self):
            raise KeyboardInterrupt

    with remembered():
        CalledBack()
    assert "Traceback" not in capfd.readouterr().err
