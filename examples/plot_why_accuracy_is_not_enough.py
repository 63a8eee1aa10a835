"""
Why accuracy is not enough
==========================

A learned metric is usually judged by the accuracy of nearest neighbours under it. Here that number stands beside a
second one: the mean radius within which predictions are certified. Three learners are compared with the plain
Euclidean distance on digits and on the breast-cancer data (wdbc): scikit-learn's NCA, LMNN, and LMNN with the
perturbation loss. metric-learn's LMNN joins in where it is installed and fits.
"""

# %%
# Learners and data
# -----------------
# All have fixed settings, none is tuned. Pixels are between 0 and 1; wdbc is standardised on its training part.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer, load_digits
from sklearn.model_selection import train_test_split
from sklearn.neighbors import NeighborhoodComponentsAnalysis
from sklearn.preprocessing import StandardScaler

from holdfast import LMNN, CertifiedKNeighborsClassifier, Euclidean, FixedMetric, Perturbation, certify


def split(name, seed):
    """Training and test part of one set."""
    X, y = (load_digits if name == "digits" else load_breast_cancer)(return_X_y=True)
    parts = train_test_split(X, y, train_size=600 if name == "digits" else 0.7, random_state=seed, stratify=y)
    X_train, X_test, y_train, y_test = parts
    scaler = StandardScaler().fit(X_train) if name == "wdbc" else None
    X_train, X_test = (part / 16 if scaler is None else scaler.transform(part) for part in (X_train, X_test))
    return X_train, X_test[:300], y_train, y_test[:300]


def learners(name):
    """The contestants, for one set."""
    loss = Perturbation(tau=1.0, weight=4.0) if name == "digits" else Perturbation(tau=2.0, weight=1.0)
    found = {
        "Euclidean": Euclidean(),
        "NCA (scikit-learn)": NeighborhoodComponentsAnalysis(random_state=0),
        "LMNN": LMNN(mu=0.5, perturbation=None),
        "LMNN-PL": LMNN(mu=0.5, perturbation=loss),
    }
    try:
        from metric_learn import LMNN as MetricLearnLMNN

        MetricLearnLMNN().fit([[0.0], [0.1], [0.2], [1.0], [1.1], [1.2]], [0, 0, 0, 1, 1, 1])
        found["LMNN (metric-learn)"] = MetricLearnLMNN(n_neighbors=3, learn_rate=1e-5, max_iter=200, random_state=0)
    except (ImportError, TypeError, ValueError):
        pass  # not installed, or older than the installed scikit-learn
    return found


warnings.filterwarnings("ignore", "'force_all_finite' was renamed", FutureWarning)  # from metric-learn

# %%
# Accuracy and radius, side by side
# ---------------------------------
# Means over three splits of a 3-NN classifier; in brackets the change against the Euclidean distance. The radius is
# a lower bound (``method="lower"``), taken in the same way for all, in the units of the input. Multiplying a metric
# by a number changes neither accuracy nor radius.

SPLITS = 3
results = {}
for name in ("digits", "wdbc"):
    rows = {}
    for seed in range(SPLITS):
        X_train, X_test, y_train, y_test = split(name, seed)
        for method, learner in learners(name).items():
            L = learner.fit(X_train, y_train).components_
            clf = CertifiedKNeighborsClassifier(FixedMetric(L.T @ L), n_neighbors=3).fit(X_train, y_train)
            found = certify(clf, X_test, y_test, method="lower", witness=False)
            rows.setdefault(method, []).append((found.certified_accuracy(radii=0.0), found.radius.mean()))
    means = {method: np.mean(pairs, axis=0) for method, pairs in rows.items()}
    results[name] = means
    base = means["Euclidean"]
    print(f"{name:20}{'accuracy':>9}{'':10}{'mean radius':>14}")
    for method, (accuracy, radius) in means.items():
        gain, change = 100 * (accuracy - base[0]), 100 * (radius / base[1] - 1)
        print(f"  {method:18}{accuracy:9.1%} ({gain:+5.1f}) {radius:13.3f} ({change:+4.0f} %)")

# %%
# By accuracy the methods lie within two points of one another, and one might choose by a tenth of a point. By
# radius they do not: our own plain LMNN gives up two thirds of what the Euclidean distance could promise, NCA a
# part of it. NCA gains accuracy on digits and pays with radius; on wdbc it loses both. The perturbation loss wins
# the radius back and goes beyond the Euclidean one; on wdbc that is all it gains, its accuracy is the same.
#
# metric-learn 0.7.0 needs scikit-learn 1.7 or older. With 1.7.2 its LMNN (200 steps at a rate of 1e-5) came out at
# +0.1 points and −11 % on digits, −1.0 points and −43 % on wdbc.

colours = {"Euclidean": "0.4", "NCA (scikit-learn)": "#E69F00", "LMNN": "#D55E00", "LMNN-PL": "#0072B2"}
markers = {"Euclidean": "o", "NCA (scikit-learn)": "^", "LMNN": "s", "LMNN-PL": "D"}
figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained")
for ax, (name, means) in zip(axes, results.items(), strict=True):
    base = means["Euclidean"]
    ax.axhline(0, color="0.8", linewidth=1)
    ax.axvline(0, color="0.8", linewidth=1)
    for method, (accuracy, radius) in means.items():
        place = 100 * (accuracy - base[0]), 100 * (radius / base[1] - 1)
        colour, marker = colours.get(method, "#CC79A7"), markers.get(method, "v")
        ax.scatter(*place, s=80, color=colour, marker=marker, label=method, zorder=3)
    ax.set(xlabel="accuracy against Euclidean, points", ylabel="mean certified radius against Euclidean, %")
    ax.set(title=name, ylim=(-85, 35))
    ax.margins(x=0.2)
axes[0].legend(loc="lower right", fontsize="small")
plt.show()
