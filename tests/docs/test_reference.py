"""The reference is complete, and docstrings follow numpydoc."""

import importlib
import inspect
import pkgutil
import re
from dataclasses import is_dataclass
from enum import Enum

import pytest

import holdfast
from tests.docs.pages import DOCS

INDEX = (DOCS / "api" / "index.md").read_text(encoding="utf-8")
LISTED = set(re.findall(r"^   ~?(holdfast\.[\w.]+)$", INDEX, re.MULTILINE))
INTERNAL = {"cli", "numerics", "base", "_core"}  # the program, and what others stand on: may change without notice
PACKAGES = [f"holdfast.{m.name}" for m in pkgutil.iter_modules(holdfast.__path__) if m.ispkg and m.name not in INTERNAL]
PACKAGES.append("holdfast.learn.solvers")


def public(module: str) -> dict[str, object]:
    """Names of a package that are meant for others: ``__all__``, or what its import lines bring."""
    package = importlib.import_module(module)
    names = getattr(package, "__all__", [name for name in vars(package) if not name.startswith("_")])
    return {
        f"{module}.{name}": getattr(package, name) for name in names if not inspect.ismodule(getattr(package, name))
    }


NAMES = {name: value for module in ["holdfast", *PACKAGES] for name, value in public(module).items()}
DESCRIBED = {
    value: name for name, value in reversed(NAMES.items()) if inspect.isclass(value) or inspect.isroutine(value)
}
described = pytest.mark.parametrize("name", sorted(DESCRIBED.values()))


def test_every_name_at_the_root_is_listed():
    assert {f"holdfast.{name}" for name in holdfast.__all__} <= LISTED


def test_every_package_is_listed():
    assert set(PACKAGES) <= LISTED  # its page is made from its import lines


def test_what_is_listed_exists():
    for name in LISTED:
        module, _, attribute = name.rpartition(".")
        try:
            assert hasattr(importlib.import_module(module), attribute) or importlib.import_module(name)
        except ModuleNotFoundError:
            importlib.import_module(name)


@described
def test_docstrings_have_a_summary_and_name_their_parameters(name):
    value = NAMES[name]
    text = inspect.getdoc(value)
    assert text
    assert text.splitlines()[0].rstrip().endswith((".", ":", "?")), "the first line is a sentence"
    taken = [p for p in inspect.signature(value).parameters if p not in ("self", "args", "kwargs")]
    plain = is_dataclass(value) or (inspect.isclass(value) and issubclass(value, tuple))
    taken = [] if inspect.isclass(value) and issubclass(value, Enum) else taken
    if taken and not inspect.isabstract(value):
        assert "Parameters\n---" in text or (plain and "Attributes\n---" in text)


# What numpydoc.validate is asked for. Left out: where the text starts (GL01 to GL03), a capital first letter
# (SS02: many start with a formula), verbs (SS05), full stops and types of short descriptions (PR04 to PR09, RT), and
# sections the house does without (SA, ES).
CHECKS = {
    "GL05", "GL06", "GL07", "GL08", "GL09", "GL10",
    "SS01", "SS03", "SS04",
    "PR02", "PR10", "YD01",
}  # fmt: skip


@described
def test_docstrings_follow_numpydoc(name):
    validate = pytest.importorskip("numpydoc.validate").validate
    found = {code: text for code, text in validate(name)["errors"] if code in CHECKS}
    assert not found


def test_public_methods_are_described():
    missing = [
        f"{name}.{method}"
        for value, name in DESCRIBED.items()
        if inspect.isclass(value)
        for method, function in vars(value).items()
        if inspect.isfunction(function) and not method.startswith("_") and not inspect.getdoc(getattr(value, method))
    ]
    assert not missing
