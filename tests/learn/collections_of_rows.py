"""Rows and learners that the tests of Dask collections share."""

import numpy as np
import pytest
from sklearn.datasets import make_classification

from holdfast import LMNN, SCML, Perturbation, ProxyNCA
from holdfast.learn.solvers import LBFGS

da = pytest.importorskip("dask.array")

PL = Perturbation(tau=0.3, weight=4.0, shape="variance")
LEARNERS = {
    "LMNN": LMNN(),
    "LMNN-PL": LMNN(perturbation=PL, solver=LBFGS(max_iter=8)),
    "SCML": SCML(n_basis=40, random_state=0, solver=LBFGS(max_iter=8)),
    "ProxyNCA": ProxyNCA(n_proxies=2, n_proxy_steps=10, random_state=0, solver=LBFGS(max_iter=4)),
}


def four_classes():
    """1,500 rows of 20 features."""
    return make_classification(1500, 20, n_informative=8, n_classes=4, random_state=1)


def cut(X, y, rows=400, labels=250, columns=7):
    """The same data as collections, its blocks of rows, of labels and of columns cut at different places."""
    return da.from_array(X, chunks=(rows, columns)), da.from_array(y, chunks=labels)


def apart(M, N):
    """The largest difference, relative to the largest entry."""
    return np.abs(M - N).max() / np.abs(M).max()
