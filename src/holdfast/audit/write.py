"""Write an audit to a folder: all its files, or none."""

import os
import shutil
import tempfile
from pathlib import Path

from holdfast.audit.result import AuditResult
from holdfast.persistence import save
from holdfast.report.write import write_report

MODEL = "model.holdfast"
_FILES = ("report.html", "report.json", "report.md", MODEL)


def check_free(folder, force: bool = False) -> None:
    """Refuse a folder that already holds an audit, unless it may be replaced; called before the work."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file: name a folder for the results (--out).")
    existing = [name for name in _FILES if (folder / name).exists()]
    if existing and not force:
        raise FileExistsError(f"{folder / existing[0]} is already there: choose another folder (--out), or --force.")


def write_audit(result: AuditResult, folder, force: bool = False, summary: dict | None = None) -> dict[str, Path]:
    """Write ``report.html``, ``report.json``, ``report.md`` and the robust model, together.

    All files are written to a temporary folder and moved in place at the end. Other files in ``folder`` stay.

    Parameters
    ----------
    result : AuditResult
    folder : path
        Made if it is missing.
    force : bool, default=False
        Replace an existing audit.
    summary : dict, optional
        The summary of the result, if it has been made already.

    Returns
    -------
    dict of str to path
        ``"html"``, ``"json"``, ``"md"``, ``"model"``.
    """
    folder = Path(folder)
    check_free(folder, force)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    try:
        paths = dict(write_report(result.summary() if summary is None else summary, temporary))
        origin: dict = {"data": result.name, "target": result.target, "data_hash": result.data_hash}
        origin |= {"settings": result.settings, "method": result.methods["robust"]}
        paths["model"] = save(result.model("robust"), temporary / MODEL, **origin)
        folder.mkdir(exist_ok=True)
        for path in paths.values():
            os.replace(path, folder / path.name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return {kind: folder / path.name for kind, path in paths.items()}
