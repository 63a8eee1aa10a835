"""Collections of rows, cut into blocks."""

import ast
from pathlib import Path

import numpy as np
import pytest

import holdfast
from holdfast.base.collections import is_dask, labels_in_blocks, starts_of

SOURCE = Path(holdfast.__file__).parent
KNOW_DASK = {"base/collections.py", "learn/dask.py"}


def test_arrays_are_no_collections():
    da = pytest.importorskip("dask.array")
    assert is_dask(da.zeros((2, 2)))
    assert not is_dask(np.ones((2, 2)))


def test_two_files_know_dask():
    found = set()
    for file in SOURCE.rglob("*.py"):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            modules = [alias.name for alias in node.names] if isinstance(node, ast.Import) else []
            modules += [node.module or ""] if isinstance(node, ast.ImportFrom) else []
            if {module.split(".")[0] for module in modules} & {"dask", "distributed"}:
                found.add(str(file.relative_to(SOURCE)))
    assert found == KNOW_DASK


@pytest.mark.parametrize("wanted", [[10], [3, 3, 4], [1, 9], [5, 5]])
def test_labels_are_cut_anew(wanted):
    dask = pytest.importorskip("dask")
    da = pytest.importorskip("dask.array")
    rows = np.arange(10)
    for labels in (rows, rows.tolist(), da.from_array(rows, chunks=((4, 1, 5),))):
        found = dask.compute(*labels_in_blocks(labels, wanted))
        assert [len(block) for block in found] == wanted
        np.testing.assert_array_equal(np.concatenate(found), rows)
    with pytest.raises(ValueError, match="X has 3 rows, but y has 10"):
        labels_in_blocks(rows, [3])


def test_starts_are_sums_of_lengths():
    assert starts_of([4, 1, 5]).tolist() == [0, 4, 5, 10]
