"""Links, documents and files that pages refer to are there; every page can be reached."""

import csv
import re

import pytest

from tests.docs.pages import DOCS, ROOT, missing_targets, written_pages

PAGES = written_pages()
every_page = pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(DOCS)))
_DOC_ROLE = re.compile(r"\{doc\}`(?:[^`<]*<)?([^`>]+)>?`")
_TOCTREE = re.compile(r"^```\{toctree\}\n(.*?)^```$", re.DOTALL | re.MULTILINE)
_NAME_ROLE = re.compile(r"\{(?:class|func)\}`~?(holdfast[\w.]*)`")
_FILES = re.compile(r"^(?:```\{(?P<kind>include|image|measured)\} |\.\. (?P<rst>plot):: )(?P<path>\S+)$", re.MULTILINE)


def documents(page):
    """What a page's toctrees list, as paths from docs/ without a suffix."""
    lines = [line for tree in _TOCTREE.findall(page.read_text(encoding="utf-8")) for line in tree.splitlines()]
    named = [line for line in lines if line and not line.startswith(":")]
    inner = [re.sub(r"^.*<(.+)>$", r"\1", line.strip()) for line in named]
    return [(page.parent / name).resolve().relative_to(DOCS).as_posix() for name in inner]


def exists(document):
    return (DOCS / f"{document}.md").is_file() or document == "gallery/index"  # the gallery is made by the build


@every_page
def test_links_lead_somewhere(page):
    assert not missing_targets(page)


@every_page
def test_documents_that_are_named_exist(page):
    for name in _DOC_ROLE.findall(page.read_text(encoding="utf-8")):
        assert exists((page.parent / name).resolve().relative_to(DOCS).as_posix()), name


@every_page
def test_files_that_are_named_exist(page):
    for match in _FILES.finditer(page.read_text(encoding="utf-8")):
        base = {"measured": ROOT, "plot": DOCS}.get(match["kind"] or match["rst"], page.parent)
        assert (base / match["path"]).is_file(), match["path"]


@every_page
def test_python_names_that_are_named_exist(page):
    import importlib

    for name in _NAME_ROLE.findall(page.read_text(encoding="utf-8")):
        module, _, attribute = name.rpartition(".")
        assert hasattr(importlib.import_module(module), attribute), name


def test_every_page_is_in_a_toctree():
    listed = [document for page in PAGES for document in documents(page)]
    assert all(exists(document) for document in listed)
    written = {page.relative_to(DOCS).with_suffix("").as_posix() for page in PAGES}
    assert written - {"index"} == set(listed) - {"gallery/index"}
    assert len(listed) == len(set(listed))


def test_the_paper_calculation_starts_from_what_was_measured():
    """The page on scale rounds the largest measured evaluation to 4 µs and 5 kB a row."""
    with (ROOT / "benchmarks/speed/results/growth.csv").open(encoding="utf-8", newline="") as file:
        largest = max((row for row in csv.DictReader(file) if row["n"]), key=lambda row: int(row["n"]))
    microseconds = 1e3 * float(largest["ms"]) / int(largest["n"])
    kilobytes = 1e3 * float(largest["array_mb"]) / int(largest["n"])
    assert 4 / 2 < microseconds < 4 * 2
    assert 5 / 2 < kilobytes < 5 * 2
