"""Robust decision trees (GROOT, package ``groot-trees``) on the splits of the frontier, for moves in L∞.

    python -m benchmarks.frontier.trees INTERPRETER [--rounds 5] [--folder .bench/frontier]

INTERPRETER is a Python that has ``groot-trees`` (0.0.17 needs ``numpy<2``). Sets of two classes only, as the trees are.
"""

import argparse
import json
import subprocess
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.frontier.__main__ import TWO_CLASSES
from benchmarks.frontier.cell import LINF_RADII, LINF_RADIUS, Cell
from benchmarks.frontier.data import table_round
from benchmarks.yang.cell import machine
from benchmarks.yang.seeds import seed
from benchmarks.yang.store import CELLS, write

METHOD = "robust tree (GROOT)"
_WEIGHT = 0.7  # of certified accuracy, as RobustClassifierCV has by default
_WORKER = Path(__file__).with_name("trees_worker.py")


def run_trees(interpreter: str, dataset: str, number: int) -> list[dict]:
    """The rows of one set and round."""
    part = table_round(dataset, number)
    classes, y = np.unique(part.y_train, return_inverse=True)
    with tempfile.TemporaryDirectory() as folder:
        split, out = Path(folder, "split.npz"), Path(folder, "out.json")
        np.savez(
            split, X_train=part.X_train, y_train=y, X_test=part.X_test, y_test=np.searchsorted(classes, part.y_test),
            epsilon=LINF_RADIUS, radii=LINF_RADII, weight=_WEIGHT, seed=seed("frontier", dataset, number) % 2**31,
        )  # fmt: skip
        subprocess.run([interpreter, str(_WORKER), str(split), str(out)], check=True, cwd=folder)
        found = json.loads(out.read_text(encoding="utf-8"))
    common = {
        "dataset": dataset, "method": METHOD, "round": number, "n_train": len(y), "n_test": len(part.y_test),
        "parameters": json.dumps({"max_depth": found["depth"]}), "seconds": found["seconds"], **machine(),
    }  # fmt: skip
    values = [("accuracy", 0.0, found["accuracy"])]
    values += [("certified", float(r), value) for r, value in found["certified"].items()]
    return [{**common, "score": score, "radius": radius, "value": value} for score, radius, value in values]


def main() -> None:
    """Run the cells that have no file yet."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("interpreter")
    parser.add_argument("--folder", type=Path, default=Path(".bench/frontier"))
    parser.add_argument("--rounds", type=int, default=5)
    given = parser.parse_args()
    for number in range(given.rounds):
        for name in TWO_CLASSES:
            path = given.folder / CELLS / Cell(name, METHOD, number, linf=True).path
            if not path.is_file():
                rows = run_trees(given.interpreter, name, number)
                write(path, pd.DataFrame(rows))
                print(name, number, [round(100 * row["value"], 1) for row in rows], flush=True)


if __name__ == "__main__":
    main()
