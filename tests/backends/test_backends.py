"""The choice of a back end, the Protocols, and the work on blocks without any engine."""

import ast
import inspect
from pathlib import Path

import numpy as np
import pytest

from holdfast import backends
from holdfast.backends import backend_for, base, blocks, is_dask
from holdfast.backends.memory import MemoryBackend
from holdfast.backends.worker_objects import WorkerObject


def methods(protocol):
    return {name for name, value in vars(protocol).items() if inspect.isfunction(value) and not name.startswith("_")}


def test_arrays_are_worked_on_in_memory():
    assert isinstance(backend_for([[1.0]]), MemoryBackend)
    assert not is_dask(np.ones((2, 2)))


def test_collections_are_worked_on_by_dask():
    da = pytest.importorskip("dask.array")
    from holdfast.backends.dask import DaskBackend, DaskEngine
    from holdfast.backends.engine import Engine

    assert isinstance(backend_for(da.zeros((2, 2))), DaskBackend)
    assert methods(base.Backend) <= set(dir(DaskBackend))
    assert methods(base.Backend) <= set(dir(MemoryBackend))
    assert methods(Engine) <= set(dir(DaskEngine))


def test_only_one_file_knows_dask_and_none_a_learner():
    folder = Path(backends.__file__).parent
    for file in folder.glob("*.py"):
        modules = set()
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Import):
                modules |= {alias.name for alias in node.names}
            elif isinstance(node, ast.ImportFrom):
                modules.add(node.module)
        assert not [m for m in modules if m.startswith(("holdfast.learners", "holdfast.certificates"))], file
        if file.name != "dask.py":
            assert not [m for m in modules if m.split(".")[0] in ("dask", "distributed")], file


@pytest.mark.parametrize("wanted", [[10], [3, 3, 4], [1, 9], [5, 5]])
def test_blocks_are_cut_anew(wanted):
    rows, lengths = np.arange(10), [4, 1, 5]
    parts = np.split(rows, np.cumsum(lengths)[:-1])
    found = [blocks.join(parts[used], cuts) for used, cuts in blocks.cuts_for(lengths, wanted)]
    assert [len(block) for block in found] == wanted
    np.testing.assert_array_equal(np.concatenate(found), rows)


def test_lengths_at_leaves_are_powers_of_two_leaves():
    assert blocks.lengths_at_leaves([800, 800, 700]) == [1024, 1024, 252]
    assert blocks.lengths_at_leaves([5000, 10]) == [4096, 914]


def test_an_object_is_built_once_and_travels_as_its_data():
    built = []

    def build(*data):
        built.append(data)
        return sum(data)

    kept = WorkerObject(build, 1, 2)
    assert [kept(lambda total, more: total + more, 4) for _ in range(3)] == [7, 7, 7]
    assert built == [(1, 2)]
    kind, arguments = kept.__reduce__()
    assert kind(*arguments)(lambda total: total) == 3
    assert len(built) == 2


def test_read_only_arrays_are_copied():
    array = np.arange(3.0)
    assert blocks.writable(array) is array
    array.setflags(write=False)
    assert blocks.writable(array).flags.writeable
