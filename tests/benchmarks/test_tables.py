"""Tables, on rows made up so that the answer is known."""

import numpy as np
import pandas as pd
import pytest

from benchmarks.yang import readme
from benchmarks.yang.store import published
from benchmarks.yang.tables import (
    certified,
    chosen,
    compare,
    grid,
    headline,
    headline_sentence,
    make,
    markdown,
    on_average,
    outperform,
    summary,
)

COMMON = {
    "preprocessing": "paper", "draws": 50, "folds": 5, "seconds_fit": 1.0, "seconds_tuning": 10.0, "holdfast": "0",
    "numpy": "0", "scikit-learn": "0", "numba": "0", "python": "3", "system": "x", "cores": "2", "level": 0.0,
}  # fmt: skip


def rows(method, values, dataset="iris", condition="clean", score="accuracy", **more):
    made = [{**COMMON, "value": value, "round": k} for k, value in enumerate(values)]
    return pd.DataFrame(made).assign(dataset=dataset, method=method, condition=condition, score=score, **more)


def test_means_and_deviations_are_in_percent():
    one = summary(rows("LMNN", [0.8, 0.9])).iloc[0]
    assert one["mean"] == pytest.approx(85)
    assert one["std"] == pytest.approx(100 * np.std([0.8, 0.9], ddof=1))
    assert one["rounds"] == 2


def test_imbalanced_sets_count_by_the_g_mean():
    both = pd.concat([rows("LMNN", [0.9], "ecoli"), rows("LMNN", [0.7], "ecoli", score="g_mean")])
    found = summary(both)
    assert found["score"].tolist() == ["g_mean"]
    assert found["mean"].iloc[0] == pytest.approx(70)


def test_differences_on_average_are_in_published_deviations():
    """iris, LMNN, clean: 87.11 ± 5.08."""
    table = on_average(compare(summary(rows("LMNN", [0.8711 + 0.0508])), published("uci")))
    assert table["method"].tolist() == ["LMNN"]
    assert table["Clean test rows"].tolist() == pytest.approx([1.0])


@pytest.mark.parametrize(
    ("value", "within", "reproduced"),
    [(0.8711, True, True), (0.83, True, True), (0.80, False, False), (0.95, False, True)],
)
def test_comparison_with_the_published_mean(value, within, reproduced):
    """iris, LMNN, clean: 87.11 ± 5.08."""
    both = compare(summary(rows("LMNN", [value, value])), published("uci")).iloc[0]
    assert both["published"] == 87.11
    assert both["difference"] == pytest.approx(100 * value - 87.11)
    assert (both["within"], both["reproduced"]) == (within, reproduced)
    assert both["standard_errors"] == pytest.approx((100 * value - 87.11) / (5.08 / np.sqrt(2)))
    cell = grid(pd.DataFrame([both]), "clean")["LMNN"].iloc[0]
    assert cell.endswith("!") != reproduced


def test_a_method_the_paper_lacks_has_nothing_to_compare_with():
    both = compare(summary(rows("LMNN-PL@0.2", [0.9])), published("uci")).iloc[0]
    assert np.isnan(both["published"])
    assert both["reproduced"] is pd.NA


def test_one_round_without_a_published_deviation():
    both = compare(summary(rows("LMNN", [0.70], "credit")), published("uci")).iloc[0]
    assert both["within"] is pd.NA
    assert both["reproduced"] is pd.NA


def test_outperform_counts_ties_and_common_rounds():
    table = pd.concat(
        [
            rows("LMNN-PL", [0.9, 0.9], "iris"), rows("LMNN", [0.9, 0.9, 0.1], "iris"),
            rows("LMNN-PL", [0.8], "wine"), rows("LMNN", [0.81], "wine"),
            rows("LMNN-PL", [0.8], "sonar"),
        ]
    )  # fmt: skip
    assert outperform(table, "clean", "LMNN-PL", "LMNN") == (1, 2)
    assert outperform(table, "clean", "SCML-PL", "SCML") == (0, 0)


