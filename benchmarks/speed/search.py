"""How long ``RobustClassifierCV`` searches at its defaults, on all cores.

``python -m benchmarks.speed.search`` prints the table and writes ``results/search.csv``: rows of 30 features and three
classes (``make_classification``), one search of a few rows first, so that nothing is compiled while it is timed.
"""

import argparse
import time
import warnings

from sklearn.datasets import make_classification

from benchmarks.speed.rows import table, write
from holdfast import RobustClassifierCV

SIZES = (500, 20_000)
COLUMNS = ["rows", "s", "aim", "family", "certified", "right"]
AIMS = {500: 60, 20_000: 300}  # seconds on two cores


def search_row(n: int) -> dict:
    """Seconds of one search, what it chose, and what that certified and got right in cross-validation."""
    X, y = make_classification(n, 30, n_informative=15, n_redundant=5, n_classes=3, random_state=0)
    began = time.perf_counter()
    model = RobustClassifierCV(radius=0.2, n_jobs=-1, random_state=0).fit(X, y)
    seconds = time.perf_counter() - began
    return {
        "rows": n, "s": seconds, "aim": AIMS.get(n), "family": model.best_params_["family"],
        "certified": model.best_certified_, "right": model.best_accuracy_,
    }  # fmt: skip


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("sizes", nargs="*", type=int, default=SIZES, help="numbers of rows (500 and 20000)")
    sizes = parser.parse_args().sizes
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        search_row(100)  # compiles
        rows = [search_row(n) for n in sizes]
    print(table(rows, COLUMNS))
    if tuple(sizes) == SIZES:
        write("search", rows)


if __name__ == "__main__":
    main()
