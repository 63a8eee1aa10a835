"""Ctrl-C where its exception is lost."""

import contextlib
import signal

import pytest

from holdfast.cli.options import remembered


def test_a_ctrl_c_that_was_swallowed_is_raised_again_at_the_next_report():
    before = signal.getsignal(signal.SIGINT)
    signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        with remembered() as stop_if_asked:
            stop_if_asked()
            with contextlib.suppress(KeyboardInterrupt):  # as a callback from C does
                signal.raise_signal(signal.SIGINT)
            with pytest.raises(KeyboardInterrupt):
                stop_if_asked()
        assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    finally:
        signal.signal(signal.SIGINT, before)
