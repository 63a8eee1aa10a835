"""An audit on disk: all of it, or what was there before."""

import fcntl
import json
import os
from dataclasses import replace

import pytest

from holdfast.auditing import result as writing
from holdfast.auditing.result import write_audit
from holdfast.auditing.run import audit


def test_a_failure_while_writing_leaves_what_was_there(tmp_path, monkeypatch):
    result = audit("iris", tune="none", budget=20, explain=2)
    folder = tmp_path / "result"
    write_audit(result, folder)
    before = {path.name: path.read_bytes() for path in folder.rglob("*.*")}
    assert {"model.holdfast", "logistic.holdfast", "knn.holdfast", "base.holdfast", "robust.holdfast"} <= set(before)
    assert before["model.holdfast"] == before[f"{result.recommended}.holdfast"]

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("holdfast.auditing.result.save", stop)
    with pytest.raises(KeyboardInterrupt):
        write_audit(result, folder, force=True)
    assert {path.name: path.read_bytes() for path in folder.rglob("*.*")} == before
    assert [path.name for path in tmp_path.iterdir()] == ["result"]


def test_a_summary_is_written_as_it_is(audit_result, tmp_path):
    result = replace(audit_result, settings={})
    summary = {**result.summary(), "notes": ["made before"]}
    paths = write_audit(result, tmp_path / "result", summary=summary)
    assert json.loads(paths["json"].read_text(encoding="utf-8")) == summary
    assert sorted(path.name for path in paths.values()) == sorted(p.name for p in (tmp_path / "result").iterdir())


@pytest.fixture(scope="module")
def plain(audit_result):
    return replace(audit_result, settings={})


@pytest.fixture(scope="module")
def summary(plain):
    return plain.summary()


def test_the_models_of_a_replaced_audit_go_and_other_files_stay(plain, summary, tmp_path):
    folder = tmp_path / "result"
    write_audit(plain, folder, summary=summary)
    (folder / "notes.txt").write_text("mine")
    (folder / "models" / "other.holdfast").write_text("no model of holdfast's")
    fields = ("models", "methods", "certificates")
    write_audit(replace(plain, **{each: {"base": getattr(plain, each)["base"]} for each in fields}), folder, force=True)
    assert sorted(path.name for path in (folder / "models").iterdir()) == ["base.holdfast", "other.holdfast"]
    assert (folder / "notes.txt").read_text() == "mine"


def test_one_writer_at_a_time(plain, summary, tmp_path):
    folder = tmp_path / "result"
    folder.mkdir()
    handle = os.open(folder, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    with pytest.raises(FileExistsError, match="Another audit is being written to"):
        write_audit(plain, folder, summary=summary)
    assert not list(folder.iterdir())
    os.close(handle)
    write_audit(plain, folder, summary=summary)


def test_an_audit_that_was_written_meanwhile_is_not_replaced(plain, summary, tmp_path, monkeypatch):
    """Both writers found the folder free before their work."""
    folder, report = tmp_path / "result", writing.write_report

    def slow(told, place):
        monkeypatch.setattr(writing, "write_report", report)
        write_audit(plain, folder, summary={**summary, "notes": ["first"]})
        return report(told, place)

    monkeypatch.setattr(writing, "write_report", slow)
    with pytest.raises(FileExistsError, match="already there"):
        write_audit(plain, folder, summary=summary)
    assert json.loads((folder / "report.json").read_text(encoding="utf-8"))["notes"] == ["first"]


@pytest.mark.parametrize("kept", [0, 6, 11])
def test_a_stop_between_two_files_puts_the_old_ones_back(plain, summary, tmp_path, monkeypatch, kept):
    folder = tmp_path / "result"
    write_audit(plain, folder, summary=summary)
    before = {path.name: path.read_bytes() for path in folder.rglob("*.*")}
    replace_file, done = os.replace, []

    def stops(source, target):
        if "new" in str(source) or "old" in str(target):
            done.append(source)
            if len(done) == kept + 1:
                raise KeyboardInterrupt
        replace_file(source, target)

    monkeypatch.setattr(os, "replace", stops)
    with pytest.raises(KeyboardInterrupt):
        write_audit(plain, folder, force=True, summary=summary)
    monkeypatch.undo()
    assert {path.name: path.read_bytes() for path in folder.rglob("*.*")} == before


def test_report_json_comes_last_and_leftovers_of_killed_writers_go(plain, summary, tmp_path, monkeypatch):
    folder = tmp_path / "result"
    write_audit(plain, folder, summary=summary)
    left = tmp_path / ".result.abcd1234.part"
    (left / "new").mkdir(parents=True)
    used = tmp_path / ".result.abcd5678.part"
    used.mkdir()
    handle = os.open(used, os.O_RDONLY)
    fcntl.flock(handle, fcntl.LOCK_EX)
    names, replace_file = [], os.replace

    def seen(source, target):
        names.append((str(source), os.path.basename(target)))
        replace_file(source, target)

    monkeypatch.setattr(os, "replace", seen)
    write_audit(plain, folder, force=True, summary=summary)
    assert not left.exists()
    assert used.exists()
    os.close(handle)
    placed = [name for source, name in names if "/new/" in source and "/result/" not in name]
    moved = [name for source, name in names if source.startswith(str(folder))]
    assert placed[-1] == "report.json"
    assert moved[0] == "report.json"
