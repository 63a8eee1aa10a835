"""Where a display draws."""


def axes_for(owner: object, ax=None):
    """The axes to draw on, new ones if none are given; the display remembers them and their figure."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise ImportError(f"{type(owner).__name__} needs matplotlib: pip install 'holdfast[plot]'") from missing
    ax = plt.subplots(layout="constrained")[1] if ax is None else ax
    owner.ax_, owner.figure_ = ax, ax.figure  # type: ignore[attr-defined]
    return ax


def name_of(estimator, name: str | None) -> str:
    """The name given, or that of the last step."""
    if name is not None:
        return name
    steps = getattr(estimator, "steps", None)
    last = steps[-1][1] if steps else estimator
    learner = getattr(last, "learner_", None)
    return type(last if learner is None else learner).__name__
