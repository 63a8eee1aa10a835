"""From rows and a learner's settings to rows with triplets."""

from functools import partial

from sklearn.utils.validation import validate_data

from holdfast.backends import TripletData, backend_for
from holdfast.learners.triplet_learner import TripletLearner


def mine(learner: TripletLearner, X, y=None, triplets=None) -> TripletData:
    """Check rows and find their triplets, by the learner's ``n_neighbors``, ``n_impostors`` and ``neighbors``.

    Parameters
    ----------
    learner : TripletLearner
        Its settings are read; ``n_features_in_`` and ``feature_names_in_`` are set.
    X : array-like or Dask collection of shape (n_samples, n_features)
    y : array-like or Dask collection of shape (n_samples,), optional
        Class labels.
    triplets : Triplets or array-like of shape (n_triplets, 3), optional
        Taken instead of those that labels would give.
    """
    return backend_for(X).triplet_data(
        X,
        y,
        triplets,
        n_neighbors=learner.n_neighbors,
        n_impostors=learner.n_impostors,
        neighbors=learner.neighbors,
        n_jobs=learner.n_jobs,
        validate=partial(validate_data, learner),
        owner=type(learner).__name__,
    )
