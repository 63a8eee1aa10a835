import pandas as pd

from benchmarks.frontier.__main__ import keep, run
from benchmarks.frontier.cell import Cell, run_cell
from benchmarks.frontier.data import development_round, table_round
from benchmarks.frontier.tables import FRONT_PAGE, README, RESULTS, headline, overall, per_set, table


def test_development_splits_are_not_those_of_the_table():
    ours, theirs = development_round("iris", 0), table_round("iris", 0)
    assert len(ours.y_train) == len(theirs.y_train)
    assert {tuple(row) for row in ours.X_test} != {tuple(row) for row in theirs.X_test}


def test_a_cell_certifies_no_more_than_it_gets_right(tmp_path):
    rows = run_cell(Cell("iris", "linear SVM", 0))
    certified = [row for row in rows if row["score"] != "not changed"]
    assert [row["radius"] for row in certified] == [0.0, 0.1, 0.2, 0.3]
    values = [row["value"] for row in certified]
    assert values == sorted(values, reverse=True)
    seen = [row["value"] for row in rows if row["score"] == "not changed"]
    assert seen == values[1:]  # a linear model is certified exactly


def test_moves_in_linf_and_larger_sets():
    rows = run_cell(Cell("iris", "linear SVM", 0, linf=True))
    assert sorted({row["radius"] for row in rows}) == [0.0, 0.025, 0.05, 0.1]
    part = table_round("digits", 0)
    assert (len(part.y_train), len(part.y_test)) == (898, 899)


def test_a_run_goes_on_where_it_was(tmp_path, capsys, monkeypatch):
    cells = [Cell("iris", "gradient boosting", 0), Cell("iris", "adversarial pruning", 0)]
    run(tmp_path, cells)
    assert capsys.readouterr().out.count("round 0") == 2
    run(tmp_path, cells)
    assert capsys.readouterr().out == ""
    from benchmarks.frontier import __main__ as command

    monkeypatch.setattr(command, "RESULTS", tmp_path)
    keep(tmp_path)
    assert len(pd.read_parquet(tmp_path / "rows.parquet")) == 8


def test_the_table_reads_the_rows_that_are_kept():
    text = table()
    assert "RobustClassifierCV" in text
    assert "LMNN-PL" in text


def test_the_tables_on_the_pages_are_those_of_the_rows():
    readme = README.read_text(encoding="utf-8")
    assert table() in readme
    assert headline() in FRONT_PAGE.read_text(encoding="utf-8")
    for name, made in (("overall", overall()), ("per_set", per_set())):
        assert (RESULTS / f"{name}.csv").read_text(encoding="utf-8") == made.to_csv(index=False)
