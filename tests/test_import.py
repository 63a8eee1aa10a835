"""``import holdfast`` is light, and every public name is there when asked for."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import holdfast


def run(code: str) -> str:
    """What a fresh interpreter prints."""
    return subprocess.run([sys.executable, "-c", code], check=True, capture_output=True, text=True).stdout.strip()


def test_import_alone_brings_no_library():
    heavy = "numpy", "scipy", "sklearn", "numba", "pandas", "joblib"
    assert run(f"import sys, holdfast; print([name for name in {heavy} if name in sys.modules])") == "[]"


@pytest.mark.parametrize("name", holdfast.__all__)
def test_public_names_can_be_imported(name):
    assert getattr(holdfast, name).__name__.removeprefix("holdfast.") == name  # audit is a module that can be called
    assert name in dir(holdfast)


def test_star_and_submodules():
    code = "from holdfast import *; import holdfast; print(LMNN.__name__, certify.__name__, holdfast.learn.__name__)"
    assert run(code) == "LMNN certify holdfast.learn"


def test_no_other_names():
    for name in ("nonsense", "_nonsense", "__wrapped__"):
        assert not hasattr(holdfast, name)


def test_type_checkers_see_the_same_names():
    block = next(node for node in ast.parse(Path(holdfast.__file__).read_text()).body if isinstance(node, ast.If))
    seen = {(line.module, name.asname) for line in block.body for name in line.names}
    assert seen == {(f"holdfast.{module}", name) for module, names in holdfast._NAMES.items() for name in names}


def test_nothing_is_compiled_at_import():
    kernels = "_core.geometry.scan", "_core.geometry.pair_squares", "learn.terms._push"
    imports = [f"from holdfast.{kernel.rpartition('.')[0]} import {kernel.rpartition('.')[2]}" for kernel in kernels]
    found = ", ".join(f"{kernel.rpartition('.')[2]}.signatures" for kernel in kernels)
    assert run("; ".join([*imports, f"print([{found}])"])) == "[[], [], []]"
