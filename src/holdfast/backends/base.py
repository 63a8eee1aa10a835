"""The Protocols that every back end fulfils."""

from collections.abc import Callable, Sequence
from typing import Any, Protocol

import numpy as np

from holdfast.learn import MatrixTerm, Triplets, TripletTerm
from holdfast.learn.supervision import NeighborSearch

Terms = Sequence[tuple[float, TripletTerm | MatrixTerm]]  # weights and terms

#: ``validate(X, y, **options)`` checks rows as ``sklearn.utils.validation.validate_data`` does for one estimator: it
#: also stores how many features there are, and their names.
Validate = Callable[..., Any]


class ObjectiveLike(Protocol):
    """A function of the metric: what :class:`holdfast.learn.objective.Objective` is, wherever its triplets lie.

    A context manager; at its end threads and workers are released.
    """

    @property
    def n_features(self) -> int:
        """Number of rows, and of columns, of M."""
        ...

    @property
    def scatters(self) -> tuple[np.ndarray, np.ndarray]:
        """The means over R of ``X_ij`` and of ``X_il``, where ``X_ij = (x_i − x_j)(x_i − x_j)ᵀ``."""
        ...

    def __call__(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and symmetric gradient at M."""
        ...

    def largest_distance(self, M: np.ndarray) -> float:
        """The largest ``d²_M`` of a pair."""
        ...

    def __enter__(self) -> "ObjectiveLike": ...

    def __exit__(self, *exc) -> None: ...


class ProxySums(Protocol):
    """Sums over points and proxies: what :class:`holdfast.learn.proxy_nca.ProxyGeometry` is."""

    @property
    def B(self) -> np.ndarray | None:
        """Inverse shape of the perturbation; None is the identity."""
        ...

    def total(self, function: Callable[..., tuple], *arguments) -> tuple:
        """``Σ function(geometry, *arguments)`` over the geometries of all blocks of points."""
        ...

    def __enter__(self) -> "ProxySums": ...

    def __exit__(self, *exc) -> None: ...


class TripletData(Protocol):
    """Checked rows with their triplets."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        ...

    @property
    def labelled(self) -> bool:
        """True if the classes of the rows are known."""
        ...

    def variances(self) -> np.ndarray:
        """The variance of every feature."""
        ...

    def sample(self, size: int, random_state) -> tuple[np.ndarray, np.ndarray]:
        """Rows and labels as arrays: all that are in memory, about ``size`` of those on workers."""
        ...

    def points_and_triplets(self) -> tuple[np.ndarray, Triplets]:
        """All rows and triplets; ``ValueError`` if they are on workers."""
        ...

    def objective(self, terms: Terms, B: np.ndarray | None, n_jobs: int | None) -> ObjectiveLike:
        """The weighted terms, summed over the triplets."""
        ...


class LabelledRows(Protocol):
    """Checked rows with their classes."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of rows and of features."""
        ...

    @property
    def classes(self) -> np.ndarray:
        """The distinct labels, sorted."""
        ...

    def variances(self) -> np.ndarray:
        """The variance of every feature."""
        ...

    def sum(self, function: Callable[[np.ndarray], tuple]) -> tuple:
        """``Σ function(rows)``, leaf by leaf; see :mod:`holdfast.numerics.sums`."""
        ...

    def map(self, function: Callable[[np.ndarray], np.ndarray]) -> "LabelledRows":
        """The same labels with ``function(rows)`` for rows."""
        ...

    def sample(self, size: int, random_state) -> tuple[np.ndarray, np.ndarray]:
        """Rows and class codes as arrays: all that are in memory, about ``size`` of those on workers."""
        ...

    def proxies(self, labels: np.ndarray, B: np.ndarray | None, n_jobs: int | None) -> ProxySums:
        """The geometry of these rows and of proxies with these class codes."""
        ...


class Backend(Protocol):
    """Works on rows where they lie. It receives data, counts, a search and functions, never a learner."""

    def count_features(self, X, validate: Validate) -> int:
        """The number of features of X, which ``validate`` checks and stores."""
        ...

    def labelled_rows(self, X, y, validate: Validate, owner: str) -> LabelledRows:
        """Rows with their classes, checked; ``owner`` is named in messages."""
        ...

    def triplet_data(
        self,
        X,
        y,
        triplets,
        *,
        n_neighbors: int,
        n_impostors: int | None,
        neighbors: str | NeighborSearch,
        n_jobs: int | None,
        validate: Validate,
        owner: str,
    ) -> TripletData:
        """Rows with the triplets given, or else with those of their nearest targets and impostors."""
        ...

    def reference(self, X, y) -> tuple[Any, Any]:
        """All rows and labels in this process, to be checked by the caller."""
        ...

    def class_means(self, X, y) -> tuple[Any, Any]:
        """Rows and labels whose class means are those of X: X itself, or the means alone."""
        ...

    def map_rows(self, method: Callable, model, X) -> Any:
        """``method(model, X)``, for a method that maps rows one by one."""
        ...

    def certify_blocks(self, certify: Callable, join: Callable[[list], Any], model, X, y, options: dict) -> Any:
        """``certify(model, X, y, **options)`` block by block; ``join`` makes one certificate of theirs."""
        ...
