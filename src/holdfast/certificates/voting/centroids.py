"""scikit-learn's NearestCentroid: the nearest of one point per class."""

import numpy as np
from sklearn.neighbors import NearestCentroid

from holdfast.certificates.folding import Fold
from holdfast.certificates.voting.neighbors import NeighborVoter


def read_centroids(model, last: NearestCentroid, steps: Fold, n_features: int, reference) -> NeighborVoter:
    """One voter per class; equally near centroids go to the lowest class."""
    if last.metric != "euclidean":
        raise ValueError(f"NearestCentroid(metric={last.metric!r}) cannot be certified: only metric='euclidean'.")
    if not np.isclose(last.class_prior_, 1 / len(last.classes_)).all():
        raise ValueError(
            "NearestCentroid with unequal priors cannot be certified: only priors='uniform'. Use "
            "LinearDiscriminantAnalysis(priors=...) instead."
        )
    codes = np.arange(len(last.classes_))
    return NeighborVoter(model, steps, last.classes_, n_features, last.centroids_, codes, 1, "lowest")
