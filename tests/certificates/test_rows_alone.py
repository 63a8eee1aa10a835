"""A certificate of a row is the same, to the last bit, alone and in a batch."""

import numpy as np
import pytest
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import CertifiedKNeighborsClassifier, certify
from holdfast.certificates.norms import L1, L2, Ellipsoid, LInf
from holdfast.numerics.sums import product_by_rows


@pytest.mark.parametrize("norm", [L2(), L1(), LInf(), Ellipsoid(np.eye(5) + 0.3)])
def test_lengths_do_not_depend_on_the_rows_beside(norm):
    moves = np.random.default_rng(0).normal(size=(40, 9))[:, [0, 2, 3, 5, 8]]  # picked: not in the order of rows
    alone = np.concatenate([norm.lengths(moves[i : i + 1]) for i in range(40)])
    np.testing.assert_array_equal(norm.lengths(moves), alone)


@pytest.mark.parametrize(("d", "r"), [(1, 1), (3, 2), (13, 7), (64, 10), (257, 3)])
def test_products_do_not_depend_on_the_rows_beside(d, r):
    rng = np.random.default_rng(1)
    A, B = rng.normal(size=(40, d)), rng.normal(size=(r, d))
    for right in (B, np.asfortranarray(B)):
        alone = np.vstack([product_by_rows(A[i : i + 1], right) for i in range(40)])
        np.testing.assert_array_equal(product_by_rows(A, right), alone)
    np.testing.assert_allclose(product_by_rows(A, B), A @ B.T, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("k", [1, 3])
def test_certificates_do_not_depend_on_the_rows_beside(k):
    X, y = load_wine(return_X_y=True)
    model = make_pipeline(StandardScaler(), PCA(7), CertifiedKNeighborsClassifier(n_neighbors=k)).fit(X[::2], y[::2])
    rows = X[1:41:4]
    together = certify(model, rows, n_jobs=1)
    alone = [certify(model, row[None], n_jobs=1) for row in rows]
    for name in ("radius", "upper"):
        np.testing.assert_array_equal(getattr(together, name), np.concatenate([getattr(c, name) for c in alone]))
