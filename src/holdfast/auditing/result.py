"""The result of an audit, its summary, and its folder."""

import os
import re
import shutil
import tempfile
import zipfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from holdfast.auditing.allowed_moves import (
    DEVIATIONS,
    AllowedMoves,
    category_groups,
    cells_as_numbers,
    one_hot_changes,
    word_changes,
)
from holdfast.auditing.explain import ColumnDependence, Explained, dependence_tables, explained_summary
from holdfast.auditing.sections import (
    Listing,
    accuracy_curve,
    class_table,
    column_effects,
    column_groups,
    errors_at,
    extent,
    feature_moves,
    lower_median,
    metrics_and_margins,
    radius_grid,
    radius_histograms,
    subgroups,
)
from holdfast.auditing.verdict import (
    Compared,
    Verdict,
    budget_summary,
    chance_of_accuracy,
    chance_of_difference,
    confusion,
    majority_scores,
    recommend,
    round_scores,
    scores,
    verdict,
)
from holdfast.base.disk import fcntl
from holdfast.base.inputs import with_names
from holdfast.base.text import json_value, short_name, significant
from holdfast.certificates.certificate import Certificate
from holdfast.certificates.threat import Threat
from holdfast.datasets.checks import Finding
from holdfast.datasets.encoder import TableEncoder
from holdfast.files.archive import HEADER
from holdfast.files.model_file import save
from holdfast.report.html import write_report
from holdfast.report.markdown import FORMAT, KIND


