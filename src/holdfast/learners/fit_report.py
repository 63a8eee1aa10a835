"""Output of a fit: printed lines, the callback, a warning about a metric of zero."""

import warnings

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from holdfast.backends import ObjectiveLike
from holdfast.learn.solvers import Progress, Solution

_ZERO = 1e-6  # a largest d² below it is as good as 0: the hinge requires differences of 1


class FitReport:
    """Prints the iterations of a fit and passes them on to the user's callback.

    Parameters
    ----------
    owner : str
        Printed in front of every line.
    verbose : int
        1 prints every tenth iteration, 2 every one.
    callback : callable or None
    """

    def __init__(self, owner: str, verbose: int, callback):
        self._owner, self._verbose, self._callback = owner, verbose, callback

    def __call__(self, progress: Progress) -> bool:
        """Print an iteration; True if the callback requests a stop."""
        if self._verbose and (self._verbose > 1 or progress.iteration % 10 == 0):
            print(
                f"[{self._owner}] iteration {progress.iteration:4d}   "
                f"objective {progress.value:.6g}   {progress.seconds:.2f} s"
                + (f"   over {progress.share:.1%} of the anchors" if progress.share < 1 else "")
            )
        return callable(self._callback) and self._callback(progress) is True

    def end(self, solution: Solution) -> None:
        """Print why the run ended."""
        if self._verbose:
            print(f"[{self._owner}] {solution.message}")


def warn_if_collapsed(owner: str, objective: ObjectiveLike, M: np.ndarray, advice: str) -> bool:
    """Warn if the metric is zero on the data: it minimises the objective, but classifies nothing. True if it is."""
    collapsed = objective.largest_distance(M) < _ZERO
    if collapsed:
        warnings.warn(
            f"{owner} learned a metric that is zero on this data: the regulariser dominates the hinge. {advice}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return collapsed
