"""This version beside another: imports, the first certified answer, training, certifying and memory.

``python -m benchmarks.speed.versions OTHER/src`` compares with another checkout of holdfast, prints the table and
writes ``results/versions.csv``. Both versions take turns and every ratio (this one over the other) is the median over
the turns, because the pace of a shared machine changes. Cold tasks get a fresh process each turn, the first answer an
empty numba cache too; warm tasks run in two processes that live side by side and count processor seconds.
"""

import argparse
import contextlib
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from statistics import median

from benchmarks.speed.rows import table, write

ROOT = Path(__file__).resolve().parents[2]
COLUMNS = ["task", "unit", "before", "now", "ratio", "turns"]
COLD = {
    "import": "import holdfast",
    "names": "import of the README's names",
    "memory": "fit of LMNN on digits",
    "floor": "without holdfast: digits, scikit-learn, numba and one cached kernel",
}
ONLY_MEMORY = ("memory", "floor")  # the seconds of the fit are measured warm
WARM = (
    "train digits LMNN", "train digits LMNN-PL", "train 7,000 x 23 LMNN", "train 7,000 x 23 LMNN-PL",
    "certify digits k=1", "certify digits k=3", "certify digits k=3, lower bound", "certify digits k=1, Linf",
    "certify digits, scikit-learn's 1-NN", "certify digits, scikit-learn's 1-NN, first call",
    "certify digits, scikit-learn's 1-NN in a tree", "certify digits, scikit-learn's 1-NN in a tree, first call",
    "certify wine k=3", "certify wine k=5",
)  # fmt: skip


def versions(other: Path, turns: int, first_turns: int) -> list[dict]:
    """All rows: the other version is ``before``, this one ``now``."""
    sources = {"before": other, "now": ROOT / "src"}
    with tempfile.TemporaryDirectory() as folder:
        caches = {side: str(Path(folder, side)) for side in sources}
        return first_answer(sources, first_turns) + warm(sources, caches, turns) + cold(sources, caches, turns)


def first_answer(sources: dict[str, Path], turns: int) -> list[dict]:
    """The README's example from an empty numba cache, a new one every turn; nothing if there are no turns."""
    if turns == 0:
        return []
    seen: dict[str, list[dict]] = {side: [] for side in sources}
    for _ in range(turns):
        for side, source in sources.items():
            with tempfile.TemporaryDirectory() as cache:
                seen[side].append(ask("first", source, cache))
    task = "first certified answer, empty cache"
    units = (("s", "s"), ("processor s", "cpu_s"), ("MB", "mb"))
    return [row(task, unit, seen, key) for unit, key in units if turns]


def cold(sources: dict[str, Path], caches: dict[str, str], turns: int) -> list[dict]:
    """Imports and memory, in fresh processes, after one turn that fills the caches."""
    rows = []
    for asked, task in COLD.items():
        seen: dict[str, list[dict]] = {side: [] for side in sources}
        for turn in range(turns + 1):
            for side, source in sources.items():
                answer = ask(asked, source, caches[side])
                if turn > 0:
                    seen[side].append(answer)
        if asked not in ONLY_MEMORY:
            rows.append(row(task, "s", seen, "s"))
        rows.append(row(task, "MB", seen, "mb"))
        if asked in ONLY_MEMORY:
            rows.append(row(task, "MB, without pages of files", seen, "private_mb"))
    return rows


def warm(sources: dict[str, Path], caches: dict[str, str], turns: int) -> list[dict]:
    """Training and certifying, after one turn that compiles."""
    rows = []
    with contextlib.ExitStack() as stack:
        workers = {side: stack.enter_context(Worker(source, caches[side])) for side, source in sources.items()}
        for task in WARM:
            seen: dict[str, list[dict]] = {side: [] for side in sources}
            for turn in range(turns + 1):
                for side, worker in workers.items():
                    seconds = worker.seconds(task)
                    if turn > 0:
                        seen[side].append({"s": seconds})
            rows.append(row(task, "processor s", seen, "s"))
    return rows


class Worker:
    """A process that keeps its data and compiled kernels between tasks."""

    def __init__(self, source: Path, cache: str):
        self._process = subprocess.Popen(
            command("repeat"),
            cwd=ROOT,
            env=environment(source, cache),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )

    def seconds(self, task: str) -> float:
        """Processor seconds of one run of a task."""
        assert self._process.stdin is not None
        assert self._process.stdout is not None
        self._process.stdin.write(f"{task}\n")
        self._process.stdin.flush()
        return float(self._process.stdout.readline())

    def __enter__(self) -> "Worker":
        return self

    def __exit__(self, *exc) -> None:
        self._process.communicate()


def row(task: str, unit: str, seen: dict[str, list[dict]], key: str) -> dict:
    """Medians of both, and the median ratio of the turns."""
    before, now = ([each[key] for each in seen[side]] for side in ("before", "now"))
    ratio = median(b / a for a, b in zip(before, now, strict=True))
    return {"task": task, "unit": unit, "before": median(before), "now": median(now), "ratio": ratio, "turns": len(now)}


def ask(asked: str, source: Path, cache: str) -> dict:
    """The row a fresh process prints."""
    done = subprocess.run(
        command(asked), cwd=ROOT, env=environment(source, cache), check=True, capture_output=True, text=True
    )
    return json.loads(done.stdout.splitlines()[-1])


def command(asked: str) -> list[str]:
    """A worker, with warnings of either version off."""
    return [sys.executable, "-W", "ignore", "-m", "benchmarks.speed.version_worker", asked]


def environment(source: Path, cache: str) -> dict[str, str]:
    """The variables that choose a version of holdfast and a numba cache."""
    return {**os.environ, "PYTHONPATH": str(source), "NUMBA_CACHE_DIR": cache}


def main() -> None:
    """Measure, print and write."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("other", type=Path, help="the folder src of another checkout of holdfast")
    parser.add_argument("--turns", type=int, default=5, help="of each warm task and import (5)")
    parser.add_argument("--first-turns", type=int, default=2, help="of the first answer, empty cache (2; 0: none)")
    chosen = parser.parse_args()
    if not (chosen.other / "holdfast" / "__init__.py").is_file():
        parser.error(f"{chosen.other} holds no holdfast; give the folder src of a checkout")
    rows = versions(chosen.other.resolve(), chosen.turns, chosen.first_turns)
    write("versions", rows)
    print(table(rows, COLUMNS))


if __name__ == "__main__":
    main()
