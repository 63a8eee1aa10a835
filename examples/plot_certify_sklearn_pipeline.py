"""
Certify the pipeline you already have
=====================================

Nothing has to be retrained. A scikit-learn pipeline of affine steps (scalers, PCA, LDA, feature selection, NCA)
that ends in ``KNeighborsClassifier`` can be certified as it stands, in the units of its *input*: the scaler and the
PCA are folded into the certificate.
"""

# %%
# The pipeline
# ------------

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_wine
from sklearn.decomposition import PCA
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import certify

X, y = load_wine(return_X_y=True, as_frame=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.3, random_state=0, stratify=y)
model = make_pipeline(StandardScaler(), PCA(5), KNeighborsClassifier(1)).fit(X_train, y_train)

# %%
# ``reference`` is optional: the rows the *pipeline* was fitted on, before any step. If given, they are compared with
# those that the classifier stores. A step that cannot be folded is refused by name.

certificate = certify(model, X_test, y_test, reference=(X_train, y_train))
print(certificate)
print(certificate.to_frame().head(4).round(3).to_string(index=False))

# %%
# Mixed units
# -----------
# A radius in the units of X is a number you can hold a measurement error against, if the features have one unit.
# Here they do not: proline is counted in hundreds, hue in tenths, and one length for both says little. Two
# questions that do make sense follow.
#
# *How many standard deviations?* A diagonal matrix ``A_0`` of inverse variances, given as ``norm``, measures every
# feature by its own spread.

spread = X_train.std().to_numpy()
in_spreads = certify(model, X_test, y_test, reference=(X_train, y_train), norm=np.diag(1 / spread**2))
print(f"median radius: {np.median(in_spreads.radius):.2f} standard deviations, accuracy certified at")
for radius in (0.0, 0.25, 0.5, 1.0):
    print(f"  {radius:4.2f}   {in_spreads.certified_accuracy(radii=radius):.1%}")

# %%
# *How wrong may this one measurement be?* With all other features ``frozen``, the radius is in the unit of the one
# that is left. It is infinite where no value of that feature alone can change the answer.

alone = np.array(
    [
        certify(model, X_test, reference=(X_train, y_train), frozen=np.arange(X.shape[1]) != k).radius
        for k in range(X.shape[1])
    ]
)  # features × rows
tenth = np.percentile(alone, 10, axis=1, method="lower")
order = np.argsort(tenth / spread)
print("one test wine in ten can be flipped by an error in a single measurement of")
for k in order[:4]:
    print(f"  {X.columns[k]:30} {tenth[k]:8.3g}   ({tenth[k] / spread[k]:.1f} standard deviations)")

# %%
# Left: certified accuracy over the radius; the truth lies in the band between the two curves, which for one
# neighbour are the same line. Right: for each feature, the error in it alone that changes the answer for one wine in
# ten.
# Short bars are the measurements to be careful with.

figure, (left, right) = plt.subplots(1, 2, figsize=(11, 4.3), layout="constrained")
in_spreads.plot(ax=left)
left.set(xlabel="radius in standard deviations", title="All features may move")
names = [str(X.columns[k]).replace("_", " ").replace("/", " / ") for k in order]
right.barh(range(len(order)), (tenth / spread)[order], color="#0072B2")
right.set_yticks(range(len(order)), names, fontsize="small")
right.invert_yaxis()
right.set(xlabel="error in standard deviations that flips 1 wine in 10", title="One feature at a time")
plt.show()
