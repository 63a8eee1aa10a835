"""Small tables with numbers, whole numbers and categories, and the truth about moves of their rows by enumeration."""

from itertools import product

import numpy as np
import pandas as pd
import quadprog
from scipy.optimize import linprog
from sklearn.linear_model import LogisticRegression
from sklearn.neighbors import KNeighborsClassifier

from holdfast import CertifiedKNeighborsClassifier, CertifiedPrototypeClassifier, Euclidean
from holdfast.certificates import LinearProblem, Moves
from tests.certificates.brute_force import losing_sets

NAMES = ["a", "b", "kind", "k_x", "k_y"]  # a number, a whole one, a category, a group of columns
MODELS = {
    "logistic": LogisticRegression(C=10.0),
    "one neighbour": CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=1),
    "three neighbours": CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=3),
    "scikit-learn's neighbours": KNeighborsClassifier(3),
    "prototypes": CertifiedPrototypeClassifier(Euclidean()),
}
THREATS = {
    "all": {},
    "integer": {"integer": ["b"], "lower": {"b": 0}, "upper": {"b": 4}},
    "free": {"free": {"kind": [0, 1, 2]}},
    "group": {"free": {"k": ["k_x", "k_y"]}},
    "one change": {"categories": {"kind": [0, 1, 2], "k": ["k_x", "k_y"]}, "max_changes": 1},
    "relation": {"relations": [({"a": 1, "b": -1}, "<=", 1.5)]},
    "relations": {"relations": [({"a": 1, "b": 1}, "<=", 8.5), ({"a": 2, "b": -1}, ">=", -6)]},
    "equality": {"relations": [({"a": 1, "b": 1, "kind": 1}, "==", 3)]},
    "everything": {
        "unit": {"a": 0.5}, "integer": ["b"], "lower": {"b": 0}, "upper": {"b": 4}, "only_up": ["a"],
        "free": {"kind": [0, 1, 2]}, "relations": [({"a": 1, "b": -1, "kind": 0.5}, "<=", 2.5)],
    },
}  # fmt: skip


def make_table(seed: int, n: int = 9, equal: bool = False):
    """Rows and two classes; ``a ≤ b + 1.5`` and the other relations hold in every row."""
    rng = np.random.default_rng(seed)
    b = rng.integers(0, 5, n)
    kind = rng.integers(0, 3, n)
    a = 3.0 - b - kind if equal else b - rng.uniform(0, 2.0, n).round(2)
    side = rng.integers(0, 2, n)
    X = pd.DataFrame({"a": a, "b": b, "kind": kind, "k_x": side, "k_y": 1 - side}, columns=NAMES).astype(float)
    y = np.arange(n) % 2
    return X, y


def polyhedra(problem, u: np.ndarray, y: int):
    """``(A, c)`` of every way in which the answer is not y: ``A δ ≥ c`` for moves of all inputs."""
    if isinstance(problem, LinearProblem):
        for other in range(problem.n_classes):
            if other != y:
                yield (problem.T[other] - problem.T[y])[None], np.array([u[y] - u[other]])
        return
    U = problem.points
    for pairs in losing_sets(problem, y):
        if not pairs:
            yield np.zeros((0, problem.T.shape[1])), np.zeros(0)
            continue
        b, j = np.array(pairs).T
        yield (U[b] - U[j]) @ problem.T, 0.5 * np.einsum("ij,ij->i", U[b] - U[j], U[b] + U[j] - 2 * u)


def truth(voter, moves, x: np.ndarray, y: int, best: float = np.inf) -> float:
    """The smallest move, over all choices of categories and of whole numbers within ±5, each by a program."""
    d = len(x)
    problem = voter.chain.question(voter.problem, Moves())
    choices = [x]
    if moves.categories is not None:
        choices += [place for _, _, places in moves.categories.blocks(x[None], 1000) for place in places]
    whole = [] if moves.integer is None else np.flatnonzero(moves.integer).tolist()
    free = [i for i in moves.free(d).tolist() if i not in whole]
    unit = np.ones(d) if moves.unit is None else moves.unit
    low, high = (side[0] for side in moves.limits(x[None]))
    code = {"l2": np.linalg.norm, "l1": lambda v: np.abs(v).sum(), "linf": lambda v: np.abs(v).max(initial=0.0)}
    size = code[moves.norm.name]
    for place in choices:
        values = [[v for v in x[i] + np.arange(-5, 6) if low[i] <= v <= high[i]] for i in whole]
        for chosen in product(*values):
            at = place.copy()
            at[whole] = chosen
            price = size((at - place)[whole] / unit[whole])
            if price >= best:
                continue
            for A, c in polyhedra(problem, voter.chain.image(at[None])[0], y):
                rest = _least(A[:, free] * unit[free], c, moves, at, free, unit, low, high)
                both = np.array([price, rest]) if np.isfinite(rest) else np.array([np.inf])
                best = min(best, size(both))
    return best


def _least(A, c, moves, at, free, unit, low, high) -> float:
    """``min ‖e‖ : A e ≥ c``, within box and relations, e the move of the free features in units."""
    d = len(free)
    down, up = (at - low)[free] / unit[free], (high - at)[free] / unit[free]
    if moves.relations is not None:
        R, b = moves.relations
        A = np.vstack([A, -R[:, free] * unit[free]])
        c = np.append(c, R @ at - b - 1e-9)  # rows on the boundary stay possible
    if not d:
        return 0.0 if (c <= 1e-12).all() else np.inf
    if moves.norm.name == "l2":
        below, above = np.isfinite(down), np.isfinite(up)
        G = np.vstack([A, np.eye(d)[below], -np.eye(d)[above]])
        h = np.concatenate([c, -down[below], -up[above]])
        still = np.abs(G).max(axis=1) < 1e-13
        if (h[still] > 1e-12).any():
            return np.inf
        if not (h > 0).any():
            return 0.0
        try:
            return float(np.linalg.norm(quadprog.solve_qp(np.eye(d), np.zeros(d), G[~still].T.copy(), h[~still])[0]))
        except ValueError:
            return np.inf
    box = [(0, v if np.isfinite(v) else None) for v in (*up, *down)]
    rows = np.hstack([-A, A, np.zeros((len(c), 1))])
    cost = np.append(np.ones(2 * d), 0.0)
    if moves.norm.name == "linf":
        rows = np.vstack([rows, np.hstack([np.eye(d), np.eye(d), -np.ones((d, 1))])])
        cost, c = np.append(np.zeros(2 * d), 1.0), np.append(c, np.zeros(d))
    solved = linprog(cost, A_ub=rows, b_ub=-c, bounds=[*box, (0, None)], method="highs")
    return float(solved.fun) if solved.status == 0 else np.inf
