"""The learners the speed benchmark compares, and how each is run in an environment of its own.

`run("pylmnn", data, threads=1, repeats=3, warm=True)` makes the peer's virtual environment if it
is not there yet, runs `worker.py` inside it and returns the measurements. Environments are kept
in `.bench/` at the root of the repository, or in the folder the environment variable
HOLDFAST_BENCH_CACHE names.
"""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

CACHE_VARIABLE = "HOLDFAST_BENCH_CACHE"
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "NUMBA_NUM_THREADS",
)
ROOT = Path(__file__).resolve().parents[2]
WORKER = Path(__file__).with_name("worker.py")


@dataclass(frozen=True)
class Peer:
    """One learner of the comparison."""

    learner: str
    """The class that is fitted."""
    requirements: tuple[str, ...]
    """Requirements for pip."""
    needed: str
    """Changes needed to run it with current packages, in one sentence."""
    settings: dict[str, Any] = field(default_factory=dict)
    """Arguments of the learner; `run` may override them."""
    takes_n_jobs: bool = False
    """True if the learner has an `n_jobs` argument, which `run` then sets to the number of threads."""


_METRIC_LEARN = ("metric-learn==0.7.0", "scikit-learn==1.7.2")
_METRIC_LEARN_NEEDED = (
    "scikit-learn held at 1.7.2, because every fit passes `force_all_finite`, which scikit-learn 1.8 removed."
)

PEERS: dict[str, Peer] = {
    "holdfast": Peer(
        learner="holdfast.LMNN",
        requirements=("--editable", str(ROOT)),
        needed="Nothing.",
        # The peers weigh sums of pull and push alike; with ten times more triplets than pairs, that is
        # mu = 0.9 between their means.
        settings={"n_neighbors": 3, "mu": 0.9, "perturbation": None},
        takes_n_jobs=True,
    ),
    "holdfast-scml": Peer(
        learner="holdfast.SCML",
        requirements=("--editable", str(ROOT)),
        needed="Nothing.",
        settings={"random_state": 0, "eta": 1e-3},
        takes_n_jobs=True,
    ),
    "holdfast-learner": Peer(  # any of them, as `learner` among the settings; see learners.py
        learner="holdfast",
        requirements=("--editable", str(ROOT)),
        needed="Nothing.",
    ),
    # Its default max_impostors=500,000 draws that many impostors anew at every evaluation. On
    # rows7000 (1.6 million at the start) the objective is then random, and it stopped after one
    # step in 10 s with an objective of 405,042; without the limit it converged in 42 steps and
    # 7 s to 165,372. Digits stays far below the limit (91,046), so nothing changes there.
    "pylmnn": Peer(
        learner="pylmnn.LargeMarginNearestNeighbor",
        requirements=("pylmnn==1.6.4", "six", "scipy<1.18"),
        needed=(
            "The undeclared dependency `six` installed, an empty stand-in for GPyOpt (imported at "
            "the top, unused by the learner), the starting point flattened before it reaches "
            "scipy.optimize.minimize (which refuses a matrix), and scipy held below 1.18 (which "
            "drops the `disp` option it passes)."
        ),
        settings={"n_neighbors": 3, "max_impostors": 10**8, "random_state": 0},
        takes_n_jobs=True,
    ),
    # learn_rate was chosen on digits, one thread, with everything else at its default. The test
    # accuracy was 0.9815 for all of them and the objective reached differed by less than 1 %:
    #     1: 10 s     0.1: 4 s     0.03: 8 s     0.01: 6 s      0.003: 7 s    0.001: 8 s
    #  3e-4: 8 s     1e-4: 6 s     3e-5: 14 s    1e-5: 15 s     1e-6: 29 s
    #  1e-7 (its default): 61 s, stopped by max_iter=1000 before it converged.
    # It halves a step that is too long, so a generous one costs little.
    "metric-learn": Peer(
        learner="metric_learn.LMNN",
        requirements=_METRIC_LEARN,
        needed=_METRIC_LEARN_NEEDED,
        settings={"n_neighbors": 3, "learn_rate": 0.1, "random_state": 0},
    ),
    "metric-learn-scml": Peer(
        learner="metric_learn.SCML_Supervised",
        requirements=_METRIC_LEARN,
        needed=_METRIC_LEARN_NEEDED,
        settings={"random_state": 0},
    ),
    "sklearn-nca": Peer(
        learner="sklearn.neighbors.NeighborhoodComponentsAnalysis",
        requirements=("scikit-learn==1.9.1",),
        needed="Nothing.",
        settings={"random_state": 0},
    ),
}


