"""The paper's equations, written a second time: slow, dense, and without a line of the library."""

import numpy as np

EPS = 1e-10


def three_numbers(M, X, rows, B=None):
    """a, b, h straight from their definitions."""
    B = np.eye(len(M)) if B is None else B
    a, b, h = [], [], []
    for i, j, l in rows:
        ij, il, jl = X[i] - X[j], X[i] - X[l], X[j] - X[l]
        a.append(ij @ M @ ij)
        b.append(il @ M @ il)
        h.append(jl @ M @ B @ M @ jl)
    return np.array(a), np.array(b), np.array(h)


def lmnn_pl(M, X, rows, mu, tau, weight):
    """Objective (Eq. 5) and gradient (Eq. 6), by outer differences of all triplets at once."""
    i, j, l = rows.T
    ij, il, jl = X[i] - X[j], X[i] - X[l], X[j] - X[l]
    pairs = np.unique(rows[:, :2], axis=0)
    s = X[pairs[:, 0]] - X[pairs[:, 1]]
    f = ((il @ M) * il).sum(1) - ((ij @ M) * ij).sum(1)
    h = ((jl @ M @ M) * jl).sum(1) + EPS
    r2 = f**2 / (4 * h)
    push = np.maximum(1 - f, 0).mean()
    perturbation = np.where(f > 0, np.maximum(tau**2 - r2, 0), tau**2).mean()
    value = (1 - mu) * ((s @ M) * s).sum(1).mean() + mu * push + weight * perturbation

    def outer(D, w):
        return (D * w[:, None]).T @ D

    beta = (f <= 1) / len(rows)
    alpha = ((f > 0) & (r2 <= tau**2)) / len(rows)
    S = outer(jl, alpha * f**2 / (4 * h**2))
    G = (
        (1 - mu) / len(pairs) * s.T @ s
        + mu * (outer(ij, beta) - outer(il, beta))
        + weight * (outer(ij, alpha * f / (2 * h)) - outer(il, alpha * f / (2 * h)) + M @ S + S @ M)
    )
    return value, G


def paper_schedule(X, rows, mu, tau, weight, steps):
    """The objective along the first steps of the paper's projected gradient."""
    M, gamma = np.eye(X.shape[1]), 1.0
    value, G = lmnn_pl(M, X, rows, mu, tau, weight)
    trace = [value]
    for _ in range(steps):
        values, V = np.linalg.eigh(M - gamma * (G + G.T) / 2)
        values[values < 1e-10] = 0
        M = V @ np.diag(values) @ V.T
        M = (M + M.T) / 2
        value, G = lmnn_pl(M, X, rows, mu, tau, weight)
        gamma = gamma * 1.01 if value < trace[-1] else max(gamma * 0.5, 1e-4)
        trace.append(value)
    return np.array(trace)


def collect_all(geometry, da=None, db=None, dh=None):
    """Clear, then collect the derivatives of all triplets."""
    geometry.sweep(
        lambda block: geometry.collect(block, 1.0, *(d if d is None else d[block.triplets] for d in (da, db, dh)))
    )
