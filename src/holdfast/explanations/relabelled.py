"""One class against the rest, as a vote of two classes."""

from dataclasses import replace
from typing import Any

import numpy as np

from holdfast.certificates.voting import NeighborVoter


class IsClass:
    """A model whose answer is 1 where the answer of another is one class, and 0 elsewhere."""

    def __init__(self, model: Any, label: Any):
        self.model = model
        self.label = label
        for name in ("feature_names_in_", "n_features_in_"):
            if hasattr(model, name):
                setattr(self, name, getattr(model, name))

    def predict(self, X) -> np.ndarray:
        """1 where the model answers with the class."""
        return (np.asarray(self.model.predict(X)) == self.label).astype(np.int64)


def against_the_rest(voter: NeighborVoter, code: int) -> NeighborVoter:
    """The vote of two classes: points of one class, and all others.

    For one neighbour this is the same question. For more, a majority of this vote elects the class in the vote of all
    classes as well, but it may win that one with fewer votes: see :mod:`~holdfast.explanations.one_class`.
    """
    return replace(
        voter,
        codes=(voter.codes == code).astype(np.int64),
        classes=np.array([0, 1]),
        model=IsClass(voter.model, voter.classes[code]),
    )
