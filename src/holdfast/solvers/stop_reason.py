"""The ways in which a run of a solver can end."""

from enum import Enum


class StopReason(Enum):
    """Why a solver stopped. The value is the sentence for the user, with gaps for the solver's parameters."""

    CALLBACK = "stopped by the callback"
    SMALL_DECREASE = "the objective fell by less than {tol:g} of itself over {patience} iterations"
    SMALL_CHANGES = "the last five changes of the objective are below {tol:g} of it"
    SMALL_GAP = "the objective is proven to be within {tol:g} of its minimum, relatively"
    NO_STEP = "no lower objective along the gradient"
    NO_DIRECTION = "no lower objective along any direction tried"
    ENOUGH_DATA = "more than {share:.0%} of the data would lower the objective by less than {tol:g} of itself"
    VALIDATION = "the loss on held-out rows has not fallen for {patience} iterations"
    MAX_ITER = "no convergence within max_iter={max_iter} iterations"
    NOT_FINITE = "the objective is not finite"

    @property
    def converged(self) -> bool:
        """True unless the iteration limit, or a value that is not a number, ended the run."""
        return self not in (StopReason.MAX_ITER, StopReason.NOT_FINITE)

    def sentence(self, **values) -> str:
        """The sentence with its gaps filled.

        Examples
        --------
        >>> StopReason.MAX_ITER.sentence(max_iter=7, tol=0.1)
        'no convergence within max_iter=7 iterations'
        """
        return self.value.format(**values)
