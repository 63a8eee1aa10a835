"""Training times: processor seconds of a fit on one thread with the parameters of round 0, beside the printed ones."""

import json
import time
import warnings
from pathlib import Path
from statistics import median

import numpy as np
import pandas as pd
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from benchmarks.yang.methods import METHODS, learner_for
from benchmarks.yang.protocol import Round, make_round
from benchmarks.yang.store import load, published
from benchmarks.yang.tables import chosen

_SHORT = 2.0  # seconds: a fit that takes less is timed three times


def seconds(data_dir: str | None = None, folder: Path | None = None, sets: list[str] | None = None) -> pd.DataFrame:
    """A row for every printed time whose method was tuned in round 0; the paper's machine is another one than ours."""
    rows = load(folder) if folder is not None else pd.DataFrame()
    if rows.empty:
        raise ValueError("The study of seconds needs tuned parameters: run some cells first.")
    rows = chosen(rows)
    first = rows[rows["round"] == 0].drop_duplicates(["dataset", "method"]).set_index(["dataset", "method"])
    out = []
    for printed in published("training_seconds").itertuples():
        cell = (printed.dataset, printed.method)
        if cell in first.index and (sets is None or printed.dataset in sets):
            part = make_round(printed.dataset, 0, "paper", data_dir)
            parameters = json.loads(first.loc[cell, "parameters"])
            taken, iterations = time_fit(printed.method, parameters, part)
            out.append((*cell, taken, printed.seconds, printed.seconds / taken, iterations))
    return pd.DataFrame(out, columns=["dataset", "method", "seconds", "published", "published_over_ours", "iterations"])


def time_fit(method: str, parameters: dict, part: Round) -> tuple[float, float]:
    """Median processor seconds of a fit, triplets included, and its iterations (NaN if it does not count them)."""
    learner = learner_for(METHODS[method], part.facts).set_params(n_jobs=1, **parameters)
    with threadpool_limits(1), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        times: list[float] = []
        while len(times) < (4 if not times or median(times) < _SHORT else 2):  # the first one may compile
            began = time.process_time()
            learner = clone(learner).fit(part.X_train, part.y_train)
            times.append(time.process_time() - began)
    return median(times[1:]), float(getattr(learner, "n_iter_", np.nan))
