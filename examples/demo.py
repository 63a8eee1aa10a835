"""Train LMNN with and without the perturbation loss, and see how each stands an adversarial move.

Prints a small table and saves a plot to results/demo/margins.png. The data ships with scikit-learn.
"""

import time
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import Normalizer, StandardScaler

from holdfast import LMNN, Euclidean, Perturbation
from holdfast.attacks import adversarial_move, margins

MOVE = 0.2
SIZES = np.linspace(0, 0.5, 11)
LEARNERS = {
    "Euclidean": Euclidean(),
    "LMNN": LMNN(),
    "LMNN-PL": LMNN(perturbation=Perturbation(tau=0.3, weight=20.0)),
}


def main() -> None:
    """Train, attack, tell."""
    X, y = load_breast_cancer(return_X_y=True)
    train, test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
    scaler = StandardScaler().fit(train)
    train, test = (Normalizer().transform(scaler.transform(part)) for part in (train, test))
    print(f"Breast cancer (WDBC): {len(train)} training rows, {len(test)} test rows, {X.shape[1]} features,")
    print("standardised and scaled to unit length. 3-NN under each metric:\n")
    print(f"{'':12}{'accuracy':>10}{'mean margin':>14}{f'accuracy after a move of {MOVE}':>32}{'fit':>10}")

    _, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained")
    for name, learner in LEARNERS.items():
        began = time.perf_counter()
        learner.fit(train, y_train)
        seconds = time.perf_counter() - began
        L = learner.components_
        knn = KNeighborsClassifier(3).fit(learner.transform(train), y_train)
        right = knn.predict(learner.transform(test)) == y_test
        margin = margins(L, test, y_test, (train, y_train))[right]
        curve = [
            knn.score(learner.transform(adversarial_move(L, test, y_test, (train, y_train), size)), y_test)
            for size in SIZES
        ]
        moved = curve[int(np.argmin(np.abs(SIZES - MOVE)))]
        print(f"{name:12}{right.mean():>10.1%}{margin.mean():>14.3f}{moved:>32.1%}{seconds:>8.2f} s")
        axes[0].hist(margin, bins=np.linspace(0, 0.8, 33), histtype="step", linewidth=2, label=name)
        axes[1].plot(SIZES, curve, marker="o", label=name)

    axes[0].set(xlabel="adversarial margin", ylabel="correct test points", title="Room before the answer changes")
    axes[1].set(xlabel="size of the adversarial move", ylabel="accuracy", title="Accuracy under attack", ylim=(0, 1))
    axes[0].legend()
    axes[1].legend()
    out = Path("results/demo/margins.png")
    out.parent.mkdir(parents=True, exist_ok=True)
    plt.savefig(out, dpi=150)
    print("\nA margin is how far a test point may move before its nearest impostor is as near as its nearest")
    print(f"target. Plot: {out}")


if __name__ == "__main__":
    main()
