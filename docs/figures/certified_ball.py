"""A point, its three neighbours and its certified ball, under LMNN and under LMNN with the perturbation loss.

Drawn on the first page of the site when it is built. The README shows the same picture, made by
``python docs/figures/certified_ball.py docs/images/certified_ball.png``.
"""

import sys

import matplotlib.pyplot as plt
import numpy as np
from matplotlib.patches import Circle

from holdfast import LMNN, CertifiedKNeighborsClassifier, Perturbation

BLUE, ORANGE = "#0072b2", "#d55e00"  # told apart by colour-blind readers too
QUERY = np.array([0.85, 0.6])


def points(rng: np.random.Generator) -> tuple[np.ndarray, np.ndarray]:
    """Two features that nearly agree: their sum tells the classes apart by much, their difference by little."""
    sign = np.repeat([1.0, -1.0], 28)
    along = 0.9 * sign + 0.55 * rng.normal(size=56)
    across = 0.16 * sign + 0.05 * rng.normal(size=56)
    return np.column_stack([along + across, along - across]) / np.sqrt(2), np.repeat([1, 0], 28)


def draw(ax, title: str, clf: CertifiedKNeighborsClassifier) -> None:
    """Regions, training points, the query's neighbours, its ball and the closest point with another answer."""
    X, y = clf.reference_, clf.reference_codes_
    x0, x1 = np.meshgrid(np.linspace(-1.75, 1.75, 500), np.linspace(-1.75, 1.75, 500))
    answers = clf.predict(np.column_stack([x0.ravel(), x1.ravel()])).reshape(x0.shape)
    ax.contourf(x0, x1, answers, levels=[-0.5, 0.5, 1.5], colors=[ORANGE, BLUE], alpha=0.18)
    ax.contour(x0, x1, answers, levels=[0.5], colors="0.35", linewidths=0.8)
    ax.scatter(*X[y == 1].T, s=22, color=BLUE, label="class A")
    ax.scatter(*X[y == 0].T, s=22, color=ORANGE, marker="s", label="class B")
    certificate = clf.certify(QUERY[None], budget=200_000)
    radius, witness = certificate.radius[0], certificate.adversarial[0]
    far = np.linalg.norm((X - QUERY) @ clf.components_.T, axis=1)
    for j in np.argsort(far)[:3]:
        ax.plot(*zip(QUERY, X[j], strict=True), color="0.1", lw=1.1, zorder=3)
    ax.add_patch(Circle(QUERY, radius, facecolor="none", edgecolor="0.1", lw=1.6, zorder=4))
    ax.plot(*QUERY, marker="*", ms=14, color="0.1", mec="white", zorder=6)
    ax.plot(*witness, marker="X", ms=9, color="0.1", mec="white", zorder=6)
    ax.set(title=f"{title}: certified radius {radius:.2f}", xlim=(-1.75, 1.75), ylim=(-1.75, 1.75), aspect="equal")


X, y = points(np.random.default_rng(0))
figure, axes = plt.subplots(1, 2, figsize=(10, 4.4), layout="constrained", sharey=True)
draw(axes[0], "LMNN", CertifiedKNeighborsClassifier(LMNN(mu=0.5, perturbation=None)).fit(X, y))
robust = LMNN(mu=0.5, perturbation=Perturbation(tau=0.8, weight=30.0))
draw(axes[1], "LMNN + perturbation loss", CertifiedKNeighborsClassifier(robust).fit(X, y))
handles = [plt.Line2D([], [], ls="", marker=m, color="0.1", ms=s) for m, s in (("*", 12), ("X", 8))]
handles += [
    plt.Line2D([], [], color="0.1", lw=1.1),
    plt.Line2D([], [], ls="", marker="o", mfc="none", color="0.1", ms=11),
]
names = ["the point", "closest point with another answer", "its three neighbours", "certified ball"]
figure.legend(handles, names, loc="outside lower center", ncols=4, frameon=False)
if len(sys.argv) > 1:
    figure.savefig(sys.argv[1], dpi=110)