def cache_folder() -> Path:
    """The folder the environments are kept in."""
    named = os.environ.get(CACHE_VARIABLE)
    return Path(named).resolve() if named else ROOT / ".bench"


def environment(peer: str) -> Path:
    """The Python of the peer's virtual environment, which is made on the first call.

    It is built under a passing name and renamed when complete, so that what a killed run leaves
    behind is never taken for a finished environment. The name carries a digest of the Python
    version and the requirements: peers with the same ones share an environment, and changed ones
    make a new environment.
    """
    requirements = PEERS[peer].requirements
    wanted = "\n".join((sys.version, *requirements))
    digest = hashlib.sha256(wanted.encode()).hexdigest()[:8]
    folder = cache_folder() / f"{PEERS[peer].learner.split('.')[0]}-{digest}"
    if not folder.is_dir():
        _build(folder, requirements)
    return _python_of(folder)


def _python_of(folder: Path) -> Path:
    return folder / "bin" / "python"


def _build(folder: Path, requirements: tuple[str, ...]) -> None:
    """Make a virtual environment with `requirements` and put it at `folder`."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    unfinished = Path(tempfile.mkdtemp(prefix="unfinished-", dir=folder.parent))
    try:
        _checked([sys.executable, "-m", "venv", str(unfinished)])
        pip = [str(_python_of(unfinished)), "-m", "pip", "--disable-pip-version-check"]
        _checked([*pip, "install", "--quiet", *requirements])
        try:
            unfinished.rename(folder)
        except OSError:
            if not folder.is_dir():  # otherwise another run was faster, and its result is as good
                raise
    finally:
        shutil.rmtree(unfinished, ignore_errors=True)


def _checked(command: list[str]) -> None:
    """Run a command of `_build`; raise RuntimeError with its last line if it fails."""
    done = subprocess.run(command, capture_output=True, text=True, env=_clean_environment())
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command[1:])} failed: {_last_line(done.stderr)}")


def _clean_environment() -> dict[str, str]:
    """The environment variables without those that would leak modules into another Python."""
    return {k: v for k, v in os.environ.items() if k not in ("PYTHONPATH", "PYTHONHOME")}


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1].strip() if lines else "no message"


def run(peer: str, data: Path, threads: int, *, timeout: float = 3600.0, **settings: Any) -> dict[str, Any]:
    """Measure `peer` on the arrays in `data` and return what `worker.py` reports.

    `settings` are the learner's own and override those in `PEERS`, apart from `warm` and
    `repeats`, which `worker.py` explains. A run that fails or takes longer than `timeout`
    seconds does not raise: its result holds the sentence `error` in place of measurements.
    """
    given = {**PEERS[peer].settings, **settings}
    if PEERS[peer].takes_n_jobs:
        given["n_jobs"] = threads
    told: dict[str, Any] = {"peer": peer, "threads": threads, "needed": PEERS[peer].needed}
    try:
        python = environment(peer)
    except (OSError, RuntimeError) as failure:
        return {**told, "error": f"The environment could not be made: {failure}"}

    command = [str(python), str(WORKER), "--peer", peer, "--data", str(data)]
    try:
        done = subprocess.run(
            [*command, "--settings", json.dumps(given)],
            capture_output=True,
            text=True,
            timeout=timeout,
            env={**_clean_environment(), **dict.fromkeys(THREAD_VARIABLES, str(threads))},
        )
    except subprocess.TimeoutExpired:
        return {**told, "error": f"It did not finish within {timeout:g} seconds."}
    if done.returncode != 0:
        reason = _last_line(done.stderr)
        return {**told, "error": f"It ended with exit code {done.returncode}: {reason}"}
    try:
        return {**told, **json.loads(_last_line(done.stdout))}
    except json.JSONDecodeError:
        return {**told, "error": f"It printed no result, but: {_last_line(done.stdout)}"}
