"""Put a report on disk: whole files or none."""

import json
import os
import tempfile
from pathlib import Path

from holdfast.audit import AuditResult
from holdfast.report.html import render_html
from holdfast.report.markdown import render_markdown
from holdfast.report.summary import summarise


def write_report(result: AuditResult | dict, folder, force: bool = False) -> dict[str, Path]:
    """Write ``report.html``, ``report.json`` and ``report.md``.

    Everything is rendered first and each file is put in place in one step, so that an interruption leaves no
    half-written file.

    Parameters
    ----------
    result : AuditResult or dict
        A dict is a summary, as in ``report.json``.
    folder : path
        Made if it is missing.
    force : bool, default=False
        Replace files that are there.

    Returns
    -------
    dict of str to Path
        ``"html"``, ``"json"``, ``"md"``.
    """
    folder = Path(folder)
    paths = {kind: folder / f"report.{kind}" for kind in ("html", "json", "md")}
    there = [path for path in paths.values() if path.exists()]
    if there and not force:
        raise FileExistsError(f"{there[0]} is already there: choose another folder, or say force=True.")
    summary = result if isinstance(result, dict) else summarise(result)
    texts = {
        "html": render_html(summary),
        "json": json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=1) + "\n",
        "md": render_markdown(summary),
    }
    folder.mkdir(parents=True, exist_ok=True)
    for kind, path in paths.items():
        _replace(path, texts[kind])
    return paths


def _replace(path: Path, text: str) -> None:
    """Write beside, then rename over."""
    handle, beside = tempfile.mkstemp(prefix=f".{path.name}.", dir=path.parent)
    try:
        with os.fdopen(handle, "w", encoding="utf-8", newline="\n") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        umask = os.umask(0)
        os.umask(umask)
        os.chmod(beside, 0o666 & ~umask)  # as open() would have made it
        os.replace(beside, path)
    except BaseException:
        Path(beside).unlink(missing_ok=True)
        raise
