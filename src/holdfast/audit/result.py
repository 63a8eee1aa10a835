"""The result of an audit."""

from dataclasses import dataclass, field

import numpy as np
from sklearn.pipeline import Pipeline

from holdfast.audit.summary import summarise
from holdfast.certificates.certificate import Certificate
from holdfast.datasets.encoder import TableEncoder


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
        Features an attacker is taken not to move (encoded categories).
    classes : list
        The labels.
    X_train, y_train, X_test, y_test : ndarrays
        Rows in raw units, and their labels.
    scale : ndarray of shape (n_features,)
        Standard deviation of each feature in the training part: a radius of 1 is a move of one of these.
    radius : float
        The radius at which certified accuracy is reported, in standard deviations.
    models : dict
        ``"base"`` and ``"robust"``: fitted pipelines that take raw rows.
    methods : dict
        Name of each method: ``{"base": "LMNN", "robust": "LMNN-PL"}``.
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

    def model(self, which: str = "robust") -> Pipeline:
        """Encoder and model in one pipeline that takes the user's table."""
        encoder = [] if self.encoder is None else [("table", self.encoder)]
        return Pipeline([*encoder, *self.models[which].steps])

    def accuracies(self) -> dict[str, dict[str, float]]:
        """Accuracy, attacked and certified accuracy at the radius, and median radius, by model."""
        found = {}
        for which, certificate in self.certificates.items():
            finite = certificate.radius[np.isfinite(certificate.radius)]
            found[which] = {
                "accuracy": float(certificate.certified_accuracy(self.y_test, 0.0)),
                "attacked": float(certificate.attacked_accuracy(self.y_test, self.radius)),
                "certified": float(certificate.certified_accuracy(self.y_test, self.radius)),
                "median_radius": float(np.median(finite)) if finite.size else float("inf"),
            }
        return found

    def summary(self) -> dict:
        """Everything a report shows, as one dict; see :func:`holdfast.audit.summarise`."""
        return summarise(self)
