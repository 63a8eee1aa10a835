"""The paper's two toy examples: Euclidean, LMNN and LMNN-PL on the same points.

Multicollinearity starts both learners from the inverse covariance, which is large off the plane on which the
points lie, and follows the paper's schedule for as many steps; LMNN leaves it so and has tiny margins. What
happens from other starts is in ``examples/plot_toy_multicollinearity.py``.
"""

import numpy as np
from sklearn.neighbors import KNeighborsClassifier

from holdfast import LMNN, Euclidean, Perturbation
from holdfast.datasets import make_multicollinearity, make_separability
from holdfast.learn import adversarial_margin, knn_triplets
from holdfast.learn.solvers import ProjectedGradient

SETS = {"separability": make_separability, "multicollinearity": make_multicollinearity}
STEPS = 3000


def run(name: str, seed: int = 0) -> dict[str, tuple[np.ndarray, float, float]]:
    """Per method: the learned M, the mean margin over the training triplets, the accuracy on new points."""
    rng = np.random.default_rng(seed)
    X, y = SETS[name](random_state=rng)
    X_test, y_test = SETS[name](random_state=rng)
    triplets = knn_triplets(X, y)
    points = X[triplets.i], X[triplets.j], X[triplets.l]
    found = {}
    for method, learner in _learners(name, X).items():
        learner.fit(X, y)
        M = learner.get_mahalanobis_matrix()
        knn = KNeighborsClassifier(3).fit(learner.transform(X), y)
        margin = adversarial_margin(M, *points).mean()
        found[method] = (M, float(margin), float(knn.score(learner.transform(X_test), y_test)))
    return found


def _learners(name: str, X: np.ndarray) -> dict:
    """The three methods of an example."""
    if name == "separability":
        common, loss = {}, Perturbation(tau=0.5, weight=20.0)
    else:
        start = np.linalg.inv(np.cov(X.T))
        limit = {"solver": ProjectedGradient(max_iter=STEPS + 1), "callback": lambda p: p.iteration >= STEPS}
        common, loss = {"init": start, **limit}, Perturbation(tau=2.0, weight=100.0)
    return {
        "Euclidean": Euclidean(),
        "LMNN": LMNN(mu=0.5, perturbation=None, **common),
        "LMNN-PL": LMNN(mu=0.5, perturbation=loss, **common),
    }
