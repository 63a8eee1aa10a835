"""Audits to report on: wine, plain and with hostile names."""

from dataclasses import replace
from functools import cache

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import LMNN, CertifiedKNeighborsClassifier, Perturbation, certify
from holdfast.auditing.result import AuditResult

IMG = "<img src=x onerror=alert(1)>"
SCRIPT = "</script><script>window.hacked=1</script>"
QUOTES = "\"'><svg/onload=alert(2)> {{ 7*7 }} <!--"


@cache
def make_audit(n_neighbors: int = 1, frozen: tuple[int, ...] = ()) -> AuditResult:
    """An audit of wine, small enough for a test."""
    data = load_wine()
    X, y = data.data, data.target_names[data.target].astype(object)
    train, test = np.arange(len(y)) % 3 != 0, np.arange(len(y)) % 3 == 0
    scale = X[train].std(axis=0)
    fixed = np.zeros(X.shape[1], bool)
    fixed[list(frozen)] = True
    models, certificates = {}, {}
    for key, learner in (("base", LMNN()), ("robust", LMNN(perturbation=Perturbation(tau=0.5, weight=5.0)))):
        knn = CertifiedKNeighborsClassifier(learner, n_neighbors=n_neighbors)
        models[key] = make_pipeline(StandardScaler(), knn).fit(X[train], y[train])
        limits = {"frozen": fixed} if fixed.any() else {}
        certificates[key] = certify(models[key], X[test], y[test], norm=np.diag(1 / scale**2), budget=400, **limits)
    return AuditResult(
        name="wine",
        target="cultivar",
        feature_names=list(data.feature_names),
        frozen=fixed,
        classes=sorted(set(y)),
        X_train=X[train],
        y_train=y[train],
        X_test=X[test],
        y_test=y[test],
        scale=scale,
        radius=0.5,
        models=models,
        methods={"base": "LMNN", "robust": "LMNN-PL"},
        certificates=certificates,
        settings={"radius": np.float64(0.5), "base": {"k": np.int64(1)}, "limit": np.inf},
        versions={"holdfast": "0"},
        data_hash="ab" * 32,
        seconds={"fit": np.float32(0.25)},
        notes=["Nothing was imputed."],
    )


@pytest.fixture(scope="session")
def audit_result() -> AuditResult:
    return make_audit()


@pytest.fixture(scope="session")
def hostile(audit_result) -> AuditResult:
    """The same, every name of the user's an attempt at injection."""
    names = list(audit_result.feature_names)
    names[:4] = [IMG, SCRIPT, QUOTES, "a|b`c\n# d" + "x" * 500]
    rename = dict(zip(audit_result.classes, (IMG, SCRIPT, QUOTES), strict=True))

    def renamed(labels):
        return np.array([rename[label] for label in labels], dtype=object)

    models = {}
    for key, model in audit_result.models.items():
        # The witnesses are predicted anew, so the models have to answer with the new labels.
        knn = CertifiedKNeighborsClassifier(model[-1].learner_, n_neighbors=1)
        pipeline = make_pipeline(StandardScaler(), knn)
        models[key] = pipeline.fit(audit_result.X_train, renamed(audit_result.y_train))
    certificates = {
        key: replace(each, prediction=renamed(each.prediction), true=renamed(each.true))
        for key, each in audit_result.certificates.items()
    }
    return replace(
        audit_result,
        name=SCRIPT + ".csv",
        target=IMG,
        feature_names=names,
        classes=list(rename.values()),
        y_train=renamed(audit_result.y_train),
        y_test=renamed(audit_result.y_test),
        models=models,
        certificates=certificates,
        methods={"base": "LMNN " + IMG, "robust": "LMNN-PL " + SCRIPT},
        settings={SCRIPT: IMG, "nested": {IMG: SCRIPT}},
        notes=[SCRIPT, IMG],
        versions={IMG: SCRIPT},
    )
