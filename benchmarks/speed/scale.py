"""Scale: from ten thousand rows to a million, images, certificates, and the peers.

``python -m benchmarks.speed.scale growth`` (or ``images``, ``certify``, ``peers``; all without a name) prints a
table and writes ``results/scale_PART.csv``. Every measurement runs in a fresh process. ``--largest 100000``
leaves out larger sizes, ``--timeout`` ends what takes too long; that is a result, too.
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np

from benchmarks.speed.peers import PEERS, ROOT, _clean_environment, _last_line, run
from benchmarks.speed.problems import DATA_VARIABLE
from benchmarks.speed.rows import table, write

SIZES = (10_000, 100_000, 1_000_000)
_SAMPLE = {"n_anchors": 100_000, "random_state": 0}  # every row is an anchor below that size
_PL = {"tau": 0.5, "weight": 4.0}
_IMAGES_PL = {"tau": 0.25, "weight": 30.0}  # the paper's range, rows of unit length
_STAGES = ("mine_cpu_s", "fit_cpu_s", "predict_cpu_s", "certify_cpu_s")


def measure(timeout: float, **asked) -> dict:
    """The row that ``scale_worker`` prints, or what went wrong, and what was asked."""
    command = [sys.executable, "-m", "benchmarks.speed.scale_worker", json.dumps(asked)]
    told = {key: value for key, value in asked.items() if key != "task"}
    try:
        done = subprocess.run(
            command, capture_output=True, text=True, timeout=timeout, cwd=ROOT, env=_clean_environment()
        )
    except subprocess.TimeoutExpired:
        return {**told, "error": f"It did not finish within {timeout:g} seconds."}
    if done.returncode != 0:
        return {**told, "error": _last_line(done.stderr)}
    return {**told, **json.loads(_last_line(done.stdout))}


def growth(sizes: tuple[int, ...], timeout: float) -> list[dict]:
    """Mine, fit and predict at every size, and the exponents of the processor seconds."""
    recipes: list[tuple[str, dict, int]] = [  # the last number: the largest size that is run, to save hours
        ("LMNN", {}, 100_000),
        ("LMNN-PL", {"perturbation": _PL}, max(SIZES)),
        ("LMNN-PL, stochastic", {"perturbation": _PL, "solver": "StochasticLBFGS"}, 100_000),
        ("LMNN-PL, approximate", {"perturbation": _PL, "neighbors": {**_SAMPLE, "method": "approximate"}}, 100_000),
    ]
    rows = [_shown({"learner": "Euclidean", **measure(timeout, task="fit", n=n, learner="Euclidean")}) for n in sizes]
    for name, recipe, most in recipes:
        for n in (size for size in sizes if size <= most):
            row = measure(timeout, task="fit", n=n, **{"neighbors": _SAMPLE, **recipe})
            rows.append(_shown({**row, "learner": name}))
    return rows + exponents(rows)


def images(sizes: tuple[int, ...], timeout: float) -> list[dict]:
    """mnist and fashion_mnist, 60,000 rows of 141 features; NCA on the first 5,000 rows."""
    if DATA_VARIABLE not in os.environ:
        print(f"   {DATA_VARIABLE} is not set: the images are left out")
        return []
    rows = []
    for name in ("mnist", "fashion_mnist"):
        for label, recipe in (
            ("Euclidean", {"learner": "Euclidean"}),
            ("LMNN", {}),
            ("LMNN-PL", {"perturbation": _IMAGES_PL}),
        ):
            row = measure(timeout, task="fit", images_of=name, **recipe)
            rows.append(_shown({**row, "problem": name, "learner": label}))
        rows.append(_shown(_nca(name, 5_000, timeout)))
    return rows


def certify(sizes: tuple[int, ...], timeout: float) -> list[dict]:
    """1,000 rows (200 for the exact vote of three) against 100,000 and a million reference rows; exponents."""
    rows = []
    asked = (("lower bound", 3, "lower", 1_000), ("exact", 1, "auto", 1_000), ("exact", 3, "auto", 200))
    for label, k, method, queries in asked:
        for n in sizes[1:]:
            row = measure(timeout, task="certify", n=n, n_neighbors=k, method=method, n_queries=queries)
            rows.append(_shown({**row, "learner": f"{label}, k = {k}"}))
    return rows + exponents(rows)


def peers(sizes: tuple[int, ...], timeout: float) -> list[dict]:
    """LMNN against its peers at 10,000 and 100,000 rows, each with a time limit; ratios to ours."""
    from benchmarks.speed.scale_worker import clusters

    rows = []
    threads = os.cpu_count() or 1
    for n in sizes[:2]:
        problem = clusters(n)
        with tempfile.TemporaryDirectory() as folder:
            data = problem.save(Path(folder) / "data.npz")
            first: dict = {}
            for peer in ("holdfast", "pylmnn", "metric-learn", "sklearn-nca"):
                result = run(peer, data, threads, timeout=timeout, warm=True)
                row = {"problem": problem.name, "rows": n, "learner": PEERS[peer].learner, "threads": threads}
                row |= {"fit_s": result.get("median_seconds"), **_kept(result)}
                first = first or row
                for ratio, key in (("time_ratio", "fit_s"), ("memory_ratio", "peak_mb")):
                    if row.get(key) and first.get(key):
                        row[ratio] = row[key] / first[key]
                rows.append(_shown(row))
    return rows


def exponents(rows: list[dict]) -> list[dict]:
    """The slope of log seconds in log n between the sizes of each learner, stage by stage."""
    out = []
    for learner in dict.fromkeys(row["learner"] for row in rows):
        line = {"learner": learner, "problem": "exponent in n"}
        for stage in _STAGES:
            seen = [(row["rows"], row[stage]) for row in rows if row["learner"] == learner and row.get(stage)]
            if len(seen) > 1:
                line[stage] = float(np.polyfit(*np.log(np.array(seen)).T, 1)[0])
        out.append(line)
    return out


def _nca(name: str, size: int, timeout: float) -> dict:
    """scikit-learn's NCA on the first rows of a set: on all of them it would need 60,000 × 60,000 numbers at once."""
    from benchmarks.speed.scale_worker import images as load

    problem = load(name)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "data.npz"
        np.savez(
            path,
            X_train=problem.X_train[:size],
            y_train=problem.y_train[:size],
            X_test=problem.X_test,
            y_test=problem.y_test,
        )
        result = run("sklearn-nca", path, os.cpu_count() or 1, timeout=timeout)
    told = {"problem": name, "rows": size, "learner": f"scikit-learn NCA, {size} rows"}
    return told | {"fit_s": result.get("median_seconds"), **_kept(result)}


