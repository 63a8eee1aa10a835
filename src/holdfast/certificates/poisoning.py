"""How many training labels may be wrong before a vote can change."""

import numpy as np
from sklearn.utils import check_array

from holdfast.certificates.view import view
from holdfast.certificates.votes import tallies
from holdfast.constraints.search import nearest


def poisoning_tolerance(model, X, *, reference=None, n_jobs: int | None = None) -> np.ndarray:
    """``⌈(n_y − n_c) / 2⌉ − 1``: labels that may be flipped, anywhere, without changing the prediction.

    ``n_y`` is the number of votes for the predicted class and ``n_c`` for the runner-up. A flip of a
    neighbour's label moves one vote, so the lead shrinks by two at most; while it is positive the vote
    stands whatever the tie rule. (Where points are equally far, the k nearest are taken in the order of the
    training data.)

    It speaks of the *vote*: the metric and the steps before it are taken as they are. If the labels in
    question also shaped them (a learner fitted on the same data), a flip could move the metric as well, and
    the number is no guarantee for the refitted model. It is one for the Euclidean distance, for a metric
    fixed beforehand, and for one learned on other, trusted data.

    Parameters
    ----------
    model, X, reference, n_jobs
        As for :func:`holdfast.certify`.

    Returns
    -------
    int ndarray of shape (n_rows,)

    Examples
    --------
    >>> from holdfast import CertifiedKNeighborsClassifier
    >>> from holdfast.certificates import poisoning_tolerance
    >>> X, y = [[0.0], [1.0], [2.0], [3.0], [9.0]], ["a", "a", "a", "a", "b"]
    >>> clf = CertifiedKNeighborsClassifier(n_neighbors=5).fit(X, y)
    >>> poisoning_tolerance(clf, [[1.0]])      # 4 votes to 1: one flip leaves 3 to 2
    array([1])
    """
    seen = view(model, reference)
    rows = check_array(X, dtype=np.float64, input_name="X")
    codes = seen.codes[nearest(seen.points, seen.fold(rows), seen.n_neighbors, n_jobs)]
    ranked = np.sort(tallies(codes, len(seen.classes)), axis=1)
    runner_up = ranked[:, -2] if len(seen.classes) > 1 else np.zeros(len(rows), int)
    lead = ranked[:, -1] - runner_up
    return np.maximum((lead + 1) // 2 - 1, 0)
