"""How a candidate is scored: the one place that decides which certificate is asked for."""

from typing import NamedTuple

import numpy as np

from holdfast.certificates.certify import certify


class Verdict(NamedTuple):
    """Shares of rows: right and certified at the radius, and right."""

    certified: float
    accuracy: float


def verdict(classifier, X: np.ndarray, y: np.ndarray, radius: float, threat=None) -> Verdict:
    """Certified accuracy at ``radius`` and accuracy of a fitted classifier.

    Where one point votes (one neighbour, prototypes) and for linear models the exact radius is cheap; where several
    do, it is the fast lower bound.
    """
    voters = classifier.voters_per_row() if hasattr(classifier, "voters_per_row") else 1
    certificate = certify(
        classifier, X, y, threat=threat, method="auto" if voters == 1 else "lower", witness=False, n_jobs=1
    )
    certified, accuracy = certificate.certified_accuracy(radii=[radius, 0.0])
    return Verdict(float(certified), float(accuracy))
