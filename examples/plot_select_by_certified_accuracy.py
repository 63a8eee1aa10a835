"""
Choose a model by certified accuracy
====================================

Model selection by accuracy picks the model that is right most often on points exactly as measured. If points may be
off, select by *certified* accuracy instead: the share that is right and certified to stay right within a radius. It
is one argument of the search: ``scoring=CertifiedAccuracy(radius)``.
"""

# %%
# One search, two scores
# ----------------------
# ``PerturbationSearchCV`` draws ``mu``, ``tau`` and ``weight`` of LMNN-PL from the paper's ranges. With the same
# ``random_state`` both searches see the same draws and the same folds; only the score differs. (The paper takes 50
# draws and 5 folds; 12 and 3 are enough to see the point.)

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_breast_cancer
from sklearn.model_selection import train_test_split
from sklearn.preprocessing import StandardScaler

from holdfast import LMNN, CertifiedKNeighborsClassifier, Perturbation, certify
from holdfast.certificates import CertifiedAccuracy
from holdfast.paper import PerturbationSearchCV

X, y = load_breast_cancer(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
scaler = StandardScaler().fit(X_train)
X_train, X_test = scaler.transform(X_train), scaler.transform(X_test)

RADIUS = 1.0  # one standard deviation of one feature, or a little of each of the thirty
scores = {"accuracy": "accuracy", "certified accuracy": CertifiedAccuracy(RADIUS)}
searches = {
    name: PerturbationSearchCV(
        LMNN(mu=0.5, perturbation=Perturbation()), n_draws=12, cv=3, scoring=scoring, random_state=0
    ).fit(X_train, y_train)
    for name, scoring in scores.items()
}
for name, search in searches.items():
    found = ", ".join(f"{key.removeprefix('perturbation__')} {value:.2f}" for key, value in search.best_params_.items())
    print(f"best by {name}: {found}")

# %%
# The two scores rank candidates differently
# ------------------------------------------

accuracy, certified = (search.cv_results_["mean_test_score"] for search in searches.values())
print(f"over the 12 draws: accuracy {accuracy.min():.3f} to {accuracy.max():.3f},")
print(f"accuracy certified at {RADIUS:g} {certified.min():.3f} to {certified.max():.3f},")
print(f"correlation of the two {np.corrcoef(accuracy, certified)[0, 1]:.2f}")

# %%
# Candidates differ by two points in accuracy, much of it chance, and by far more in certified accuracy.
#
# On test rows
# ------------
# The two winners and plain LMNN on rows that no search has seen. ``method="lower"`` is the fast lower bound, the
# same that scored the candidates: the true certified accuracy is at least this.

models = {
    "LMNN (no search)": CertifiedKNeighborsClassifier(LMNN(mu=0.5, perturbation=None), n_neighbors=3).fit(
        X_train, y_train
    )
}
models |= {f"best by {name}": search.classifier_ for name, search in searches.items()}
radii = np.linspace(0, 3, 121)
curves = {}
print(f"{'':27}{'accuracy':>9}{f'certified at {RADIUS:g}':>16}{'median radius':>15}")
for name, model in models.items():
    certificate = certify(model, X_test, y_test, method="lower", witness=False)
    curves[name] = certificate.certified_accuracy(radii=radii)
    plain, at = certificate.certified_accuracy(radii=[0.0, RADIUS])
    print(f"{name:27}{plain:9.1%}{at:16.1%}{np.median(certificate.radius):15.2f}")

# %%
# Here both winners are right equally often on the test rows, and the one chosen by certified accuracy is certified
# more often at the radius asked for, and less often below. That is not always so: on three more splits
# (``random_state`` 1 to 3) it certified 6 and 3 points more, and 1 point less, because 12 draws scored on a few
# hundred rows are noisy themselves. Only the gap to plain LMNN is stable.

figure, (left, right) = plt.subplots(1, 2, figsize=(10.5, 4.2), layout="constrained")
left.scatter(accuracy, certified, color="0.6", label="a draw")
marks = {"accuracy": ("#E69F00", "s"), "certified accuracy": ("#0072B2", "D")}
for name, search in searches.items():
    colour, marker = marks[name]
    best = search.best_index_
    left.scatter(accuracy[best], certified[best], s=90, color=colour, marker=marker, label=f"best by {name}")
left.set(xlabel="accuracy in cross-validation", ylabel=f"accuracy certified at {RADIUS:g}", title="Twelve draws")
left.legend(loc="best", fontsize="small")
lines = {"LMNN (no search)": ("#D55E00", "--"), "best by accuracy": ("#E69F00", "-.")}
for name, curve in curves.items():
    colour, style = lines.get(name, ("#0072B2", "-"))
    right.plot(radii, curve, color=colour, linestyle=style, linewidth=2, label=name)
right.axvline(RADIUS, color="0.7", linewidth=1)
right.set(xlabel="radius, in standard deviations", ylabel="certified accuracy", ylim=(0, 1.02), title="Test rows")
right.legend(frameon=False, fontsize="small")
plt.show()
