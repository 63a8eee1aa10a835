"""Verdicts of k-NN at one size, ``certify(at=0.2)``: how many rows are decided, and CPU milliseconds a row.

``python -m benchmarks.speed.verdicts`` prints the table and writes ``results/verdicts.csv``; ``HOLDFAST_DATA`` names
the folder with the UCI sets. Rows are standardised and of unit length ("unit": of unit length only), moves Euclidean,
one thread, the search for witnesses included. ``--work`` is the budget of a row in units of work, about a microsecond
each; tables with a column ``nodes`` are of an earlier version, whose budget counted nodes of the search.
"""

import argparse
import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.neighbors import KNeighborsClassifier
from sklearn.preprocessing import normalize

from benchmarks.frontier.data import Part, development_round
from benchmarks.speed.problems import digits
from benchmarks.speed.rows import table, write
from holdfast import certify

SETS = ("australian", "voting", "wdbc", "digits", "digits, unit")
COLUMNS = ["set", "k", "rows", "stable", "changes", "undecided", "decided", "ms"]


def rows_of(name: str) -> Part:
    """Training and test rows; of digits also without standardising, where rows lie nearer to each other."""
    if name == "digits":
        found = digits()
        return Part(found.X_train, found.y_train, found.X_test, found.y_test)
    if name == "digits, unit":
        X, y = load_digits(return_X_y=True)
        X = normalize(X)
        return Part(X[:1257], y[:1257], X[1257:], y[1257:])
    return development_round(name, 0)


def verdict_row(name: str, k: int, at: float, work: int, most: int | None = None) -> dict:
    """One row of the table: shares of the test rows in per cent."""
    part = rows_of(name)
    rows = part.X_test[:most]
    model = KNeighborsClassifier(k).fit(part.X_train, part.y_train)
    certify(model, rows[:3], reference=(part.X_train, part.y_train), at=at, budget=10, n_jobs=1)  # compiles
    start = time.process_time()
    found = certify(model, rows, reference=(part.X_train, part.y_train), at=at, budget=work, n_jobs=1)
    seconds = time.process_time() - start
    stable = found.stable.tolist()
    shares = {word: round(100 * stable.count(which) / len(rows), 2) for word, which in _VERDICTS.items()}
    return {
        "set": name, "k": k, "at": at, "work": work, "rows": len(rows), **shares,
        "decided": round(100.0 - shares["undecided"], 2), "ms": round(1e3 * seconds / len(rows), 2),
    }  # fmt: skip


_VERDICTS: dict = {"stable": True, "changes": False, "undecided": None}


def tightness_row(name: str, k: int, work: int, most: int) -> dict:
    """Mean of radius / upper where the radius itself is asked for."""
    part = rows_of(name)
    rows = part.X_test[:most]
    model = KNeighborsClassifier(k).fit(part.X_train, part.y_train)
    start = time.process_time()
    found = certify(model, rows, reference=(part.X_train, part.y_train), budget=work, n_jobs=1)
    seconds = time.process_time() - start
    known = np.isfinite(found.upper) & (found.upper > 0)
    return {
        "set": name, "k": k, "work": work, "rows": len(rows), "tightness": round(float(
            np.mean(found.radius[known] / found.upper[known])), 4), "ms": round(1e3 * seconds / len(rows), 2),
    }  # fmt: skip


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.speed.verdicts", description=__doc__)
    parser.add_argument("sets", nargs="*", default=SETS)
    parser.add_argument("--k", type=int, nargs="+", default=[7, 15, 31])
    parser.add_argument("--at", type=float, default=0.2)
    parser.add_argument("--work", type=int, default=40_000, help="units of work a row (default: 40,000)")
    parser.add_argument("--rows", type=int, default=None, help="test rows of each set; all by default")
    parser.add_argument("--tightness", action="store_true", help="radius / upper in place of verdicts")
    chosen = parser.parse_args()
    rows = []
    for name in chosen.sets:
        for k in chosen.k:
            if chosen.tightness:
                rows.append(tightness_row(name, k, chosen.work, chosen.rows or 50))
            else:
                rows.append(verdict_row(name, k, chosen.at, chosen.work, chosen.rows))
            print(rows[-1], flush=True)
    print(table(rows, COLUMNS if not chosen.tightness else list(rows[0])))
    if tuple(chosen.sets) == SETS and chosen.rows is None:
        write("tightness" if chosen.tightness else "verdicts", rows)


if __name__ == "__main__":
    main()
