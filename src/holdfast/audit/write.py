"""Write an audit to a folder: all its files, or none."""

import os
import shutil
import tempfile
from pathlib import Path

from holdfast.audit.result import AuditResult
from holdfast.persistence import save
from holdfast.report.write import write_report

MODEL = "model.holdfast"
MODELS = "models"  # folder of everything that was compared
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
    """Write ``report.html``, ``report.json``, ``report.md``, the recommended model and all that were compared.

    ``model.holdfast`` is the recommended one; ``models/KEY.holdfast`` are all. All files are written to a temporary
    folder and moved in place at the end. Other files in ``folder`` stay. A model that was audited as it is, is not
    written.

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
        ``"html"``, ``"json"``, ``"md"``, and, if models were trained, ``"model"`` and ``"models"``.
    """
    folder = Path(folder)
    check_free(folder, force)
    folder.parent.mkdir(parents=True, exist_ok=True)
    temporary = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
    try:
        paths = dict(write_report(result.summary() if summary is None else summary, temporary))
        trained = [key for key in result.models if key != "yours"] if "yours" not in result.models else []
        if trained:
            _write_models(result, trained, temporary)
            paths |= {"model": temporary / MODEL, "models": temporary / MODELS}
        folder.mkdir(exist_ok=True)
        for path in paths.values():
            if path.is_dir():
                (folder / MODELS).mkdir(exist_ok=True)
                for each in path.iterdir():
                    os.replace(each, folder / MODELS / each.name)
            else:
                os.replace(path, folder / path.name)
    finally:
        shutil.rmtree(temporary, ignore_errors=True)
    return {kind: folder / path.name for kind, path in paths.items()}


def _write_models(result: AuditResult, keys: list[str], folder: Path) -> None:
    """Save each model under its key, and the recommended one as ``model.holdfast``."""
    (folder / MODELS).mkdir()
    origin: dict = {"data": result.name, "target": result.target, "data_hash": result.data_hash}
    for key in keys:
        about = origin | {"settings": result.settings, "method": result.methods[key]}
        path = save(result.model(key), folder / MODELS / f"{key}.holdfast", **about)
        if key == result.recommended:
            shutil.copyfile(path, folder / MODEL)
