"""An audit on disk: all of it, or what was there before."""

import json
from dataclasses import replace

import pytest

from holdfast.audit import audit, write_audit


def test_a_failure_while_writing_leaves_what_was_there(tmp_path, monkeypatch):
    result = audit("iris", tune="none", budget=20, explain=2)
    folder = tmp_path / "result"
    write_audit(result, folder)
    before = {path.name: path.read_bytes() for path in folder.rglob("*.*")}
    assert {"model.holdfast", "logistic.holdfast", "knn.holdfast", "base.holdfast", "robust.holdfast"} <= set(before)
    assert before["model.holdfast"] == before[f"{result.recommended}.holdfast"]

    def stop(*args, **kwargs):
        raise KeyboardInterrupt

    monkeypatch.setattr("holdfast.audit.write.save", stop)
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
