"""The paper's two toy examples: what LMNN and LMNN-PL learn from the same points.

Separability: both features tell the classes apart, the first by little, the second by much. LMNN stretches the
first; with the perturbation loss the second, robust feature gets more weight. Multicollinearity: the third
feature is the sum of the first two plus a little noise. LMNN uses that noise and ends with tiny margins.
"""

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from holdfast import LMNN, Euclidean, Perturbation
from holdfast.attacks import margins

# n_impostors=None: every point of the other class is an impostor, as in the paper's definition of R.
LEARNERS = {
    "separability": {
        "Euclidean": Euclidean(),
        "LMNN": LMNN(mu=0.9),
        "LMNN-PL": LMNN(mu=0.9, perturbation=Perturbation(tau=0.3, weight=40.0)),
    },
    "multicollinearity": {
        "Euclidean": Euclidean(),
        "LMNN": LMNN(mu=0.9),
        "LMNN-PL": LMNN(mu=0.9, perturbation=Perturbation(tau=1.5, weight=2.0)),
    },
}


def separability(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two features, 100 positive and 100 + 20 negative points."""
    positive = rng.uniform([-3, 0], [0, 1], (100, 2))
    below = rng.uniform([-3, -0.6], [0, -0.5], (100, 2))
    right = rng.uniform([0, 0], [0.1, 1], (20, 2))
    return np.vstack([positive, below, right]), np.repeat([1, 0], [100, 120])


def multicollinearity(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Three features, 100 points per class; the third is the sum of the others, but for 0.01."""
    covariance = [[1.0, -0.9], [-0.9, 1.0]]
    first = np.vstack([rng.multivariate_normal([m, m], covariance, 100) for m in (0.45, -0.45)])
    third = first.sum(axis=1) + rng.normal(0, 0.01, 200)
    return np.column_stack([first, third]), np.repeat([1, 0], 100)


SETS = {"separability": separability, "multicollinearity": multicollinearity}


def run(name: str, seed: int = 0) -> dict[str, tuple[np.ndarray, float, float]]:
    """Per method: the learned M, the mean margin of the training points, the accuracy on new points."""
    rng = np.random.default_rng(seed)
    X, y = SETS[name](rng)
    X_test, y_test = SETS[name](rng)
    found = {}
    for method, learner in LEARNERS[name].items():
        learner.fit(X, y)
        knn = KNeighborsClassifier(3).fit(learner.transform(X), y)
        margin = margins(learner.components_, X_test, y_test, (X, y))
        right = knn.predict(learner.transform(X_test)) == y_test
        found[method] = (learner.get_mahalanobis_matrix(), float(margin[right].mean()), float(right.mean()))
    return found


def main() -> None:
    """Run both, and print what the paper prints."""
    for name in SETS:
        print(f"\n{name}")
        for method, (M, margin, accuracy) in run(name).items():
            rows = "; ".join(" ".join(f"{value:6.2f}" for value in row) for row in M)
            print(f"  {method:10} mean margin {margin:.3f}   accuracy {accuracy:.1%}   M = [{rows}]")


if __name__ == "__main__":
    main()
