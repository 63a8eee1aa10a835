"""One cell: a method on one round of a data set, chosen at one radius, scored at several."""

import json
import time
import warnings
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import joblib
import numpy as np
from threadpoolctl import threadpool_limits

from benchmarks.frontier.data import Part, development_round, table_round
from benchmarks.frontier.methods import CERTIFIED, METHODS, PAPER
from benchmarks.yang.cell import machine
from benchmarks.yang.seeds import seed
from holdfast import Threat

RADII = (0.1, 0.2, 0.3)
RADIUS = 0.2  # by which parameters are chosen
LINF_RADII = (0.025, 0.05, 0.1)
LINF_RADIUS = 0.05
BUDGET = 40_000  # units of work a row for the verdict at a radius


@dataclass(frozen=True)
class Cell:
    """A data set, a method and a round; of the table, or for development; moves in L2 or in L∞."""

    dataset: str
    method: str
    round: int
    development: bool = False
    linf: bool = False

    @property
    def path(self) -> Path:
        """Path of its rows below the folder of cells."""
        kind = ("development" if self.development else "table") + ("-linf" if self.linf else "")
        return Path(kind, self.dataset, f"{self.method.replace(' ', '_')}-{self.round:02d}.parquet")


def run_cell(cell: Cell, data_dir: str | None = None) -> list[dict[str, Any]]:
    """Rows: the accuracy, and the certified accuracy at each radius. On one thread."""
    part: Part = (development_round if cell.development else table_round)(cell.dataset, cell.round, data_dir)
    with threadpool_limits(1), joblib.parallel_config("sequential"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        began = time.perf_counter()
        make = {**METHODS, **PAPER}[cell.method]
        model = make(LINF_RADIUS if cell.linf else RADIUS, seed("frontier", cell.dataset, cell.round))
        if cell.linf and cell.method in CERTIFIED:
            model.set_params(threat=Threat(np.inf))
        model.fit(part.X_train, part.y_train)
        fitting = time.perf_counter() - began
        accuracy = float(np.mean(model.predict(part.X_test) == part.y_test))
        rows = [{"score": "accuracy", "radius": 0.0, "value": accuracy}]
        if cell.method in CERTIFIED:
            rows += [row for radius in (LINF_RADII if cell.linf else RADII) for row in _certified(model, part, radius)]
    common = {"dataset": cell.dataset, "method": cell.method, "round": cell.round}
    told = {
        "n_train": len(part.y_train),
        "n_test": len(part.y_test),
        "parameters": json.dumps(_parameters(model), default=str, sort_keys=True),
        "seconds": fitting,
        **machine(),
    }
    return [{**common, **row, **told} for row in rows]


def _certified(model, part: Part, radius: float) -> list[dict[str, Any]]:
    """The shares of rows that are right and proven not to change at the radius, and right and not seen to change."""
    right = model.predict(part.X_test) == part.y_test
    kept, seen = np.zeros(len(right), dtype=bool), np.zeros(len(right), dtype=bool)
    options = {"at": radius, "budget": BUDGET, "n_jobs": 1}
    if right.any():
        kept[right] = np.equal(model.certify(part.X_test[right], witness=False, **options).stable, True)
    rest = right & ~kept
    if rest.any():
        seen[rest] = np.equal(model.certify(part.X_test[rest], **options).stable, False)
    return [
        {"score": "certified", "radius": radius, "value": float(np.mean(kept))},
        {"score": "not changed", "radius": radius, "value": float(np.mean(right & ~seen))},
    ]


def _parameters(model) -> dict[str, Any]:
    """What was chosen; a classifier without parameters of its own is shown as a whole."""
    chosen = dict(getattr(model, "best_params_", {}))
    if "family" in chosen and len(chosen) == 1:
        chosen["model"] = repr(model.best_estimator_)
    return chosen
