"""
Two features, one of them fragile
=================================

The first toy example of the paper. Both features tell the two classes apart: the first by a hair, the second by a
wide gap. A learner that is asked for a margin *of distances* stretches the feature with the small gap, because that
is where distances are too short. The perturbation loss asks how far a point may *move*, and shifts weight to the
feature with the wide gap.
"""

# %%
# The points
# ----------
# A hundred points of class 1 fill a box. A hundred of class 0 lie half a unit below it, and twenty touch its right
# side. As in the paper, the margin asked for (``tau``) is the 90th percentile of the Euclidean margins, and the
# weight of the loss is ``4 / tau²``, the largest that the paper's search draws.

import matplotlib.pyplot as plt
import numpy as np

from holdfast import LMNN, CertifiedKNeighborsClassifier, Euclidean, Perturbation
from holdfast.datasets import make_separability
from holdfast.learn import adversarial_margin, knn_triplets


def three_metrics(X, y):
    """M of each method, and its mean margin over the training triplets."""
    triplets = knn_triplets(X, y)
    corners = X[triplets.i], X[triplets.j], X[triplets.l]
    tau = np.percentile(adversarial_margin(np.eye(2), *corners), 90)
    learners = {
        "Euclidean": Euclidean(),
        "LMNN": LMNN(mu=0.5, perturbation=None),
        "LMNN-PL": LMNN(mu=0.5, perturbation=Perturbation(tau=tau, weight=4 / tau**2)),
    }
    fitted = {name: learner.fit(X, y) for name, learner in learners.items()}
    margins = {name: adversarial_margin(f.get_mahalanobis_matrix(), *corners).mean() for name, f in fitted.items()}
    return fitted, margins


# %%
# One sample
# ----------
# The mean margin is the distance a point may move, in the units of the input, until an impostor is as near as a
# target, averaged over the training triplets. The accuracy is that of 3-NN on new points.

rng = np.random.default_rng(2)
X, y = make_separability(random_state=rng)
X_test, y_test = make_separability(random_state=rng)
fitted, margins = three_metrics(X, y)
print(f"{'':10}{'M_11':>7}{'M_22':>7}{'mean margin':>13}{'test accuracy':>15}")
for name, learner in fitted.items():
    M = learner.get_mahalanobis_matrix()
    accuracy = CertifiedKNeighborsClassifier(learner, n_neighbors=3).fit(X, y).score(X_test, y_test)
    print(f"{name:10}{M[0, 0]:7.2f}{M[1, 1]:7.2f}{margins[name]:13.3f}{accuracy:15.1%}")

# %%
# LMNN gives the first feature more weight than the second, the perturbation loss evens this out: that much is as
# the paper says. The rest is less dramatic. The task is easy, all metrics are right equally often, and the margins
# differ by a few percent. (The paper's margins, 0.17, 0.15 and 0.16, are as close together.)
#
# Twenty samples
# --------------
# One sample could be luck, so here are twenty.

ratios = {"LMNN": [], "LMNN-PL": []}
for seed in range(20):
    again, _ = three_metrics(*make_separability(random_state=seed))
    for name, found in ratios.items():
        M = again[name].get_mahalanobis_matrix()
        found.append(M[1, 1] / M[0, 0])
for name, found in ratios.items():
    more = sum(ratio > 1 for ratio in found)
    print(f"{name:8} M_22 / M_11: median {np.median(found):.2f}; the second feature has more weight in {more} of 20")

# %%
# So what the paper shows on one sample holds on all of these for LMNN-PL, if only by a few percent, and LMNN
# prefers the fragile feature in all but one. The learned metric is close to the Euclidean one: here, plain
# distances are robust already, and the loss keeps LMNN from spoiling that. In the next example,
# :ref:`sphx_glr_gallery_plot_toy_multicollinearity.py`, the margins themselves differ.

colours = {"Euclidean": "0.4", "LMNN": "#D55E00", "LMNN-PL": "#0072B2"}
styles = {"Euclidean": ":", "LMNN": "-", "LMNN-PL": "--"}
markers = {"LMNN": "s", "LMNN-PL": "o"}
angle = np.linspace(0, 2 * np.pi, 200)
circle = np.column_stack([np.cos(angle), np.sin(angle)])

figure, axes = plt.subplot_mosaic("AA;BC", figsize=(8, 7.5), layout="constrained", height_ratios=[1, 1.15])
for label, colour, marker in ((1, "#56B4E9", "o"), (0, "#E69F00", "s")):
    axes["A"].scatter(*X[y == label].T, s=18, color=colour, marker=marker, label=f"class {label}")
axes["A"].set(xlabel="feature 1: no room", ylabel="feature 2: room of 0.5", title="The points", aspect="equal")
axes["A"].legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
for name, learner in fitted.items():
    M = learner.get_mahalanobis_matrix()
    shape = M / np.sqrt(np.linalg.det(M))  # the shape alone: neighbours do not depend on the scale of M
    outline = circle @ np.linalg.inv(np.linalg.cholesky(shape))  # rows x with xᵀ shape x = 1
    axes["B"].plot(*outline.T, color=colours[name], linewidth=2, linestyle=styles[name], label=name)
axes["B"].set(xlabel="feature 1", ylabel="feature 2", title="Points at distance 1", aspect="equal")
axes["B"].legend(loc="center", frameon=False)
for name, found in ratios.items():
    axes["C"].plot(found, markers[name], color=colours[name], label=name)
axes["C"].axhline(1, color="0.6", linewidth=1)
axes["C"].set(xlabel="sample", ylabel="weight of feature 2 / weight of feature 1", yscale="log", ylim=(0.4, 1.3))
axes["C"].set(title="Twenty samples", xticks=range(0, 20, 4))
axes["C"].set_yticks([0.4, 0.6, 0.8, 1, 1.2], ["0.4", "0.6", "0.8", "1", "1.2"])
axes["C"].minorticks_off()
axes["C"].legend(frameon=False, loc="lower right")
plt.show()
