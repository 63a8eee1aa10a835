"""A candidate of a search, and the table of all candidates."""

import math
from typing import Any

import numpy as np

from holdfast.search.fold import CVFoldResult


class Candidate:
    """Parameters, and how they did on every fold.

    Attributes
    ----------
    parameters : dict
    results : list of CVFoldResult
        One for each fold.
    max_iter : int or None
        Iterations after which the fits were stopped; None for fits to the end.
    """

    def __init__(self, parameters: dict[str, Any]):
        self.parameters = parameters
        self.results: list[CVFoldResult] = []
        self.max_iter: int | None = None

    @property
    def mean(self) -> float:
        """Mean score over the folds."""
        return float(np.mean([result.score for result in self.results]))

    @property
    def rank_key(self) -> tuple[float, float, float]:
        """Larger is better: fits to the end before stopped ones, longer before shorter; then score, then tie-break."""
        tie_break = float(np.mean([result.tie_break for result in self.results]))
        return (math.inf if self.max_iter is None else self.max_iter), round(self.mean, 12), round(tie_break, 12)


def results_table(candidates: list[Candidate]) -> dict[str, Any]:
    """``cv_results_`` as in scikit-learn, one entry for each candidate; equal scores share the best rank."""
    scores = np.array([[result.score for result in c.results] for c in candidates])
    seconds = [[result.seconds for result in c.results] for c in candidates]
    keys = [c.rank_key for c in candidates]
    table: dict[str, Any] = {
        "mean_fit_time": np.array([np.mean(s) for s in seconds]),
        "std_fit_time": np.array([np.std(s) for s in seconds]),
    }
    for name in dict.fromkeys(name for c in candidates for name in c.parameters):
        column = np.ma.masked_all(len(candidates), dtype=object)
        for k, c in enumerate(candidates):
            if name in c.parameters:
                column[k] = c.parameters[name]
        table[f"param_{name}"] = column
    table["params"] = [c.parameters for c in candidates]
    table |= {f"split{f}_test_score": scores[:, f] for f in range(scores.shape[1])}
    table |= {"mean_test_score": scores.mean(axis=1), "std_test_score": scores.std(axis=1)}
    table["rank_test_score"] = np.array([1 + sum(other > key for other in keys) for key in keys], dtype=np.int32)
    table["n_iterations"] = np.array([c.max_iter or 0 for c in candidates])
    return table
