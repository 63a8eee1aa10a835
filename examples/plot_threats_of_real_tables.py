"""
What can move in a table of loans
=================================

A certificate without limits counts moves that nobody can make: a year less of age, half a category, more paid than
was owed. Each limit that is true to the table enlarges the radius. Here they are added one by one, and the
last section asks whether the answers depend on the sex of the applicant.
"""

# %%
# Loans, made up
# --------------

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import Threat, audit, certify
from holdfast.certificates import dependence

rng = np.random.default_rng(1)
n = 500
people = pd.DataFrame(
    {
        "age": rng.integers(20, 70, n),
        "years_in_job": rng.integers(0, 15, n),
        "income": rng.lognormal(3.4, 0.4, n).round(1),  # thousands a year
        "owed": rng.uniform(1, 20, n).round(1),  # thousands
        "housing": rng.choice(["own", "rent", "other"], n, p=[0.4, 0.5, 0.1]),
        "sex": rng.integers(0, 2, n),
    }
)
people["paid"] = (people["owed"] * rng.beta(2, 2, n)).round(1)
score = (
    0.05 * people["income"] - 0.15 * people["owed"] + 0.25 * people["paid"] + 0.08 * people["years_in_job"]
    + 0.4 * (people["housing"] == "own") + 0.15 * people["sex"]
)  # fmt: skip
repaid = np.where(score + rng.normal(0, 0.3, n) > np.median(score), "good", "bad")
table = pd.get_dummies(people, columns=["housing"], dtype=float).astype(float)
train, test = slice(0, 400), slice(400, 500)
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(table[train], repaid[train])
print(f"accuracy on {len(table[test])} new applicants: {model.score(table[test], repaid[test]):.0%}")

# %%
# One limit after the other
# -------------------------
# The size of a move is the largest change of any feature, each measured in its own unit. Housing and sex do not change
# in this part.

unit = {"age": 1, "years_in_job": 1, "income": 1, "owed": 0.5, "paid": 0.5}
words = ["sex", "housing_own", "housing_rent", "housing_other"]
limits = [
    ("numbers move freely", {}),
    ("age is what it is", {"frozen": [*words, "age"]}),
    ("years in the job only grow", {"only_up": ["years_in_job"]}),
    ("and are whole", {"integer": ["years_in_job"]}),
    ("0 ≤ paid ≤ owed", {"lower": {"paid": 0}, "relations": [({"paid": 1, "owed": -1}, "<=", 0)]}),
    ("only refusals are attacked", {"classes": ["bad"]}),
]
given = {"norm": np.inf, "unit": unit, "frozen": words}
certificates = {}
for name, more in limits:
    given |= more
    certificates[name] = certify(model, table[test], repaid[test], threat=Threat(**given))
    radius, exact = certificates[name].radius, certificates[name].exact
    print(f"{name:28} mean of min(radius, 10): {np.minimum(radius, 10).mean():.2f}, exact: {exact.mean():.0%}")
print(*Threat(**given).describe(), sep="\n")

# %%
# Witnesses keep all of it: the cheapest way to a yes for the refusals that are nearest to one.

found = certificates["only refusals are attacked"]
moved = pd.DataFrame(found.adversarial, columns=table.columns, index=table[test].index)
nearest = found.to_frame().query("prediction == 'bad'").nsmallest(3, "upper").index
shown = ["years_in_job", "income", "owed", "paid"]
print(pd.concat({"before": table.loc[nearest, shown], "after": moved.loc[nearest, shown].round(2)}, axis=1))
seen = np.isfinite(found.upper)
assert (moved[seen]["paid"] <= moved[seen]["owed"]).all()
assert (moved[seen]["years_in_job"] % 1 == 0).all()

# %%
# Does the answer depend on sex?
# ------------------------------
# The column may take either value, and the numbers may differ a little besides. Each row is proven to be independent
# of it, or has a witness.

sizes = [0.0, 0.25, 0.5, 1.0, 2.0]
rest = Threat(norm=np.inf, unit=unit, frozen=[name for name in words if name != "sex"])
answers = [dependence(model, table[test], {"sex": [0, 1]}, at=size, threat=rest) for size in sizes]
print(*answers[1].sentences(), sep="\n")

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.2), layout="constrained")
radii = np.linspace(0, 10, 201)
colours = plt.colormaps["viridis"](np.linspace(0, 0.9, len(limits)))
for (name, each), colour in zip(certificates.items(), colours, strict=True):
    left.plot(radii, each.certified_accuracy(radii=radii), color=colour, linewidth=2, label=name)
left.set(xlabel="size of the move", ylabel="certified accuracy", ylim=(0, 1), title="Each limit enlarges the radius")
left.legend(frameon=False, fontsize=8)
shares = np.array([[each.independent, each.undecided, each.dependent] for each in answers])
bottom = np.zeros(len(sizes))
for share, name, colour in zip(
    shares.T, ("proven independent", "undecided", "depends: witness found"), ("#0072B2", "0.8", "#D55E00"), strict=True
):
    right.bar([f"{size:g}" for size in sizes], share, bottom=bottom, color=colour, label=name)
    bottom += share
right.set(xlabel="change of the numbers besides", ylabel="share of applicants", title="Does the answer depend on sex?")
right.legend(frameon=False, fontsize=8)
plt.show()

# %%
# The whole job, under a threat
# -----------------------------
# ``audit`` trains and compares models on the raw table, words included, and its report has both sections: what was
# allowed to move, and for how many applicants the answer depends on sex.

raw = people.assign(sex=np.where(people["sex"] == 1, "m", "f"), repaid=repaid)
threat = Threat(norm=np.inf, frozen=["age"], only_up=["years_in_job"], free=["sex"])
summary = audit(raw, "repaid", threat=threat, radius=0.1, models=["logistic"], tune="none").summary()
print(*summary["threat"]["sentences"], sep="\n")
print(*summary["dependence"][0]["sentences"], sep="\n")
example = summary["dependence"][0]["examples"][0]
print(f"Row {example['row']}: {example['sentence']}, and {example['prediction']} becomes {example['becomes']}.")
