"""A chain of fitted steps as one map from the user's columns to the space of the vote."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import Normalizer

from holdfast.affine import Affine, NotAffine, affine_of
from holdfast.certificates.folding.normalizer import unit_rows


@dataclass(frozen=True)
class Fold:
    """``x → before → (unit length) → after → u``.

    A pipeline ``x → z = W x + w0 → u = L z`` moves a query by ``L W δ`` when the input moves by δ, so the
    certificate of the last step, taken with ``T = L W``, is one in the units of x (Lemma R1).

    Attributes
    ----------
    before : Affine
        All steps, or those before an L2 normalisation.
    after : Affine or None
        The steps after the normalisation; None if there is none.
    """

    before: Affine
    after: Affine | None = None

    def __call__(self, X: np.ndarray) -> np.ndarray:
        """The images of rows."""
        Z = self.before(X)
        return Z if self.after is None else self.after(unit_rows(Z))

    def sizes(self, X: np.ndarray) -> np.ndarray:
        """The magnitude of the numbers behind each image: its rounding error is a small part of it."""
        size = np.linalg.norm(self.before.magnitudes(X), axis=1)
        if self.after is None:
            return size
        Z = self.before(X)
        length = np.linalg.norm(Z, axis=1)
        behind = np.linalg.norm(self.after.magnitudes(unit_rows(Z)), axis=1)
        return behind * (1.0 + np.divide(size, length, out=np.ones_like(size), where=length > 0))

    @property
    def last(self) -> Affine:
        """The affine map that ends in the space of the vote."""
        return self.before if self.after is None else self.after

    def then(self, step: Affine) -> "Fold":
        """This chain with one more affine step."""
        if self.after is None:
            return Fold(self.before.then(step))
        return Fold(self.before, self.after.then(step))


def fold(steps: Sequence, n_features: int) -> Fold:
    """The steps as one map; a step that is neither affine nor an L2 normalisation is refused by name."""
    chain = Fold(Affine.identity(n_features))
    for step in _flat(steps):
        if isinstance(step, Normalizer):
            if step.norm != "l2":
                raise NotAffine(step, f"norm={step.norm!r}")
            if chain.after is not None:
                raise ValueError("Two Normalizer steps in one pipeline cannot be certified in input units.")
            chain = Fold(chain.before, Affine.identity(chain.before.W.shape[0]))
        else:
            chain = chain.then(affine_of(step, chain.last.W.shape[0]))
    return chain


def _flat(steps: Sequence) -> Iterator:
    """The steps of nested pipelines in a row, without the ones that do nothing."""
    for step in steps:
        if isinstance(step, Pipeline):
            yield from _flat([inner for _, inner in step.steps])
        elif step is not None and not (isinstance(step, str) and step == "passthrough"):
            yield step
