"""LMNN against its peers: the same data, the same threads, one after the other in one run."""

import statistics
import tempfile
from pathlib import Path

from benchmarks.speed.peers import PEERS, run
from benchmarks.speed.problems import Problem, digits, rows7000

COLUMNS = [
    "problem",
    "threads",
    "learner",
    "seconds",
    "ours_seconds",
    "ratio",
    "peak_mb",
    "accuracy",
    "n_iter",
    "error",
]


def against_peers(
    problem: Problem, peers: list[str], threads: int, repeats: int, timeout: float, ours: str = "holdfast"
) -> list[dict]:
    """One row a learner; ``ratio`` is the median time of a peer over ours.

    A machine may be faster in one minute than in the next, so ours is measured again beside every peer, before and
    after it: ``ours_seconds`` is the mean of the two.
    """
    with tempfile.TemporaryDirectory() as folder:
        data = problem.save(Path(folder) / "data.npz")

        def measure(peer: str) -> dict:
            # A peer that takes minutes is measured once.
            times = repeats if peer in (ours, "pylmnn") or problem.name == "digits" else 1
            return run(peer, data, threads, timeout=timeout, warm=True, repeats=times)

        beside = [measure(ours)]
        rows = [_row(problem, threads, ours, beside[0])]
        for peer in peers:
            row = _row(problem, threads, peer, measure(peer))
            beside.append(measure(ours))
            around = [result.get("median_seconds") for result in beside[-2:]]
            if row["seconds"] and all(around):
                row["ours_seconds"] = sum(around) / 2
                row["ratio"] = row["seconds"] / row["ours_seconds"]
            rows.append(row)
            shown = {key: row.get(key) for key in ("learner", "seconds", "ratio", "accuracy", "error")}
            print("  ", problem.name, threads, shown, flush=True)
        rows[0]["seconds"] = statistics.median(result["median_seconds"] for result in beside)
    return rows


def _row(problem: Problem, threads: int, peer: str, result: dict) -> dict:
    return {
        "problem": problem.name,
        "threads": threads,
        "learner": PEERS[peer].learner,
        "seconds": result.get("median_seconds"),
        "peak_mb": result.get("peak_mb"),
        "accuracy": result.get("accuracy"),
        "n_iter": result.get("n_iter"),
        "settings": result.get("settings"),
        "needed": PEERS[peer].needed,
        "error": result.get("error"),
    }


def training(threads: list[int], slow: bool) -> list[dict]:
    """Digits with every peer; 7,000 rows with pylmnn, and with the slow ones on request."""
    rows = []
    for count in threads:
        rows += against_peers(digits(), ["pylmnn", "sklearn-nca", "metric-learn"], count, 5, 600)
        slow_peers = ["metric-learn", "sklearn-nca"] if slow and count == 1 else []
        rows += against_peers(rows7000(), ["pylmnn", *slow_peers], count, 5, 1200)
        for problem in (digits(), rows7000()) if count == 1 else ():
            rows += against_peers(problem, ["metric-learn-scml"], count, 3, 600, ours="holdfast-scml")
    return rows
