"""The choice of a back end."""

from holdfast.backends.base import Backend
from holdfast.backends.memory import MemoryBackend


def is_dask(X) -> bool:
    """True if X is a Dask collection."""
    return hasattr(X, "__dask_graph__")


def backend_for(X) -> Backend:
    """The back end that works where the rows of X lie."""
    if is_dask(X):
        from holdfast.backends.dask import DaskBackend  # Dask is an optional dependency

        return DaskBackend()
    return MemoryBackend()


def refuse_collection(owner: str, X) -> None:
    """Raise ``TypeError`` if X is a Dask collection, for a learner that needs all rows in memory."""
    if is_dask(X):
        raise TypeError(
            f"{owner} needs all rows in one place and cannot learn from a Dask collection. Bring the rows, or a sample "
            "of them, with X.compute(); or use a learner that can, such as LMNN or ProxyNCA."
        )
