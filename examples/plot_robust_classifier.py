"""
Choose the model by what it certifies
=====================================

Linear models, nearest neighbours under several metrics, prototypes: which certifies most depends on the data.
:class:`~holdfast.RobustClassifierCV` compares them by cross-validation. Here its choice stands beside what one would
try first.
"""

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import normalize

from holdfast import CertifiedKNeighborsClassifier, RobustClassifierCV, certify

# %%
# Images of handwritten digits, each of unit length.

X, y = load_digits(return_X_y=True)
X = normalize(X)
X_train, X_test, y_train, y_test = train_test_split(X, y, train_size=200, test_size=150, stratify=y, random_state=0)

# %%
# The search weighs the share of predictions that are right and certified against moves of length 0.1 (weight 0.7) and
# the accuracy (0.3).

search = RobustClassifierCV(radius=0.1, n_draws=3, cv=3, random_state=0).fit(X_train, y_train)
print(search.best_params_)

models = {
    "3 neighbours": CertifiedKNeighborsClassifier().fit(X_train, y_train),
    "logistic regression": LogisticRegression().fit(X_train, y_train),
    "RobustClassifierCV": search.best_estimator_,
}

# %%
# Certified accuracy as moves grow: the curve starts at the accuracy, and falls where predictions can be changed.

radii = np.linspace(0.0, 0.4, 41)
fig, ax = plt.subplots(layout="constrained")
for name, model in models.items():
    certificate = certify(model, X_test, y_test, witness=False, budget=100)
    curve = certificate.certified_accuracy(radii=radii)
    ax.plot(radii, curve, label=name)
    print(f"{name:20} accuracy {curve[0]:.1%}, certified at 0.1 {curve[10]:.1%}")
ax.axvline(0.1, color="grey", linewidth=0.8)
ax.set(xlabel="size of the move (L2)", ylabel="certified accuracy", ylim=(0, 1))
ax.legend()
plt.show()

# %%
# The best of each family, on the folds of the search: families differ in what they certify more than in what they get
# right.

results = search.cv_results_
last = results["rung"] == results["rung"].max()
for family in dict.fromkeys(results["family"]):
    rows = np.flatnonzero((results["family"] == family) & last)
    best = rows[np.argmax(results["mean_certified"][rows])]
    certified, accuracy = results["mean_certified"][best], results["mean_accuracy"][best]
    print(f"{family:14} certified {certified:.1%}, accuracy {accuracy:.1%}")
