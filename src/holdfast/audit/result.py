"""The result of an audit."""

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from sklearn.pipeline import Pipeline

from holdfast.audit.allowed_moves import DEVIATIONS, AllowedMoves, category_groups
from holdfast.audit.category_cells import cells_as_numbers, one_hot_changes, word_changes
from holdfast.audit.dependence import ColumnDependence
from holdfast.audit.distance import extent
from holdfast.audit.explained import Explained
from holdfast.audit.scores import majority_scores, scores
from holdfast.audit.summary import summarise
from holdfast.audit.verdict import recommend
from holdfast.certificates.certificate import Certificate
from holdfast.datasets.checks import Finding
from holdfast.datasets.encoder import TableEncoder
from holdfast.numerics.frames import with_names


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
        Fitted pipelines that take raw rows, by key: those of :data:`holdfast.audit.candidates.CANDIDATES`, or
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
        """The numbers that models are compared by; see :func:`holdfast.audit.scores.scores`."""
        return {key: scores(found, self.y_test, self.radius) for key, found in self.certificates.items()}

    def accuracies(self) -> dict[str, dict]:
        """Scores and median radius by model, and the same of the most frequent answer, as ``"majority"``."""
        scores_by_model = self.scores()
        for which, certificate in self.certificates.items():
            finite = certificate.radius[np.isfinite(certificate.radius)]
            scores_by_model[which]["median_radius"] = float(np.median(finite)) if finite.size else float("inf")
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
        """Everything a report shows, as one dict; see :func:`holdfast.audit.summarise`."""
        return summarise(self)
