"""Metric and margins of a fitted model, in the units of its input."""

import numpy as np

from holdfast.base.neighbors import nearest_by_class
from holdfast.certificates.voting import NeighborVoter
from holdfast.learn import adversarial_margin


def input_metric(voter: NeighborVoter, scale: np.ndarray) -> np.ndarray:
    """``M`` over the features in units of ``scale``, the steps before the metric folded in.

    With a ``Normalizer`` among the steps this is the metric after it, in the directions before it. Of a model that
    takes words and gaps, this is the metric over the columns, 0 for those of words.
    """
    fold = voter.fold
    L = fold.before.W if fold.after is None else fold.after.W @ fold.before.W
    L = L[:, : len(scale)] * scale
    return L.T @ L


def input_margins(
    voter: NeighborVoter, X: np.ndarray, y: np.ndarray, scale: np.ndarray, frozen: np.ndarray, n_jobs: int | None = None
) -> np.ndarray | None:
    """Signed adversarial margin (Eq. 3) of each row, for its nearest target and impostor among the voters.

    Measured in units of ``scale``, over moves of the features that are not frozen. None where it is not
    defined (a ``Normalizer`` or a monotone map is among the steps, or nothing can move); rows whose label has no
    voter, or all of them, are left out.
    """
    if not voter.fold.affine or frozen.all():
        return None
    codes = np.searchsorted(voter.classes, y)
    known = np.isin(y, voter.classes)
    if not known.any():
        return None
    U, codes = voter.fold(X[known]), codes[known]
    same, other = (found[:, 0] for found in nearest_by_class(voter.points, voter.codes, 1, 1, n_jobs, (U, codes)))
    both = (same >= 0) & (other >= 0)
    if not both.any():
        return None
    # In the voters' space the metric is Euclidean; a move δ of the input is the move D δ there.
    D = (voter.fold.before.W * scale)[:, ~frozen]
    I = np.eye(U.shape[1])
    return adversarial_margin(I, U[both], voter.points[same[both]], voter.points[other[both]], reduction=D)
