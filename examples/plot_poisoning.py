"""
When labels in the training data are wrong
==========================================

A certificate of a prediction is about moves of the *input*. Training labels can be wrong too, by mistake or on
purpose. :func:`~holdfast.poisoning_tolerance` says how many labels may be flipped, anywhere in the training data,
without changing a vote of the k nearest. More neighbours tolerate more flips; what they cost in accuracy and in
radius is below.
"""

# %%
# A distance that does not depend on labels
# -----------------------------------------
# The tolerance takes the metric as given. If the labels in question also trained the metric, flipping them moves
# it, and the number is no guarantee. Here the distance is Euclidean on standardised features (the scaler sees no
# labels), so it is one.

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from holdfast import CertifiedKNeighborsClassifier, Euclidean, certify, poisoning_tolerance

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

# %%
# Two guarantees for each k
# -------------------------
# The share of test rows that are right and stay so whatever three labels are flipped, and the radius within which
# the input may move (a lower bound, ``method="lower"``).

ks = [1, 3, 5, 9, 15, 25]
flips = np.arange(13)
curves = {}
print(f"{'k':>3}{'accuracy':>10}{'after any 3 flips':>19}{'median radius':>15}")
for k in ks:
    clf = CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=k).fit(X_train, y_train)
    right = clf.predict(X_test) == y_test
    tolerance = poisoning_tolerance(clf, X_test)
    radius = certify(clf, X_test, method="lower", witness=False).radius
    curves[k] = [(right & (tolerance >= n)).mean() for n in flips]
    print(f"{k:3d}{curves[k][0]:10.1%}{curves[k][3]:19.1%}{np.median(radius):15.2f}")

# %%
# The tolerance is a worst case. Flips at random do far less harm, because few of them hit the neighbours of a row.

rng = np.random.default_rng(0)
print("30 labels of the training data flipped at random, mean of ten draws:")
for k in (1, 9, 25):
    scores = []
    for _ in range(10):
        wrong = y_train.copy()
        hit = rng.choice(len(wrong), 30, replace=False)
        wrong[hit] = 1 - wrong[hit]
        scores.append(
            CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=k).fit(X_train, wrong).score(X_test, y_test)
        )
    print(f"  k = {k:2d}: accuracy {np.mean(scores):.1%}")

# %%
# One neighbour tolerates nothing. Each further pair of neighbours is worth about one flip, on rows deep inside
# their class; rows near the boundary have split votes and tolerate none at any k. On this data more neighbours cost
# half a point of accuracy at most, and even gain radius; where classes are small or tangled they will cost more.

colours = ["#000000", "#E69F00", "#56B4E9", "#009E73", "#D55E00", "#0072B2"]
figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
for (k, curve), colour in zip(curves.items(), colours, strict=True):
    ax.step(flips, curve, where="mid", color=colour, linewidth=2, label=f"k = {k}")
ax.set(xlabel="labels flipped, the worst ones", ylabel="accuracy certified", ylim=(0, 1.02), xticks=flips)
ax.legend(loc="upper left", bbox_to_anchor=(1, 1), frameon=False)
plt.show()
