"""Write a report to disk: complete files or none."""

import json
from pathlib import Path
from typing import Protocol

from holdfast.files import written_atomically
from holdfast.report.html import render_html
from holdfast.report.markdown import render_markdown
from holdfast.report.summary_format import check_summary


class Summarised(Protocol):
    """An audit, as a report sees it: something that can be summarised."""

    def summary(self) -> dict:
        """Everything a report shows, as one dict of JSON types."""


def summarise(result: Summarised) -> dict:
    """Everything a report shows, as one dict of JSON types.

    Parameters
    ----------
    result : AuditResult

    Returns
    -------
    dict
        See :func:`holdfast.audit.summarise`.
    """
    return result.summary()


def write_report(result: Summarised | dict, folder, force: bool = False) -> dict[str, Path]:
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
        Replace existing files.

    Returns
    -------
    dict of str to Path
        ``"html"``, ``"json"``, ``"md"``.
    """
    folder = Path(folder)
    paths = {kind: folder / f"report.{kind}" for kind in ("html", "json", "md")}
    existing = [path for path in paths.values() if path.exists()]
    if existing and not force:
        raise FileExistsError(f"{existing[0]} is already there: choose another folder, or say force=True.")
    texts = _render(result) if isinstance(result, dict) else _texts(result.summary())
    folder.mkdir(parents=True, exist_ok=True)
    for kind, path in paths.items():
        with written_atomically(path) as file:
            file.write(texts[kind].encode())
    return paths


def _texts(summary: dict) -> dict[str, str]:
    return {
        "html": render_html(summary),
        "json": json.dumps(summary, ensure_ascii=False, allow_nan=False, indent=1) + "\n",
        "md": render_markdown(summary),
    }


def _render(summary: dict) -> dict[str, str]:
    """The texts of a summary that may come from anywhere: one that cannot be rendered is refused as damaged."""
    check_summary(summary)
    try:
        return _texts(summary)
    except (ImportError, OSError, MemoryError):
        raise
    except Exception as broken:  # whatever a template or a figure makes of missing or wrong parts
        reason = " ".join(f"{type(broken).__name__}: {broken}".split())[:200]
        raise ValueError(f"The summary is damaged: part of it is missing or of the wrong type ({reason}).") from broken
