"""Where an audit is put: a folder that is whole, or not there."""

import os
import shutil
import tempfile
from pathlib import Path

from holdfast.audit import AuditResult
from holdfast.persistence import save

MODEL = "model.holdfast"
_FILES = ("report.html", "report.json", "report.md", MODEL)


def check_free(folder, force: bool = False) -> None:
    """Refuse a folder that holds an audit already, unless it may be replaced; called before the work."""
    folder = Path(folder)
    if folder.exists() and not folder.is_dir():
        raise NotADirectoryError(f"{folder} is a file: name a folder for the results (--out).")
    there = [name for name in _FILES if (folder / name).exists()]
    if there and not force:
        raise FileExistsError(f"{folder / there[0]} is already there: choose another folder (--out), or --force.")


def write_audit(result: AuditResult, folder, force: bool = False) -> dict[str, Path]:
    """``report.html``, ``report.json``, ``report.md`` and the robust model, together.

    All files are written to a folder beside and moved in place at the end. Other files in ``folder`` stay.

    Parameters
    ----------
    result : AuditResult
    folder : path
        Made if it is missing.
    force : bool, default=False
        Replace an audit that is there.

    Returns
    -------
    dict of str to path
        ``"html"``, ``"json"``, ``"md"``, ``"model"``.
    """
    from holdfast.report import write_report

    folder = Path(folder)
    check_free(folder, force)
    folder.parent.mkdir(parents=True, exist_ok=True)
    beside = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    try:
        paths = dict(write_report(result, beside))
        about: dict = {"data": result.name, "target": result.target, "data_hash": result.data_hash}
        about |= {"settings": result.settings, "method": result.methods["robust"]}
        paths["model"] = save(result.model("robust"), beside / MODEL, **about)
        folder.mkdir(exist_ok=True)
        for path in paths.values():
            os.replace(path, folder / path.name)
    finally:
        shutil.rmtree(beside, ignore_errors=True)
    return {kind: folder / path.name for kind, path in paths.items()}
