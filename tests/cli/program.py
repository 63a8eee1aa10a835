"""The program, in a process of its own or, which saves the two seconds of its imports, in this one."""

import contextlib
import io
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from holdfast.cli import app

PROGRAM = Path(sys.executable).parent / "holdfast"
ENVIRONMENT = {k: v for k, v in os.environ.items() if k not in ("HOLDFAST_DATA", "HOLDFAST_DEBUG")}


def run(*arguments, cwd, code=0, input="") -> subprocess.CompletedProcess:
    """Run a command in this process with this standard input; whatever happens, it must not show a traceback."""
    contents = (b"", b"", input.encode())
    streams = [io.TextIOWrapper(io.BytesIO(each), encoding="utf-8", write_through=True) for each in contents]
    with (
        pytest.MonkeyPatch.context() as patch,
        contextlib.chdir(cwd),
        contextlib.redirect_stdout(streams[0]),
        contextlib.redirect_stderr(streams[1]),
        warnings.catch_warnings(),
    ):
        warnings.simplefilter("default")  # as in a process of its own; here they are errors
        patch.setattr(sys, "argv", ["holdfast", *map(str, arguments)])
        patch.setattr(sys, "stdin", streams[2])
        patch.delenv("HOLDFAST_DEBUG", raising=False)
        patch.delenv("HOLDFAST_DATA", raising=False)
        found = app.run()
    said = (stream.buffer.getvalue().decode() for stream in streams[:2])
    return _checked(subprocess.CompletedProcess(arguments, found, *said), code)


def start(*arguments, cwd, code=0, **options) -> subprocess.CompletedProcess:
    """The same as a process, as a user runs it."""
    given = {"env": ENVIRONMENT, "stdin": subprocess.DEVNULL, "timeout": 300, **options}
    if "input" in given:
        del given["stdin"]
    command = [PROGRAM, *map(str, arguments)]
    return _checked(subprocess.run(command, cwd=cwd, capture_output=True, text=True, **given), code)


def _checked(done, code):
    assert "Traceback" not in done.stderr + done.stdout
    assert "bug in holdfast" not in done.stderr
    assert code is None or done.returncode == code, done.stderr + done.stdout
    return done
