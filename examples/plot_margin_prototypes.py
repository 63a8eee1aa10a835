"""
Prototypes trained for a radius
===============================

A few prototypes a class, placed so that as many training rows as possible are right *and* at least a radius away from
every border: :class:`holdfast.MarginLVQ`. Its loss is the smoothed share of rows that are not certified or wrong. It is
bounded, so a row that lies among the other class costs the same however far it is from the border; in logistic
regression it costs more the farther it is, and pulls the border towards itself.
"""

# %%
# Two moons, and a few rows with the wrong label
# ----------------------------------------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import make_moons
from sklearn.linear_model import LogisticRegression

from holdfast import CertifiedKNeighborsClassifier, CertifiedPrototypeClassifier, Euclidean, MarginLVQ, certify

X, y = make_moons(400, noise=0.2, random_state=0)
y[np.random.default_rng(0).choice(len(y), 20, replace=False)] ^= 1
X_test, y_test = make_moons(400, noise=0.2, random_state=1)

# %%
# What each certifies
# -------------------
# With one prototype a class the border is a line, as in logistic regression; with eight it can bend.

radius = 0.2
models = {
    "logistic regression": LogisticRegression(),
    "3-NN": CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=3),
    "margin LVQ, 1 a class": CertifiedPrototypeClassifier(MarginLVQ(1, radius, random_state=0)),
    "margin LVQ, 8 a class": CertifiedPrototypeClassifier(MarginLVQ(8, radius, random_state=0)),
}
print(f"{'':24}{'right':>8}{'right and certified at 0.2':>30}")
for name, model in models.items():
    right, proven = certify(model.fit(X, y), X_test, y_test).certified_accuracy(radii=[0.0, radius])
    print(f"{name:24}{right:8.1%}{proven:30.1%}")

# %%
# Borders, and the prototypes that make them
# ------------------------------------------
# Three neighbours bend the border around wrong labels that lie together; eight prototypes (stars) ignore them. A
# prototype may lie outside the data: what counts is the border halfway between it and the next one.

grid = np.stack(np.meshgrid(np.linspace(-2.2, 2.8, 250), np.linspace(-1.2, 1.7, 160)), axis=-1)
figure, axes = plt.subplots(2, 2, figsize=(9, 6.2), layout="constrained", sharex=True, sharey=True)
for (name, model), axis in zip(models.items(), axes.flat, strict=True):
    axis.contourf(*grid.T, model.predict(grid.reshape(-1, 2)).reshape(grid.shape[:2]).T, [-1, 0.5, 2], alpha=0.15)
    axis.scatter(*X.T, c=y, s=8, cmap="coolwarm")
    if hasattr(model, "reference_") and len(model.reference_) < len(X):
        axis.scatter(*model.reference_.T, c=model.reference_codes_, s=90, marker="*", edgecolor="k", cmap="coolwarm")
    axis.set_title(name)
plt.show()