def _kept(result: dict) -> dict:
    return {key: result.get(key) for key in ("peak_mb", "accuracy", "n_iter", "settings", "versions", "error")}


def _shown(row: dict) -> dict:
    print("  ", {key: row[key] for key in COLUMNS if row.get(key) is not None}, flush=True)
    return row


COLUMNS = ["problem", "rows", "learner", "mine_s", "fit_s", "predict_s", "certify_s", *_STAGES]
COLUMNS += ["n_iter", "peak_mb", "base_mb", "accuracy", "accuracy_100k", "exact", "time_ratio", "memory_ratio", "error"]
PARTS = {"growth": growth, "images": images, "certify": certify, "peers": peers}


def main() -> None:
    """Measure the parts asked for."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("parts", nargs="*", default=list(PARTS), help=f"of {', '.join(PARTS)} (all)")
    parser.add_argument("--largest", type=int, default=SIZES[-1], help="rows of the largest size (1000000)")
    parser.add_argument("--timeout", type=float, default=1200.0, help="seconds a measurement may take (1200)")
    chosen = parser.parse_args()
    unknown = set(chosen.parts) - set(PARTS)
    if unknown:
        parser.error(f"there is no part {', '.join(sorted(unknown))}; the parts are {', '.join(PARTS)}")
    sizes = tuple(n for n in SIZES if n <= chosen.largest)
    for part in chosen.parts:
        rows = PARTS[part](sizes, chosen.timeout)
        if rows:
            write(f"scale_{part}", rows)
            print(table(rows, [c for c in COLUMNS if any(row.get(c) is not None for row in rows)]), flush=True)


if __name__ == "__main__":
    main()