@dataclass(frozen=True, eq=False)
class AuditResult:
    """Data, models and certificates of an audit; a report is made from this alone.

    Attributes
    ----------
    name : str
        Name of the data set, or of its file.
    target : str
        Name of the column that is predicted.
    feature_names : list of str
        The columns of X, numeric (after one-hot encoding, if there was any).
    frozen : ndarray of bool of shape (n_features,)
        Features that are assumed not to move: encoded categories, and what the threat freezes.
    classes : list
        The labels.
    X_train, y_train, X_test, y_test : ndarrays
        Rows in raw units, and their labels.
    scale : ndarray of shape (n_features,)
        Standard deviation of each feature in the training part: a radius of 1 is a move of one of these.
    radius : float
        The radius at which certified accuracy is reported, in standard deviations.
    models : dict
        Fitted pipelines that take raw rows, by key: those of :data:`holdfast.auditing.candidates.CANDIDATES`, or
        ``"yours"``.
    methods : dict
        Name of each method: ``{"base": "LMNN", "robust": "LinearSVC (chosen)"}``.
    certificates : dict
        Certificates of the test rows, by model; radii in standard deviations, adversarial rows in raw units.
    settings, versions : dict
        Parameters given and chosen; versions of the packages.
    data_hash : str
        SHA-256 of the data.
    seconds : dict
        Time of each stage.
    notes : list of str
        Changes made to the data, in sentences.
    encoder : TableEncoder or None
        From the table to X.
    about : dict
        One sentence that explains each method.
    origins : list of str
        For each feature the column of the user's table it is from; empty if they are the same.
    findings : list of Finding
        What the checks of the table found before training.
    test_rows, train_rows : ndarrays of int or None
        Numbers of the rows in the user's table, from 1.
    test_ids, train_ids : ndarrays or None
        Names of the rows, if they have names.
    rows_given : data frame or None
        The test rows as the model takes them, if that is not X_test.
    given_to : tuple of str
        Keys of the models that take rows_given.
    trained_here : bool
        True if X_train is what models were trained on; else it is X_test itself.
    allowed : AllowedMoves or None
        What was allowed to move; None: every feature that is not frozen, in Euclidean length.
    dependence : list of ColumnDependence
        For which rows the answers depend on the sensitive columns.
    words : dict
        Columns of words -> their values, by code.
    explained : Explained or None
        What would have to change for another answer, of some test rows.
    """

    name: str
    target: str
    feature_names: list[str]
    frozen: np.ndarray
    classes: list
    X_train: np.ndarray
    y_train: np.ndarray
    X_test: np.ndarray
    y_test: np.ndarray
    scale: np.ndarray
    radius: float
    models: dict[str, Pipeline]
    methods: dict[str, str]
    certificates: dict[str, Certificate]
    settings: dict = field(default_factory=dict)
    versions: dict = field(default_factory=dict)
    data_hash: str = ""
    seconds: dict = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    encoder: TableEncoder | None = None
    about: dict[str, str] = field(default_factory=dict)
    origins: list[str] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)
    test_rows: np.ndarray | None = None
    train_rows: np.ndarray | None = None
    test_ids: np.ndarray | None = None
    train_ids: np.ndarray | None = None
    rows_given: Any = None
    given_to: tuple[str, ...] = ("yours",)
    trained_here: bool = True
    allowed: AllowedMoves | None = None
    dependence: list[ColumnDependence] = field(default_factory=list)
    words: dict[int, list] = field(default_factory=dict)
    explained: Explained | None = None

    def model(self, which: str | None = None) -> Pipeline:
        """Encoder and model in one pipeline that takes the user's table; by default the recommended model."""
        chosen = self.models[self.recommended if which is None else which]
        if self.encoder is None:
            return chosen
        return Pipeline([("table", self.encoder), *chosen.steps])

    @property
    def recommended(self) -> str:
        """Key of the model with the highest balanced certified accuracy at the radius."""
        return recommend(self.scores())

    @property
    def extent(self) -> float:
        """The diagonal of the box around all rows, in the units of the radius; a larger one is "beyond the data"."""
        rows = np.vstack([self.X_train, self.X_test])
        return extent(rows, self.scale, self.frozen) if self.allowed is None else self.allowed.extent(rows)

    @property
    def units(self) -> str:
        """The units of the radii."""
        return DEVIATIONS if self.allowed is None else self.allowed.units

    def scores(self) -> dict[str, dict]:
        """The numbers that models are compared by; see :func:`holdfast.auditing.verdict.scores`."""
        return {key: scores(found, self.y_test, self.radius) for key, found in self.certificates.items()}

    def accuracies(self) -> dict[str, dict]:
        """Scores and median radius by model, and the same of the most frequent answer, as ``"majority"``."""
        scores_by_model = self.scores()
        for which, certificate in self.certificates.items():
            scores_by_model[which]["median_radius"] = lower_median(certificate.radius)
        scores_by_model["majority"] = {**majority_scores(self.y_train, self.y_test), "median_radius": float("inf")}
        return scores_by_model

    def predict(self, which: str, rows: np.ndarray, of: np.ndarray) -> np.ndarray:
        """Labels of moved rows.

        Parameters
        ----------
        which : str
            Key of a model.
        rows : ndarray
            Like ``X_test[of]``, moved.
        of : ndarray of int
            The test rows they are moved from.
        """
        model = self.models[which]
        if self.rows_given is None or which not in self.given_to:
            return model.predict(with_names(rows, model))
        frame = self.rows_given.iloc[of].copy()
        for k in np.flatnonzero(~self.frozen).tolist():
            frame[frame.columns[k]] = rows[:, k]
        for k, known in self.words.items():
            changed = np.flatnonzero(rows[:, k] != self.X_test[of, k])
            if changed.size:
                cells = frame[frame.columns[k]].astype(object).to_numpy().copy()
                cells[changed] = [known[int(code)] for code in rows[changed, k]]
                frame[frame.columns[k]] = cells
        return model.predict(frame)

    def as_numbers(self, which: str, found: np.ndarray, of: np.ndarray) -> np.ndarray:
        """Moved rows of a certificate of a model, like ``X_test[of]``."""
        words = self.words if which in self.given_to else {}
        if not words and self.rows_given is None:
            return np.asarray(found, dtype=np.float64)
        return cells_as_numbers(found, self.X_test[of], self.frozen, words)

    def changed_categories(self, row: int, moved: np.ndarray) -> tuple[list[dict], np.ndarray]:
        """The categories in which a moved row differs from a test row, and the moved row without these changes."""
        before = self.X_test[row]
        if self.encoder is not None:
            return one_hot_changes(before, moved, category_groups(self.encoder), self.encoder.categories_)
        return word_changes(before, moved, self.feature_names, self.words)

    def _repr_html_(self) -> str:
        """The report, for a notebook, in a frame of its own."""
        from html import escape

        from holdfast.report.html import render_html

        page = escape(render_html(self.summary()), quote=True)
        return f'<iframe srcdoc="{page}" style="width:100%;height:900px;border:0" title="Audit"></iframe>'

    def summary(self) -> dict:
        """Everything a report shows, as one dict; see :func:`holdfast.auditing.summarise`."""
        return summarise(self)


