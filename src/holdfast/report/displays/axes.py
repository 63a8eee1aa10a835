"""The axes a display draws on, and the name in its legend."""

from holdfast.certificates.accuracy_band import axes_or_new


def axes_for(display: object, ax=None):
    """The axes to draw on, new ones if none are given; stored on the display as ``ax_`` and ``figure_``."""
    ax = axes_or_new(ax, type(display).__name__)
    display.ax_, display.figure_ = ax, ax.figure  # type: ignore[attr-defined]
    return ax


def name_of(estimator, name: str | None) -> str:
    """The given name, or the class of the learner in the last step."""
    if name is not None:
        return name
    steps = getattr(estimator, "steps", None)
    last = steps[-1][1] if steps else estimator
    learner = getattr(last, "learner_", None)
    return type(last if learner is None else learner).__name__
