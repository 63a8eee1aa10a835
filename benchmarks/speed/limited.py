"""Exact radii of digits in L2 with a box, one-sided moves and relations: how many searches end, CPU milliseconds a row.

``python -m benchmarks.speed.limited`` prints the table and writes ``results/limited.csv``. Pixels are in [0, 1], one
thread, the search for witnesses included. Rows with two equally near points of different classes (two of 540 at k = 3)
have the radius 0 and a witness of 1e-12: not counted as exact.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_digits

from benchmarks.speed.rows import table, write
from holdfast import CertifiedKNeighborsClassifier, Euclidean, Threat, certify

_TRAIN = 1_257
_PIXELS = 64
BARS = {1: 20.0, 3: 100.0}  # CPU milliseconds a row
THREATS = {
    "box": {"lower": 0.0, "upper": 1.0},
    "one-sided": {"only_up": list(range(0, _PIXELS, 2)), "only_down": list(range(1, _PIXELS, 2))},
    "ink only spreads": {"relations": [(dict.fromkeys(range(_PIXELS), 1.0), "<=", 30.0)], "only_up": range(32)},
    "box and relations": {
        "lower": 0.0,
        "upper": 1.0,
        "relations": [
            (dict.fromkeys(range(_PIXELS), 1.0), "<=", 30.0),
            ({27: 1.0, 28: 1.0, 35: 1.0, 36: 1.0}, ">=", 0.0),
        ],
    },
}


def limited(n_rows: int = 200, work: int = 40_000) -> list[dict]:
    """One row for each threat and number of neighbours."""
    X, y = load_digits(return_X_y=True)
    X = X / 16.0
    rows = []
    for k, bar in BARS.items():
        model = CertifiedKNeighborsClassifier(Euclidean(), n_neighbors=k).fit(X[:_TRAIN], y[:_TRAIN])
        for name, given in THREATS.items():
            threat = Threat(**given)
            certify(model, X[_TRAIN : _TRAIN + 2], threat=threat, budget=5, n_jobs=1)  # compiles
            start = time.process_time()
            found = certify(model, X[_TRAIN : _TRAIN + n_rows], threat=threat, budget=work, n_jobs=1)
            ms = 1e3 * (time.process_time() - start) / len(found)
            rows.append({
                "threat": name, "k": k, "rows": len(found), "exact": round(100 * float(found.exact.mean()), 2),
                "tightness": round(float(np.mean(found.radius / found.upper)), 5), "ms": round(ms, 2), "bar_ms": bar,
            })  # fmt: skip
            print(rows[-1], np.flatnonzero(~found.exact)[:5], flush=True)
    return rows


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.limited", description=__doc__)
    parser.add_argument("--rows", type=int, default=200)
    parser.add_argument("--work", type=int, default=40_000, help="units of work a row (default: 40,000)")
    chosen = parser.parse_args()
    rows = limited(chosen.rows, chosen.work)
    print(table(rows, list(rows[0])))
    write("limited", rows)


if __name__ == "__main__":
    main()
