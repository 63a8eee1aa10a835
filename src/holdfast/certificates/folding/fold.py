"""A chain of fitted steps as one map from the user's columns to the space of the vote."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

import numpy as np
from sklearn.preprocessing import Normalizer

from holdfast.affine import Affine, NotAffine, affine_of
from holdfast.certificates.folding.categories import ReadAgain
from holdfast.certificates.folding.encoding import Encoding
from holdfast.certificates.folding.kinds import Kinds
from holdfast.certificates.folding.monotone import AgainWithWarps
from holdfast.certificates.folding.normalizer import unit_rows
from holdfast.certificates.folding.steps import check_precision, does_nothing, is_pipeline, through
from holdfast.certificates.folding.table import Table
from holdfast.numerics.own_functions import refuse_own_functions


@dataclass(frozen=True)
class Fold:
    """``x → before → (unit length) → after → u``, for encoded rows x.

    A pipeline ``x → z = W x + w0 → u = L z`` moves a query by ``L W δ`` when the input moves by δ, so the
    certificate of the last step, taken with ``T = L W``, is one in the units of x (Lemma R1).

    Attributes
    ----------
    before : Affine
        All steps, or those before an L2 normalisation.
    after : Affine or None
        The steps after the normalisation; None if there is none.
    encoding : Encoding or None
        How the user's rows become numbers; None: they are numbers.
    """

    before: Affine
    after: Affine | None = None
    encoding: Encoding | None = None

    def __call__(self, X: np.ndarray, fixed: bool = False) -> np.ndarray:
        """The images of rows; ``fixed`` as for :class:`~holdfast.affine.Affine`."""
        Z = self.before(self._refreshed(X), fixed)
        return Z if self.after is None else self.after(unit_rows(Z), fixed)

    def ways(self, X: np.ndarray, moved: np.ndarray) -> np.ndarray:
        """How far the image of each row moves when the row does."""
        if self.after is not None:
            return np.linalg.norm(self(moved) - self(X), axis=1)
        return np.linalg.norm(self.before.linear_part(self._refreshed(moved) - self._refreshed(X)), axis=1)

    def sizes(self, X: np.ndarray) -> np.ndarray:
        """The magnitude of the numbers behind each image: its rounding error is a small part of it."""
        X = self._refreshed(X)
        size = np.linalg.norm(self.before.magnitudes(X), axis=1)
        if self.after is None:
            return size
        Z = self.before(X)
        length = np.linalg.norm(Z, axis=1)
        behind = np.linalg.norm(self.after.magnitudes(unit_rows(Z)), axis=1)
        return behind * (1.0 + np.divide(size, length, out=np.ones_like(size), where=length > 0))

    def _refreshed(self, X: np.ndarray) -> np.ndarray:
        return X if self.encoding is None else self.encoding.refreshed(X)

    @property
    def affine(self) -> bool:
        """True if a move δ of a row moves its image by Wδ, with no normalisation and no monotone map (Lemma K3)."""
        return self.after is None and not (self.encoding is not None and self.encoding.warps)

    @property
    def last(self) -> Affine:
        """The affine map that ends in the space of the vote."""
        return self.before if self.after is None else self.after

    def then(self, step: Affine) -> "Fold":
        """This chain with one more affine step."""
        if self.after is None:
            return replace(self, before=self.before.then(step))
        return replace(self, after=self.after.then(step))


def fold(steps: Sequence, n_features: int, names: Sequence[str] | None = None) -> Fold:
    """The steps as one map of encoded rows; a step that cannot be folded is refused by name.

    Only the steps show which columns hold categories and which may have gaps. At first all columns are taken for plain
    numbers; each time one turns out to be something else, the steps are read again from the start.

    Parameters
    ----------
    steps : sequence of fitted steps
    n_features : int
        The user's columns.
    names : sequence of str, optional
        What they are called.
    """
    kinds, steps = Kinds(), list(_flat(steps))
    check_precision(steps)
    while True:
        categories = {j: tuple(values) for j, values in sorted(kinds.categories.items())}
        gaps = tuple(sorted(kinds.gaps))
        kinds.warps = [warp for warp in kinds.warps if warp.source not in categories]
        encoding = Encoding(n_features, names, categories, gaps, tuple(kinds.warps))
        kinds.unseen, kinds.filled, kinds.refused = {}, {}, {}
        try:
            chain = _read(steps, encoding, kinds)
        except ReadAgain:
            kinds.warps = []  # they may have been read with other kinds of columns
            continue
        except AgainWithWarps:
            continue
        if kinds.selected:
            read = np.flatnonzero((chain.before.W[:, :n_features] != 0).any(axis=0)).tolist()
            bent = {warp.source for warp in encoding.warps}
            encoding = replace(encoding, read=frozenset(read) | kinds.gaps | bent)
        encoding = replace(encoding, unseen=kinds.unseen, filled=kinds.filled, refused=kinds.refused)
        return replace(chain, encoding=encoding)


def _read(steps: Sequence, encoding: Encoding, kinds: Kinds) -> Fold:
    """The steps as one map; an exception asks to read again if ``encoding`` has a column of the wrong kind."""
    table, after = Table.start(encoding), None
    for step in steps:
        if type(step) in (Normalizer,):  # no subclass: it may do something else
            if step.norm != "l2":
                raise NotAffine(step, f"norm={step.norm!r}")
            if after is not None:
                raise ValueError("Two Normalizer steps in one pipeline cannot be certified in input units.")
            if encoding.warps:
                raise NotAffine(step, f"after {type(encoding.warps[0].map.step).__name__}")
            after = Affine.identity(table.width)
            table = table.numbers(step)
        elif after is None:
            table = through(step, table, kinds)
        else:
            after = after.then(affine_of(step, after.W.shape[0]))
    return Fold(table.numbers("The classifier").map, after)


def _flat(steps: Sequence) -> Iterator:
    """The steps of nested pipelines as one sequence, without those that do nothing."""
    for step in steps:
        refuse_own_functions(step)
        if is_pipeline(step):
            yield from _flat([inner for _, inner in step.steps])
        elif not does_nothing(step):
            yield step