def test_published_outperform_counts_are_the_paper_s():
    from benchmarks.yang.tables import _printed_outperform

    theirs = published("uci")
    counts = [_printed_outperform(theirs, "clean", "LMNN-PL", rival) for rival in ("LMNN", "LDD", "CAP", "SN", "DRIFT")]
    assert counts == [12, 11, 12, 12, 12]
    assert _printed_outperform(theirs, "isotropic_gaussian_snr5", "SCML-PL", "SCML") == 12


def test_the_most_thorough_tuning_counts():
    both = pd.concat([rows("LMNN", [0.5]).assign(draws=5), rows("LMNN", [0.7]), rows("SCML", [0.6]).assign(draws=5)])
    found = summary(chosen(both)).set_index("method")["mean"]
    assert found["LMNN"] == pytest.approx(70)
    assert found["SCML"] == pytest.approx(60)
    assert chosen(both.assign(preprocessing="honest")).empty


def made_up() -> pd.DataFrame:
    parts = []
    for method, clean, held in (("Euclidean", 0.8, 0.5), ("LMNN", 0.9, 0.3), ("LMNN-PL@0.2", 0.91, 0.6)):
        for level, value in ((0.0, clean), (0.05, clean), (0.1, held), (0.2, held), (0.3, 0.0)):
            name = f"certified_{level:g}"
            parts.append(rows(method, [value] * 2, condition=name, score="certified_accuracy").assign(level=level))
        parts.append(rows(method, [clean] * 2))
    return pd.concat(parts, ignore_index=True)


def test_certified_accuracy_and_the_headline():
    table = certified(made_up()).set_index("method")
    assert table.loc["LMNN", 0.2] == pytest.approx(30)
    head = headline(made_up())
    assert head["certified LMNN-PL@0.2"].tolist() == pytest.approx([60])
    words = headline_sentence(head)
    assert "of LMNN on 1, Euclidean on 1, and of all of them on 1 of 1 sets" in words
    assert "Mean clean accuracy: LMNN-PL@0.2 91.00, LMNN 90.00, Euclidean 80.00" in words
    without = made_up()
    assert headline(without[without["method"] != "LMNN-PL@0.2"]).empty


def test_everything_is_written(tmp_path):
    text = make(made_up(), tmp_path)
    assert "### Clean test rows" in text
    assert (tmp_path / "tables" / "headline.csv").is_file()
    assert (tmp_path / "tables" / "tables.md").read_text() == text


def test_markdown():
    frame = pd.DataFrame({"a": [1.0, np.nan], "b": [True, None]})
    assert markdown(frame) == "| a | b |\n| --- | --- |\n| 1.00 | yes |\n|  |  |"


def test_the_results_section_is_replaced_and_nothing_else(tmp_path):
    page = f"before\n\n{readme.BEGIN}\nold\n{readme.END}\n\nafter\n"
    new = readme.replaced(page, "new")
    assert new == f"before\n\n{readme.BEGIN}\n\nnew\n\n{readme.END}\n\nafter\n"
    assert readme.replaced(new, "new") == new
    assert "not been run" in readme.text(pd.DataFrame(), tmp_path)
    assert "91.00" in readme.text(made_up(), tmp_path)


def test_fewer_rounds_are_compared_by_how_hard_they_are():
    plain = rows("Euclidean", [0.7, 0.7, 0.8, 0.8], "isolet")
    ours = summary(pd.concat([plain, rows("CAP", [0.78, 0.80], "isolet")])).set_index("method")
    assert ours.loc["CAP", "ease"] == pytest.approx(-5.0)  # the first two rounds are harder than the four
    assert ours.loc["Euclidean", "ease"] == pytest.approx(0.0)
    both = compare(ours.reset_index(), published("high_dimensional")).set_index("method")
    assert both.loc["CAP", "difference"] == pytest.approx(79.0 + 5.0 - both.loc["CAP", "published"])


def test_every_cell_that_was_not_reached_has_a_reason():
    committed = readme.PAGE.read_text(encoding="utf-8")
    assert "Not reproduced (printed), and why:" in committed
    assert ": not known" not in committed
