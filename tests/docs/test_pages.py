"""What the pages print runs as printed: Python in one namespace a page, ``holdfast`` as a program."""

from functools import partial

import pytest

from tests.docs.pages import DOCS, blocks, commands, run_page, written_pages

RUNNABLE = [page for page in written_pages() if blocks(page)]


@pytest.mark.parametrize("page", RUNNABLE, ids=lambda page: str(page.relative_to(DOCS)))
def test_the_blocks_of_a_page_run(page, tmp_path, monkeypatch):
    matplotlib = pytest.importorskip("matplotlib")
    matplotlib.use("Agg", force=True)
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("HOLDFAST_DATA", raising=False)
    if "LocalCluster(" in page.read_text(
        encoding="utf-8"
    ):  # workers in threads; tests/learn/test_dask_cluster.py has processes
        distributed = pytest.importorskip("distributed")
        threads = partial(distributed.LocalCluster, processes=False, dashboard_address=None)
        monkeypatch.setattr(distributed, "LocalCluster", threads)
    run_page(page)


def test_blocks_are_found_and_told_apart(tmp_path):
    page = tmp_path / "page.md"
    page.write_text(
        "# T\n\n```python\nx = 1\n```\n\n```\nplain\n```\n\n- item\n\n  ```python\n  if x:\n      y = 2\n  ```\n\n"
        "```console\n$ holdfast a 'b c' \\\n  d  # why\nout\n```\n"
    )
    assert [(kind, line) for kind, _, line in blocks(page)] == [("python", 4), ("python", 14), ("console", 19)]
    assert blocks(page)[1][1] == "if x:\n    y = 2\n"
    assert commands(blocks(page)[2][1]) == [["holdfast", "a", "b c", "d"]]


def test_a_block_that_fails_names_its_line(tmp_path):
    page = tmp_path / "page.md"
    page.write_text("# T\n\n```python\nx = 1\n```\n\n```python\nassert x == 2\n```\n")
    with pytest.raises(AssertionError) as caught:
        run_page(page)
    assert caught.traceback[-1].lineno + 1 == 8
