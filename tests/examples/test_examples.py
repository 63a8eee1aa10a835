"""Every example runs as a user runs it, prints something, draws something, and leaves nothing behind."""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))

# Runs a script with warnings as errors, then tells how many figures it has made.
RUN = """
import runpy, sys, warnings
import matplotlib.pyplot as plt
warnings.simplefilter("error")
runpy.run_path(sys.argv[1], run_name="__main__")
print("figures:", len(plt.get_fignums()))
"""


def surroundings() -> dict[str, str]:
    """This process's environment, no screen, one thread; a cache of compiled code stays where it is."""
    found = os.environ | {"MPLBACKEND": "Agg", "OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
    if found.get("NUMBA_CACHE_DIR"):
        found["NUMBA_CACHE_DIR"] = str(Path(found["NUMBA_CACHE_DIR"]).resolve())
    return found


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_runs_headless_without_warnings_and_leaves_no_files(path, tmp_path):
    command = [sys.executable, "-c", RUN, str(path)]
    done = subprocess.run(
        command, cwd=tmp_path, env=surroundings(), capture_output=True, text=True, timeout=300, check=False
    )
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    *printed, figures = done.stdout.splitlines()
    assert any(character.isdigit() for line in printed for character in line), "prints no number"
    assert int(figures.removeprefix("figures: ")) >= 1, "draws nothing"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_opens_with_a_title_and_has_cells(path):
    source = path.read_text(encoding="utf-8")
    title, underline, *rest = ast.get_docstring(ast.parse(source)).splitlines()
    assert set(underline) == {"="}
    assert len(underline) == len(title)
    assert any(rest)
    assert source.count("\n# %%\n") >= 3


def test_there_are_enough():
    assert len(EXAMPLES) >= 10