_MAX_NAMES = 40  # frozen features that are listed
_MAX_STEPS = 500  # of a training curve
_MAX_ROWS = 1_200  # test rows whose radii the report holds one by one

_NORMS = {
    "ellipsoid": "the root of the sum of squares over all features",
    "l2": "the root of the sum of squares over all features",
    "linf": "the largest change of any one feature",
    "l1": "the sum of the changes of all features",
}


def summarise(result: "AuditResult") -> dict:
    """Everything a report shows, as one dict of JSON types.

    Parameters
    ----------
    result : AuditResult

    Returns
    -------
    dict
        Its size is bounded whatever the number of rows and features. Values that are not finite are None.
        ``certified_error`` is the share of test rows that are wrong or not proven to stay right within the
        radius, ``attacked_error`` of those that are wrong or were found to change, ``clean_error`` of those
        that are wrong: ``clean ≤ attacked ≤ certified`` at every radius, and the error under the worst
        attack lies between the last two.
    """
    models = [
        {"key": key, "method": short_name(result.methods.get(key, key)), "about": str(result.about.get(key, ""))}
        for key in result.models
    ]
    keys = [model["key"] for model in models]
    certificates = {key: result.certificates[key] for key in keys}
    y = np.asarray(result.y_test)
    right = {key: certificate.prediction == y for key, certificate in certificates.items()}
    at_radius = {key: errors_at(result.radius, certificates[key], right[key]) for key in keys}
    scores_by_model = {key: scores(certificates[key], y, result.radius) for key in keys}
    best = recommend(scores_by_model)
    majority = majority_scores(np.asarray(result.y_train), y)
    radii = radius_grid(certificates.values(), result.radius, result.extent or np.inf)
    norm = certificates[best].norm
    verdict = _verdict(result, models, scores_by_model, best, majority)
    listing = Listing(result)
    summary = {
        "kind": KIND,
        "format": FORMAT,
        "created": datetime.now(UTC).strftime("%Y-%m-%d %H:%M UTC"),
        "data": _data(result),
        "radius": {
            "value": float(result.radius),
            "norm": norm,
            "meaning": _NORMS.get(norm, norm),
            "units": result.units,
        },
        "threat": _threat(result, best),
        "dependence": dependence_tables(result, best),
        "models": models,
        "recommended": best,
        "verdict": verdict.to_dict(),
        "majority": round_scores(majority),
        "scores": {key: round_scores(each) for key, each in scores_by_model.items()},
        "at_radius": at_radius,
        "budget": budget_summary(
            certificates, {m["key"]: m["method"] for m in models}, y, result.radius, result.settings.get("budget")
        ),
        "curve": {
            "radii": significant(radii, 8),
            "at": int(np.searchsorted(radii, result.radius)),
            "models": {key: accuracy_curve(certificates[key], right[key], radii) for key in keys},
        },
        "radii": radius_histograms(certificates, right, radii[-1]),
        **metrics_and_margins(result, keys),
        "effects": column_effects(result, keys),
        "features": feature_moves(result, certificates),
        "predictions": {key: listing.predictions(key, right[key]) for key in keys},
        "far": listing.far(),
        "counterfactuals": explained_summary(result),
        "classes": class_table(y, result.classes, certificates, right, result.radius, best),
        "rows": _rows(result, certificates, right, y),
        "confusion": {key: confusion(y, certificates[key].prediction, result.classes) for key in keys},
        "subgroups": subgroups(result, best),
        "training": {key: _training(result.models[key]) for key in keys},
        "findings": [finding.to_dict() for finding in result.findings],
        "thinned": [],
        "settings": result.settings,
        "versions": result.versions,
        "seconds": {key: significant(value, 4) for key, value in result.seconds.items()},
        "notes": [str(note) for note in result.notes],
    }
    summary["thinned"] = thinned(summary)
    return json_value(summary)


def thinned(summary: dict) -> list[str]:
    """Parts of a report that are about fewer rows than were certified, and questions that were not asked, and why."""
    n, sentences = summary["data"]["n_test"], []
    if summary["effects"]["rows"] < n:
        sentences.append(f"What the models look at: {summary['effects']['rows']:,} of {n:,} test rows.")
    for column in summary["dependence"]:
        rows = column["models"][summary["recommended"]]["within"]["rows"]
        if rows < n:
            sentences.append(
                f"Dependence on {column['column']} where other features move besides: {rows:,} of {n:,} test rows."
            )
    explained = summary["counterfactuals"]
    if explained and len(explained["rows"]) < n:
        sentences.append(f"What would have to change: {len(explained['rows']):,} of {n:,} test rows (--explain).")
    if explained and explained["no_single"]:
        sentences.append(f"A change of one column alone was not looked for: {explained['no_single']}.")
    if summary["rows"] is None:
        sentences.append(f"The slider moves along the curves: {n:,} rows are too many to hold one by one.")
    return sentences


