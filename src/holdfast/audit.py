"""The main job in one call: train a metric and its robust twin, certify both, attack both."""

from dataclasses import dataclass, field

import numpy as np
from sklearn.pipeline import Pipeline

from holdfast.certificates.certificate import Certificate


@dataclass(frozen=True, eq=False)
class AuditResult:
    """Everything an audit found; a report is made of this alone.

    Attributes
    ----------
    name : str
        Of the data set, or of the file it came from.
    target : str
        Name of the column that is predicted.
    feature_names : list of str
        The columns of X, numeric (after one-hot encoding, if there was any).
    frozen : ndarray of bool of shape (n_features,)
        Features an attacker is taken not to move (encoded categories).
    classes : list
        The labels.
    X_train, y_train, X_test, y_test : ndarrays
        In raw units.
    scale : ndarray of shape (n_features,)
        Standard deviation of each feature in the training part: a radius of 1 is a move of one of these.
    radius : float
        The radius asked for, in standardised units.
    models : dict
        ``"base"`` and ``"robust"``: fitted pipelines that take raw rows.
    methods : dict
        What each is, in words: ``{"base": "LMNN", "robust": "LMNN-PL"}``.
    certificates : dict
        Of the test part, by model; radii in standardised units, adversarial rows in raw units.
    settings, versions : dict
        What was asked for and chosen; the packages it ran on.
    data_hash : str
        SHA-256 of the data.
    seconds : dict
        Time of each stage.
    notes : list of str
        What was done to the data, in sentences.
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
