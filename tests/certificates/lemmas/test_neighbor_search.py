"""Lemma Q1: distances in tiles err by no more than the search allows for."""

import numpy as np
import pytest

from tests.certificates.lemmas.code import NeighborSearch, nearest
from tests.certificates.lemmas.oracles import dot, fractions


@pytest.mark.parametrize("precision", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["random", "one sign", "far query", "tiny coordinates"])
@pytest.mark.parametrize("p", [1, 3, 40])
def test_q1_a_tile_errs_by_no_more_than_the_bound(p, kind, precision):
    """``‖z‖² − 2xᵀz + ‖x‖²`` as a tile has it, against the exact squared distance of the points as given."""
    rng = np.random.default_rng(p)
    X, Q = rng.normal(size=(20, p)), rng.normal(size=(5, p))
    if kind == "one sign":  # all products add up: the errors of rounding do as well
        X, Q = np.abs(X) + 1, -np.abs(Q) - 1
    elif kind == "far query":
        Q *= 1e3
    elif kind == "tiny coordinates" and p > 1:
        X[:, 1:] *= 1e-25
        Q[:, 1:] *= 1e-25
    search = NeighborSearch(X, np.zeros(20, np.int64), (Q, np.zeros(5, np.int64)), None)
    Z, C = search._columns.astype(precision), search._centred.astype(precision)
    squares = np.einsum("np,np->n", search._columns, search._columns).astype(precision)
    tile = np.hstack([C, np.ones((5, 1), precision)]) @ np.hstack([-2 * Z, squares[:, None]]).T
    errors, unit = search._errors(precision), fractions(search._unit)
    exact_X, exact_Q = fractions(X), fractions(Q)
    for q in range(5):
        for j in range(20):
            difference = [a - b for a, b in zip(exact_Q[q], exact_X[j], strict=True)]
            exact = dot(difference, difference) / unit**2
            seen = fractions(float(tile[q, j])) + fractions(search._norms[q])
            assert abs(seen - exact) <= fractions(errors[q])


@pytest.mark.parametrize("offset", [0.0, 1e4, 1e9])
@pytest.mark.parametrize("kind", ["shells", "lattice", "duplicates"])
def test_q1_the_order_is_that_of_the_sums_one_by_one(kind, offset, monkeypatch):
    """Points that single precision cannot tell apart."""
    monkeypatch.setattr("holdfast.base.neighbors._FEW", 0)  # single precision first
    rng = np.random.default_rng(0)
    n, p, k = 3000, 3, 7
    X = rng.normal(size=(n, p))
    if kind == "shells":  # all equally far from the origin, but for a hair
        X *= (1 + 1e-9 * rng.normal(size=(n, 1))) / np.linalg.norm(X, axis=1, keepdims=True)
    elif kind == "lattice":
        X = np.round(2 * X)
    elif kind == "duplicates":
        X[n // 2 :] = X[: n // 2]
    queries = np.vstack([np.zeros((1, p)), np.round(rng.normal(size=(20, p)))]) + offset
    X = X + offset
    found = nearest(X, queries, k, 1)
    for q, row in zip(queries, found, strict=True):
        D = ((X - q) ** 2).sum(axis=1)
        # Integers have the same sums in every arithmetic; elsewhere a fused product may change the last bits.
        np.testing.assert_allclose(D[row], np.sort(D)[:k], rtol=0 if kind == "lattice" else 4e-15)
        copies = (X[row[1:]] == X[row[:-1]]).all(axis=1)
        equal = np.flatnonzero(np.diff(D[row]) == 0 if kind == "lattice" else copies)
        assert (row[equal] < row[equal + 1]).all()  # of equals the first