def _verdict(result: "AuditResult", models: list[dict], scores_by_model: dict, best: str, majority: dict) -> Verdict:
    """The verdict, with the chances of differences."""
    y = np.asarray(result.y_test)
    proven = {
        key: (certificate.prediction == y) & (certificate.radius > result.radius)
        for key, certificate in result.certificates.items()
    }
    compared = [
        Compared(m["key"], m["method"], scores_by_model[m["key"]], chance_of_difference(proven[m["key"]], proven[best]))
        for m in models
    ]
    chance = chance_of_accuracy(result.certificates[best].prediction, y)
    return verdict(compared, best, majority, result.radius, len(y), chance, len(np.unique(y)), result.units)


def _rows(result: "AuditResult", certificates: dict, right: dict, y: np.ndarray) -> dict | None:
    """Class and radii of each test row, for the slider; None if there are very many rows."""
    if len(y) > _MAX_ROWS:
        return None
    codes = {label: c for c, label in enumerate(result.classes)}
    return {
        "class": [codes[label] for label in y.tolist()],
        "models": {
            key: {
                "right": [int(ok) for ok in right[key]],
                "radius": significant(certificate.radius, 6),
                "upper": significant(certificate.upper, 6),
            }
            for key, certificate in certificates.items()
        },
    }


def _threat(result: "AuditResult", best: str) -> dict | None:
    """Sentences on what was allowed to move, the threat that was given, and columns that no move changes, with why."""
    if result.allowed is None:
        return None
    given, sentences = result.allowed.given, result.allowed.sentences()
    frozen: dict[str, str] = {}
    for label, why in result.certificates["yours" if "yours" in result.certificates else best].frozen.items():
        feature = label if isinstance(label, int) else result.feature_names.index(str(label))
        column = result.origins[feature] if result.origins else result.feature_names[feature]
        frozen[short_name(column)] = "words" if result.allowed.words[feature] else why
    unread = [name for name, why in frozen.items() if why == "no step reads it"]
    if unread:
        sentences += [
            f"{sentence.removesuffix('.')} the answer: no step of the model reads it."
            for sentence in Threat(frozen=unread).describe()[1:]
        ]
    return {
        "sentences": sentences,
        "given": None if given is None else given.to_dict(),
        "frozen": dict(list(frozen.items())[:_MAX_NAMES]),
    }


def _data(result: "AuditResult") -> dict:
    """Name, size and hash of the data; columns are those of the user's table."""
    columns = column_groups(result)
    still = result.frozen if result.allowed is None else result.allowed.still
    frozen = [name for name, members in columns.items() if still[members].all()]
    return {
        "name": short_name(result.name),
        "target": short_name(result.target),
        "n_train": len(result.X_train) if result.trained_here else 0,
        "n_test": len(result.X_test),
        "n_columns": len(columns),
        "n_features": len(result.feature_names),
        "n_classes": len(result.classes),
        "n_frozen": len(frozen),
        "frozen": [short_name(name) for name in frozen[:_MAX_NAMES]],
        "extent": significant(result.extent, 4),
        "ids": result.test_ids is not None,
        "hash": result.data_hash,
    }


def _training(model) -> dict | None:
    """The objective of the learner, iteration by iteration."""
    trace = _objective_trace(model)
    if trace is None:
        return None
    shown = np.unique(np.linspace(0, trace.size - 1, min(trace.size, _MAX_STEPS)).round().astype(int))
    return {"iteration": shown, "objective": significant(trace[shown], 6)}


def _objective_trace(model) -> np.ndarray | None:
    """``objective_`` of the learner inside a pipeline or classifier, if it has one."""
    steps = [step for _, step in model.steps] if isinstance(model, Pipeline) else [model]
    for step in reversed(steps):
        estimator = step
        while estimator is not None:
            trace = getattr(estimator, "objective_", None)
            if trace is not None and np.size(trace) > 1:
                return np.asarray(trace, dtype=np.float64).ravel()
            estimator = getattr(estimator, "learner_", None)
    return None


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
