"""Write an audit to a folder: all its files, or none, by one writer at a time."""

import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from holdfast.audit.result import AuditResult
from holdfast.files import fcntl
from holdfast.persistence import save
from holdfast.persistence.archive import HEADER
from holdfast.report.write import write_report

MODEL = "model.holdfast"
MODELS = "models"  # folder of everything that was compared
_REPORTS = ("report.html", "report.md", "report.json")
_FILES = (MODEL, *_REPORTS)  # in the order in which they are put in place
_NEW, _OLD = "new", "old"  # within the temporary folder: what is to be put in place, and what was there


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
    folder and moved in place at the end, the models first and ``report.json`` last, so that a folder with a
    ``report.json`` is whole. The models of an audit that is replaced are deleted; other files in ``folder`` stay. A
    second writer to the same folder is refused. A model that was audited as it is, is not written.

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
    _delete_leftovers(folder)
    with _temporary_folder(folder) as temporary:
        (temporary / _NEW).mkdir()
        paths = dict(write_report(result.summary() if summary is None else summary, temporary / _NEW))
        trained = [key for key in result.models if key != "yours"] if "yours" not in result.models else []
        if trained:
            _write_models(result, trained, temporary / _NEW)
            paths |= {"model": temporary / _NEW / MODEL, "models": temporary / _NEW / MODELS}
        folder.mkdir(exist_ok=True)
        handle = _lock(folder)
        if handle is None:
            raise FileExistsError(f"Another audit is being written to {folder} now: choose another folder (--out).")
        try:
            check_free(folder, force)  # another one may have been written there since
            _replace(folder, temporary)
        finally:
            os.close(handle)
    return {kind: folder / path.name for kind, path in paths.items()}


def _replace(folder: Path, temporary: Path) -> None:
    """Move the old files out, and the new ones in; after an error the old ones are back."""
    new, old = temporary / _NEW, temporary / _OLD
    (old / MODELS).mkdir(parents=True)
    incoming = [f"{MODELS}/{each.name}" for each in sorted(new.glob(f"{MODELS}/*"))]
    incoming += [each for each in _FILES if (new / each).exists()]
    there = [each for each in _FILES[::-1] if (folder / each).exists()]
    there += [f"{MODELS}/{each.name}" for each in (folder / MODELS).glob("*.holdfast")]
    outgoing = [each for each in there if each in incoming or each in _REPORTS or _is_model(folder / each)]
    moved = []
    try:
        for source, target, names in ((folder, old, outgoing), (new, folder, incoming)):
            for name in names:
                (target / name).parent.mkdir(exist_ok=True)
                os.replace(source / name, target / name)
                moved.append((source / name, target / name))
    except BaseException:
        for source, target in reversed(moved):
            os.replace(target, source)
        raise
    if (folder / MODELS).is_dir() and not any((folder / MODELS).iterdir()):
        (folder / MODELS).rmdir()


def _is_model(path: Path) -> bool:
    """True if holdfast has written this file."""
    try:
        with zipfile.ZipFile(path) as file:
            return HEADER in file.namelist()
    except (OSError, zipfile.BadZipFile):
        return False


@contextmanager
def _temporary_folder(folder: Path) -> Iterator[Path]:
    """A folder beside another one, locked for as long as it is needed, and deleted at the end."""
    handle = None
    while handle is None:
        path = Path(tempfile.mkdtemp(prefix=f".{folder.name}.", suffix=".part", dir=folder.parent))
        handle = _lock(path)
        if handle is not None and not path.exists():  # taken for a leftover before it was locked
            os.close(handle)
            handle = None
    try:
        yield path
    finally:
        shutil.rmtree(path, ignore_errors=True)
        os.close(handle)


def _delete_leftovers(folder: Path) -> None:
    """Delete what killed processes left beside a folder: their locks ended with them."""
    pattern = re.compile(re.escape(f".{folder.name}.") + r"[a-z0-9_]{8}\.part")  # as mkdtemp names them
    for leftover in folder.parent.iterdir():
        if fcntl is not None and pattern.fullmatch(leftover.name) and leftover.is_dir() and not leftover.is_symlink():
            handle = _lock(leftover)
            if handle is not None:
                shutil.rmtree(leftover, ignore_errors=True)
                os.close(handle)


def _lock(folder: Path) -> int | None:
    """Lock a folder until the handle is closed; None if another process, or thread, has locked it."""
    if fcntl is None:  # Windows, where folders cannot be opened
        return os.open(os.devnull, os.O_RDONLY)
    try:
        handle = os.open(folder, os.O_RDONLY)
    except FileNotFoundError:
        return None
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        return None
    except OSError:  # a file system without locks
        pass
    return handle


def _write_models(result: AuditResult, keys: list[str], folder: Path) -> None:
    """Save each model under its key, and the recommended one as ``model.holdfast``."""
    (folder / MODELS).mkdir()
    origin: dict = {"data": result.name, "target": result.target, "data_hash": result.data_hash}
    for key in keys:
        about = origin | {"settings": result.settings, "method": result.methods[key]}
        path = save(result.model(key), folder / MODELS / f"{key}.holdfast", **about)
        if key == result.recommended:
            shutil.copyfile(path, folder / MODEL)
