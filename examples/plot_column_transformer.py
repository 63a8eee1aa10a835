"""
A table with words and gaps
===========================

The pipeline that most tables need: numbers are filled in and scaled, words become one-hot columns, neighbours vote.
It is certified as it is, in the units of the table; words and filled-in numbers stand still.
"""

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
from sklearn.compose import ColumnTransformer
from sklearn.impute import SimpleImputer
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler

from holdfast import Threat, certify

# %%
# A table of loans, made up: years, income, months and a kind of job. Every twelfth income is missing.

rng = np.random.default_rng(0)
n = 400
loans = pd.DataFrame({
    "age": rng.integers(18, 75, n),
    "income": rng.lognormal(8, 0.5, n).round(),
    "months": rng.integers(6, 60, n),
    "job": rng.choice(["employed", "own business", "none"], n, p=[0.6, 0.3, 0.1]),
})  # fmt: skip
paid = np.log(loans.income) - 0.03 * loans.months - 1.5 * (loans.job == "none") + rng.normal(0, 0.3, n) > 6.9
y = np.where(paid, "paid", "late")
loans.loc[::12, "income"] = np.nan
train, test = slice(0, 300), slice(300, n)

numbers = make_pipeline(SimpleImputer(), StandardScaler())
front = ColumnTransformer([
    ("numbers", numbers, ["age", "income", "months"]),
    ("words", OneHotEncoder(handle_unknown="ignore"), ["job"]),
])  # fmt: skip
model = make_pipeline(front, KNeighborsClassifier(15)).fit(loans[train], y[train])

# %%
# A move of size 1 is a year of age, 100 of income, or a month; the age of a person can only grow.

threat = Threat(unit={"age": 1.0, "income": 100.0, "months": 1.0}, only_up=["age"])
certificate = certify(model, loans[test], y[test], threat=threat)
print(certificate)
print(certificate.to_frame().head())

# %%
# The closest rows with another answer have the columns of the table: the job is what it was, a missing income is
# still missing.

print(loans[test].head().join(certificate.adversarial.head().add_suffix(", moved")).round(1).T)

# %%

certificate.plot()
plt.show()
