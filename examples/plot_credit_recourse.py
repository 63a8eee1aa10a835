"""
Credit recourse: what a refused applicant can do
================================================

A refusal is easier to accept with an answer to "what would I have to change?". The answer has to be something that a
person can do: nobody becomes younger, a job cannot be held for longer than it was, savings grow and debts shrink.
:func:`holdfast.counterfactuals` finds the smallest such change, proves that no smaller one is enough, and can leave
room for a plan that does not work out to the last digit.
"""

# %%
# Applications, made up
# ---------------------
# Six hundred synthetic applicants; whether a loan is repaid depends on the person and on the loan, with noise.

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import Threat, certify, counterfactuals

rng = np.random.default_rng(0)
n = 600
people = pd.DataFrame(
    {
        "age": rng.integers(20, 70, n).astype(float),
        "job_years": rng.gamma(2.0, 3.0, n).clip(0, 40).round(1),
        "income": rng.lognormal(3.5, 0.4, n).round(1),  # thousands a year
        "debt": rng.gamma(1.5, 10.0, n).round(1),  # thousands
        "savings": rng.exponential(8.0, n).round(1),  # thousands
        "amount": rng.gamma(2.0, 6.0, n).clip(1, 60).round(1),  # thousands
    },
    index=[f"applicant {i}" for i in range(n)],
)
score = (
    0.05 * people["income"] - 0.08 * people["debt"] + 0.08 * people["savings"] + 0.10 * people["job_years"]
    + 0.01 * people["age"] - 0.12 * people["amount"]
)  # fmt: skip
repaid = np.where(score + rng.normal(0, 0.5, n) > score.median(), "repaid", "default")
train, new = (people[:500], repaid[:500]), people[500:]
model = make_pipeline(StandardScaler(), LogisticRegression()).fit(*train)
refused = new[model.predict(new) == "default"][:12]
print(f"accuracy on new applicants {model.score(new, repaid[500:]):.0%}, {len(refused)} of the refused are looked at")

# %%
# What is possible, and what it costs
# -----------------------------------
# Age and job are on file. Income, savings: only up; debt and the amount of the loan: only down. A change of size 1 is
# five thousand of income or debt, two of savings or of the loan: the measure says what is hard, and is not the model's.

threat = Threat(
    unit={"income": 5.0, "debt": 5.0, "savings": 2.0, "amount": 2.0},
    frozen=["age", "job_years"],
    only_up=["income", "savings"],
    only_down=["debt", "amount"],
    lower={"amount": 1.0, "debt": 0.0},
    upper={"income": 200.0, "savings": 100.0},
)
found = counterfactuals(model, refused, "repaid", threat=threat)
for label, sentence in zip(found.labels, found.sentences(), strict=True):
    print(f"{label}: {sentence}")

# %%
# Every answer was given to the model as it is printed. Nothing on file was touched, and nothing went the wrong way.

assert (model.predict(found.points) == "repaid").all()
assert (found.points[["age", "job_years"]] == refused[["age", "job_years"]]).all(axis=None)
assert (found.points["debt"] <= refused["debt"]).all()

# %%
# Plans for people
# ----------------
# Four changes at once are a lot to ask. With ``max_features=1`` there is one; with ``slack`` the answer stays the same
# if the plan misses by up to half a unit, in any of the features. Both cost something; the size says how much.

plans = {
    "any changes": found,
    "one feature": counterfactuals(model, refused, "repaid", threat=threat, max_features=1),
    "with slack 0.5": counterfactuals(model, refused, "repaid", threat=threat, slack=0.5),
}
noise = Threat(unit=threat.unit, frozen=threat.frozen)
for name, plan in plans.items():
    held = certify(model, plan.points[plan.valid], threat=noise).radius.min()
    print(
        f"{name:15} median size {np.median(plan.size):5.2f}, proven closest {plan.closest.mean():4.0%}, "
        f"answers hold within {held:.2g}"
    )
print(plans["one feature"].sentences()[0])

# %%
# An answer without slack lies on the boundary: it holds within next to nothing, and a plan that falls short by a little
# is refused again.
#
# Several ways
# ------------
# ``n=3``: each further answer leaves the main feature of those before alone.

ways = counterfactuals(model, refused[:1], "repaid", threat=threat, n=3)
print(ways.changes.to_string(index=False))

# %%
# Nothing here says that someone who borrows less *becomes* more likely to repay: it says what the model would answer.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4), layout="constrained")
colours = ["#0072B2", "#E69F00", "#D55E00"]
order = np.argsort(found.size)
for (name, plan), colour, marker in zip(plans.items(), colours, "os^", strict=True):
    left.plot(np.where(plan.valid, plan.size, np.nan)[order], marker=marker, color=colour, linestyle="none", label=name)
left.set(xlabel="refused applicants, by the size of the change", ylabel="size of the change", ylim=(0, None))
left.set(title="What a yes costs")
left.legend(frameon=False)
ways.plot(0, ax=right)
right.set(title=f"Ways to a yes for {refused.index[0]}")
plt.show()
