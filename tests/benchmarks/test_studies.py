"""The studies, on sets that need no folder of data."""

import pandas as pd
import pytest

from benchmarks.yang.cell import Cell
from benchmarks.yang.figures import STUDIES as FIGURES
from benchmarks.yang.runner import run
from benchmarks.yang.seconds import seconds
from benchmarks.yang.studies import bound, convergence, sensitivity, toy


def test_toy_has_what_the_paper_prints():
    table = toy(seeds=1)
    assert len(table) == 6
    margins = table.set_index(["example", "method"])["margin"]
    assert margins["multicollinearity", "LMNN-PL"] > 5 * margins["multicollinearity", "LMNN"]


@pytest.mark.parametrize(("study", "name"), [(sensitivity, "wine"), (convergence, "wine"), (bound, "iris")])
def test_a_study_is_a_table_and_a_figure(study, name, tmp_path):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    table = study(folder=tmp_path, name=name)
    assert len(table) > 10
    assert set(table["origin"]) == {"not tuned"}
    assert table.notna().all(axis=None)
    figure = FIGURES[study.__name__](table)
    assert figure.axes
    plt.close(figure)


def test_a_study_starts_from_the_parameters_a_run_found(tmp_path):
    assert run([Cell("wine", "LMNN-PL", 0, 3, 2)], tmp_path, say=lambda line: None) == []
    table = sensitivity(folder=tmp_path, name="wine")
    assert set(table["origin"]) == {"tuned with 3 draws"}
    assert (table.groupby("parameter")["tuned"].sum() == 1).all()
    assert isinstance(table, pd.DataFrame)


def test_both_solvers_end_at_a_good_metric():
    last = convergence(name="wine").groupby("solver")["accuracy"].last()
    assert (last > 0.9).all()


def test_seconds_are_those_of_the_tuned_fit_beside_the_printed_ones(tmp_path):
    with pytest.raises(ValueError, match="run some cells first"):
        seconds(folder=tmp_path)
    assert run([Cell("wdbc", "DRIFT", 0, 2, 2)], tmp_path, say=lambda line: None) == []
    table = seconds(folder=tmp_path)
    assert table[["dataset", "method", "published"]].to_numpy().tolist() == [["wdbc", "DRIFT", 5.12]]
    assert 0 < table["seconds"][0] < 5
