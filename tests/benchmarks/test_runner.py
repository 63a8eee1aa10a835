"""The tiny profile end to end; a run that was killed goes on; a worker that dies loses nothing."""

import os
import signal
import subprocess
import sys
import time
from dataclasses import replace

import pandas as pd
import pytest

from benchmarks.yang import conditions, runner
from benchmarks.yang.__main__ import main
from benchmarks.yang.cell import RADII, Cell
from benchmarks.yang.methods import METHODS
from benchmarks.yang.runner import PROFILES, cells, run
from benchmarks.yang.sets import SETS
from benchmarks.yang.store import CELLS, collect, load, write
from tests.benchmarks.conftest import ROOT

TINY = ["run", "--profile", "tiny", "--rounds", "1"]
KEPT = ["dataset", "method", "round", "condition", "score", "value", "parameters"]


def test_tiny_end_to_end(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(conditions, "N_NOISY", 200)
    out = ["--sets", "iris", "--out", str(tmp_path)]
    assert main([*TINY, *out, "--tables"]) == 0
    said = capsys.readouterr().out
    assert "5 cells, 0 of them already there" in said
    assert "### Certified accuracy" in said
    rows = load(tmp_path)
    assert set(rows["method"]) == set(PROFILES["tiny"].methods)
    assert rows["value"].between(0, 1.5).all()
    assert (rows.groupby(["dataset", "method"])["score"].apply(lambda s: (s == "certified_accuracy").sum()) == 11).all()
    assert len(RADII) == 11
    assert {"seconds_fit", "seconds_tuning", "holdfast", "system"} <= set(rows.columns)
    assert (tmp_path / "tables" / "comparison.csv").is_file()
    assert (tmp_path / "figures" / "certified.png").is_file()
    assert main([*TINY, *out]) == 0
    assert "5 cells, 5 of them already there" in capsys.readouterr().out
    assert main(["keep", *out[2:]]) == 0
    pd.testing.assert_frame_equal(load(tmp_path), rows)


def test_a_killed_run_goes_on_where_it_was(tmp_path, capsys):
    options = [*TINY, "--sets", "wine", "--draws", "2", "--out"]
    command = [sys.executable, "-m", "benchmarks.yang", *options, str(tmp_path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    for line in process.stdout:
        if line.startswith("[2/"):
            break
    process.send_signal(signal.SIGKILL)
    process.wait()
    process.stdout.close()
    before = {path: path.stat().st_mtime_ns for path in (tmp_path / CELLS).rglob("*.parquet")}
    assert 2 <= len(before) <= 4
    assert main([*options, str(tmp_path)]) == 0
    assert f"5 cells, {len(before)} of them already there" in capsys.readouterr().out
    assert all(path.stat().st_mtime_ns == written for path, written in before.items())
    whole = tmp_path / "whole"
    assert main([*options, str(whole)]) == 0
    pd.testing.assert_frame_equal(collect(tmp_path)[KEPT], collect(whole)[KEPT])


def test_processes_give_the_same_rows(tmp_path):
    todo = cells(replace(PROFILES["tiny"], sets=["iris"], methods=["Euclidean", "LMNN-PL"]))
    for jobs in (1, 2):
        assert run(todo, tmp_path / str(jobs), jobs=jobs, say=lambda line: None) == []
    pd.testing.assert_frame_equal(collect(tmp_path / "1")[KEPT], collect(tmp_path / "2")[KEPT])


def test_a_cell_that_fails_does_not_end_the_run(tmp_path):
    lines = []
    todo = [Cell("iris", "Euclidean", 99), Cell("iris", "Euclidean", 0)]
    assert run(todo, tmp_path, say=lines.append) == todo[:1]
    assert any("FAILED" in line and "rounds 0 to 19" in line for line in lines)
    assert len(list((tmp_path / CELLS).rglob("*.parquet"))) == 1


def test_an_unfinished_file_is_no_cell(tmp_path):
    class Broken(pd.DataFrame):
        def to_parquet(self, path, **options):
            with open(path, "w") as file:
                file.write("half")
            raise OSError("disk full")

    with pytest.raises(OSError, match="disk full"):
        write(tmp_path / CELLS / "x.parquet", Broken())
    assert list((tmp_path / CELLS).iterdir()) == []


def test_profiles_name_what_there_is():
    for profile in PROFILES.values():
        assert set(profile.sets) <= set(SETS)
        assert set(profile.methods) <= set(METHODS)
    full = cells(PROFILES["full"])
    assert len(full) == len({cell.path for cell in full}) == (12 * 20 + 1 + 4 + 1) * len(METHODS)
    assert Cell("iris", "LMNN", 0, 10, 3).path != Cell("iris", "LMNN", 0, 50, 5).path


def test_a_wrong_name_is_refused(capsys):
    with pytest.raises(SystemExit):
        main(["run", "--methods", "LMNNPL"])
    assert "LMNN-PL@0.2" in capsys.readouterr().err


@pytest.mark.filterwarnings("ignore")
def test_dask_loses_nothing_when_a_worker_is_killed(tmp_path, local_cluster):
    todo = cells(replace(PROFILES["tiny"], sets=["wine"], methods=["Euclidean", "LMNN"], rounds=2, draws=2))
    killed = []
    with local_cluster(2) as cluster:
        workers = list(cluster.scheduler_info["workers"].values())
        names = [worker["name"] for worker in workers]
        pids = {name: cluster.workers[name].pid for name in names}

        def say(line: str) -> None:
            if line.startswith("[2/") and not killed:
                os.kill(pids[names[0]], signal.SIGKILL)
                killed.append(time.perf_counter())

        assert run(todo, tmp_path, dask=cluster.scheduler_address, say=say) == []
    assert killed
    assert len(list((tmp_path / CELLS).rglob("*.parquet"))) == len(todo)
    alone = tmp_path / "alone"
    runner.run([cell for cell in todo if cell.round == 0], alone, say=lambda line: None)
    part = collect(tmp_path)
    part = part[part["round"] == 0].reset_index(drop=True)
    pd.testing.assert_frame_equal(part[KEPT], collect(alone)[KEPT])
