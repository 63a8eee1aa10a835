"""Put a report on disk: whole files or none."""

import json
from pathlib import Path

from holdfast.audit import AuditResult
from holdfast.files import written_atomically
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
        with written_atomically(path) as file:
            file.write(texts[kind].encode())
    return paths
