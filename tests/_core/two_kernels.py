"""An inner kernel and two that call it."""

from holdfast._core.compiling import entry, inner


@inner
def square(x):
    """``x²``."""
    return x * x


@entry
def doubled_sum(x):
    """``2 Σ x²``."""
    total = 0.0
    for i in range(x.size):
        total += square(x[i])
    return 2.0 * total


@entry
def other_sum(x):
    """``Σ x²``."""
    total = 0.0
    for i in range(x.size):
        total += square(x[i])
    return total
