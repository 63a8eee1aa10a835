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
    problem: Problem, peers: list[str], threads: int, rounds: int, timeout: float, ours: str = "holdfast"
) -> list[dict]:
    """One row a learner; ``ratio`` is the time of a peer over ours.

    A machine may be faster in one second than in the next, so ours is measured beside every fit of a peer: five fits
    just before it. ``ratio`` is the median over the rounds, as ``seconds`` and ``ours_seconds`` are.
    """
    own = []
    rows = []
    with tempfile.TemporaryDirectory() as folder:
        data = problem.save(Path(folder) / "data.npz")
        for peer in peers:
            pairs = []
            # A peer that takes minutes is measured once.
            for _ in range(rounds if peer == "pylmnn" or problem.name == "digits" else 1):
                own.append(run(ours, data, threads, timeout=timeout, warm=True, repeats=5))
                if "error" in own[-1]:
                    raise RuntimeError(f"{ours}: {own[-1]['error']}")
                pairs.append((run(peer, data, threads, timeout=timeout, warm=True), own[-1]))
                if "error" in pairs[-1][0]:
                    break
            row = _row(problem, threads, peer, pairs[0][0])
            times = [(his["median_seconds"], mine["median_seconds"]) for his, mine in pairs if "error" not in his]
            if times:
                row["seconds"], row["ours_seconds"] = (statistics.median(column) for column in zip(*times, strict=True))
                row["ratio"] = statistics.median(his / mine for his, mine in times)
            rows.append(row)
            shown = {key: row.get(key) for key in ("learner", "seconds", "ratio", "accuracy", "error")}
            print("  ", problem.name, threads, shown, flush=True)
    first = _row(problem, threads, ours, own[0])
    first["seconds"] = statistics.median(result["median_seconds"] for result in own)
    return [first, *rows]


def _row(problem: Problem, threads: int, peer: str, result: dict) -> dict:
    return {
        "problem": problem.name,
        "threads": threads,
        "learner": PEERS[peer].learner,
        "seconds": None,
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
