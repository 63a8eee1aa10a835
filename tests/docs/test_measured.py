"""Tables of measurements, and figures, as the pages show them."""

import runpy
import sys

import pytest

from tests.docs.pages import DOCS

FIGURES = sorted(path for path in (DOCS / "figures").glob("*.py") if path.stem != "triplet")
ROWS = [{"learner": "A", "n": "10", "ms": "1.23456"}, {"learner": "B", "n": "20", "ms": ""}]


@pytest.fixture
def measured(monkeypatch):
    pytest.importorskip("docutils")
    monkeypatch.syspath_prepend(DOCS / "_ext")
    import measured

    yield measured
    del sys.modules["measured"]


def test_rows_and_columns_are_chosen(measured):
    columns = measured.pairs("learner=who, ms")
    assert measured.chosen(ROWS, columns, {"n": "20"}) == [{"who": "B", "ms": ""}]
    assert measured.chosen(ROWS, columns, measured.pairs("n!=20")) == [{"who": "A", "ms": "1.23456"}]


@pytest.mark.parametrize(
    ("columns", "where"), [({"seconds": "s"}, {}), ({"ms": "ms"}, {"p": "1"}), ({"n": "n"}, {"n": "7"})]
)
def test_what_the_file_does_not_have_is_an_error(measured, columns, where):
    with pytest.raises(ValueError, match=r"no column|no row"):
        measured.chosen(ROWS, columns, where)


@pytest.mark.parametrize(
    ("cell", "shown"),
    [
        ("1.23456", "1.23"),
        ("687.55", "688"),
        ("12345.6", "12,300"),
        ("60000", "60,000"),
        ("0.000164", "0.000164"),
        ("-0.5", "-0.5"),
        ("1.0", "1"),
        ("nan", "nan"),
        ("", ""),
        ("84.98 ± 0.60", "84.98 ± 0.60"),
    ],
)
def test_numbers_are_rounded_and_words_are_not(measured, cell, shown):
    assert measured.readable(cell, 3) == shown


@pytest.mark.parametrize("path", FIGURES, ids=lambda path: path.stem)
def test_figures_are_drawn(path, monkeypatch):
    plt = pytest.importorskip("matplotlib.pyplot")
    plt.switch_backend("Agg")
    monkeypatch.syspath_prepend(path.parent)
    monkeypatch.setattr(sys, "argv", [str(path)])
    runpy.run_path(str(path))
    assert plt.get_fignums()
    assert all(ax.has_data() for ax in plt.gcf().axes)
    plt.close("all")
    sys.modules.pop("triplet", None)
