"""Every example runs, prints something, draws something, and leaves nothing behind."""

import ast
import runpy
from pathlib import Path

import pytest

EXAMPLES = sorted((Path(__file__).parents[2] / "examples").glob("*.py"))


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_runs_headless_without_warnings_and_leaves_no_files(path, tmp_path, monkeypatch, capsys):
    """In this process, where warnings are errors; ``make docs`` runs each again, in the gallery."""
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg", force=True)
    import matplotlib.pyplot as plt

    plt.close("all")
    monkeypatch.chdir(tmp_path)
    runpy.run_path(str(path), run_name="__main__")
    out, err = capsys.readouterr()
    assert err == ""
    assert any(character.isdigit() for character in out), "prints no number"
    assert plt.get_fignums(), "draws nothing"
    plt.close("all")
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
