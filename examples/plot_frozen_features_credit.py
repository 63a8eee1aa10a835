"""
Credit scoring: what an applicant can change
============================================

A certificate asks how far an input may move. In a table of people most columns do not move freely: nobody changes
their age for a loan, housing is a category, and savings are not negative. ``frozen`` names the columns that stay,
``lower`` and ``upper`` the limits of the others. The radius is then about changes that can happen, and the
adversarial row is an application that could be filed.
"""

# %%
# Applications, made up
# ---------------------
# A thousand synthetic applicants. Whether a loan is repaid depends on the person and on the loan, with noise.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.model_selection import train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import LMNN, CertifiedKNeighborsClassifier, Perturbation, certify

rng = np.random.default_rng(0)
n = 1000
people = pd.DataFrame(
    {
        "age": rng.integers(20, 70, n),
        "job_years": rng.gamma(2.0, 3.0, n).clip(0, 40).round(1),
        "income": rng.lognormal(3.5, 0.4, n).round(1),  # thousands a year
        "debt": rng.gamma(1.5, 10.0, n).round(1),  # thousands
        "savings": rng.exponential(8.0, n).round(1),  # thousands
        "amount": rng.gamma(2.0, 6.0, n).clip(1, 60).round(1),  # thousands
        "months": rng.integers(6, 85, n),
        "housing": rng.choice(["own", "rent", "other"], n, p=[0.4, 0.5, 0.1]),
    }
)
score = (
    0.05 * people["income"] - 0.08 * people["debt"] + 0.08 * people["savings"] + 0.10 * people["job_years"]
    + 0.01 * people["age"] - 0.12 * people["amount"] + 0.02 * people["months"] + 0.5 * (people["housing"] == "own")
)  # fmt: skip
repaid = (score + rng.normal(0, 0.5, n) > score.median()).map({True: "repaid", False: "default"})
table = pd.get_dummies(people, columns=["housing"], dtype=float).astype(float)
X_train, X_test, y_train, y_test = train_test_split(table, repaid, test_size=100, random_state=0, stratify=repaid)

# %%
# A scorer, and the unit of a change
# ----------------------------------
# A year of age and a thousand of debt are not the same length, so changes are measured in standard deviations of
# each column, by a diagonal ``A_0`` given as ``norm``.

lmnn_pl = LMNN(mu=0.5, perturbation=Perturbation(tau=0.5, weight=4.0))
model = make_pipeline(StandardScaler(), CertifiedKNeighborsClassifier(lmnn_pl, n_neighbors=1)).fit(X_train, y_train)
norm = np.diag(1 / X_train.var().to_numpy())
print(f"accuracy on {len(X_test)} new applicants: {model.score(X_test, y_test):.0%}")

# %%
# Three questions
# ---------------
# The loan itself (amount, months) can be chosen and savings can be borrowed for a day; the rest is on file. Every
# restriction on the attacker can only enlarge the radius.

free = ["savings", "amount", "months"]
frozen = ~table.columns.isin(free)
lower = np.where(table.columns == "months", 6.0, 0.0)
upper = np.where(table.columns == "months", 84.0, X_train.max())
questions = {
    "any column, any value": {},
    "savings and loan, any value": {"frozen": frozen},
    "savings and loan, within limits": {"frozen": frozen, "lower": lower, "upper": upper},
}
certificates = {name: certify(model, X_test, y_test, norm=norm, **given) for name, given in questions.items()}
print(f"{'what may change':33}{'median radius':>14}{'accuracy certified at 0.3':>28}")
for name, found in certificates.items():
    at = found.certified_accuracy(radii=0.3)
    print(f"{name:33}{np.median(found.radius):14.3f}{at:28.0%}")

# %%
# A radius without these restrictions is too small: it counts moves that nobody can make. The limits add
# little here, because the shortest moves are small and seldom reach them. (Months are taken as a number; whole ones
# are fewer, so the certificate covers them too.)
#
# The cheapest way to a yes
# -------------------------
# For those who were refused, the adversarial row is an application that the model accepts: a form of advice if the
# change is real, of fraud if it is not. Here are the three refusals that are nearest to a yes.

found = certificates["savings and loan, within limits"]
refused = np.flatnonzero((found.prediction == "default") & np.isfinite(found.upper))
nearest = refused[np.argsort(found.upper[refused])[:3]]
for row in nearest:
    before, after = X_test.iloc[row], pd.Series(found.adversarial[row], index=table.columns)
    changes = ", ".join(f"{name} {before[name]:.1f} to {after[name]:.1f}" for name in free)
    print(f"applicant {X_test.index[row]}: {changes}   (radius {found.radius[row]:.2f})")
    assert (before[frozen] == after[frozen]).all()

# %%
# The two groups differ in how robust their answers are, which a mean hides.

styles = ["-", "--", ":"]
colours = ["0.4", "#E69F00", "#0072B2"]
radii = np.linspace(0, 2, 201)
figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
for (name, each), colour, style in zip(certificates.items(), colours, styles, strict=True):
    left.plot(radii, each.certified_accuracy(radii=radii), color=colour, linestyle=style, linewidth=2, label=name)
left.set(xlabel="change in standard deviations", ylabel="certified accuracy", ylim=(0, 1))
left.set(title="Right, and certified to stay so")
left.legend(frameon=False)
for answer, colour, style in (("repaid", "#0072B2", "-"), ("default", "#D55E00", "--")):
    own = found.radius[found.prediction == answer]
    share = (own[:, None] > radii).mean(axis=0)
    right.plot(radii, share, color=colour, linestyle=style, linewidth=2, label=f"answer {answer!r}")
right.set(xlabel="change in standard deviations", ylabel="share of answers certified", ylim=(0, 1))
right.set(title="Savings and loan, within limits")
right.legend(frameon=False)
plt.show()
