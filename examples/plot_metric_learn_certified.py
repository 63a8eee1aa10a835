"""
Certify a metric from metric-learn
==================================

A metric learned elsewhere can be certified too. metric-learn's learners have ``components_`` and ``transform``, so
they fold into a certificate like any other affine step; and ``get_mahalanobis_matrix()`` is all that
:class:`~holdfast.FixedMetric` needs.
"""

# %%
# A learner of metric-learn, or its stand-in
# ------------------------------------------
# metric-learn 0.7.0 does not fit with scikit-learn 1.8 or newer: each of its fits passes an argument that was
# removed. If it is missing or fails, the class below takes its place. It is *not* metric-learn, but has the same
# interface, and the same metric as its ``Covariance``: the inverse covariance of the data, the Mahalanobis distance
# of the textbooks.

import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.datasets import load_wine
from sklearn.model_selection import train_test_split
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from holdfast import LMNN, CertifiedKNeighborsClassifier, Euclidean, FixedMetric, Perturbation, certify


class StandInCovariance(TransformerMixin, BaseEstimator):
    """``M = cov(X)⁻¹``, with the names that metric-learn's learners have."""

    def fit(self, X, y=None):
        """Learn from X alone."""
        self.n_features_in_ = np.shape(X)[1]
        M = np.linalg.inv(np.cov(X, rowvar=False))
        self.components_ = np.linalg.cholesky(M).T  # M = LᵀL
        return self

    def transform(self, X):
        """``X Lᵀ``."""
        return np.asarray(X) @ self.components_.T

    def get_mahalanobis_matrix(self):
        """M."""
        return self.components_.T @ self.components_


X, y = load_wine(return_X_y=True)
X_train, X_test, y_train, y_test = train_test_split(X, y, test_size=0.4, random_state=0, stratify=y)
scaler = StandardScaler().fit(X_train)
Z_train, Z_test = scaler.transform(X_train), scaler.transform(X_test)

try:
    from metric_learn import Covariance

    # It uses an old name of an argument of scikit-learn.
    warnings.filterwarnings("ignore", "'force_all_finite' was renamed", FutureWarning)
    learner = Covariance().fit(Z_train)
    print("learner: metric-learn's Covariance")
except (ImportError, TypeError) as problem:
    learner = StandInCovariance().fit(Z_train)
    print(f"learner: a stand-in for metric-learn's Covariance ({type(problem).__name__})")

# %%
# Way 1: the pipeline as it is
# ----------------------------
# Scaler, learner and scikit-learn's own classifier. The radius is in the units that the pipeline takes; to speak of
# standard deviations, begin after the scaler.

model = make_pipeline(learner, KNeighborsClassifier(1)).fit(Z_train, y_train)
certificate = certify(model, Z_test, y_test, reference=(Z_train, y_train))
print(certificate)

# %%
# Way 2: the matrix alone
# -----------------------
# Whatever gives a matrix M gives a classifier that can be certified. The radii are the same.

fixed = FixedMetric(learner.get_mahalanobis_matrix())
clf = CertifiedKNeighborsClassifier(fixed, n_neighbors=1).fit(Z_train, y_train)
again = certify(clf, Z_test, y_test)
print(f"largest difference of radii between the two ways: {np.abs(again.radius - certificate.radius).max():.1e}")

# %%
# What it is worth
# ----------------
# Beside it the Euclidean distance, which does nothing, and LMNN with the perturbation loss.

certificates = {"Covariance": certificate}
others = {"Euclidean": Euclidean(), "LMNN-PL": LMNN(mu=0.5, perturbation=Perturbation(tau=1.0, weight=1.0))}
for name, other in others.items():
    clf = CertifiedKNeighborsClassifier(other, n_neighbors=1).fit(Z_train, y_train)
    certificates[name] = certify(clf, Z_test, y_test)
print(f"{'':12}{'accuracy':>9}{'median radius':>15}")
for name, found in certificates.items():
    print(f"{name:12}{found.certified_accuracy(radii=0.0):9.1%}{np.median(found.radius):15.3f}")

# %%
# The inverse covariance stretches the directions in which the data vary least, and a small move along one of them
# then counts most: the metric is less accurate than doing nothing, and easier to fool. The picture shows both.

radii = np.linspace(0, 3, 151)
colours = {"Covariance": "#D55E00", "Euclidean": "0.4", "LMNN-PL": "#0072B2"}
styles = {"Covariance": "--", "Euclidean": ":", "LMNN-PL": "-"}
figure, ax = plt.subplots(figsize=(6.4, 4), layout="constrained")
for name, found in certificates.items():
    curve = found.certified_accuracy(radii=radii)
    ax.plot(radii, curve, color=colours[name], linestyle=styles[name], linewidth=2, label=name)
ax.set(xlabel="radius, in standard deviations", ylabel="certified accuracy", ylim=(0, 1.02), xlim=(0, 3))
ax.legend(frameon=False)
plt.show()
