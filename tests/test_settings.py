"""No import and no call leaves a setting of the process changed: looked at in a process of its own."""

import gc
import importlib
import json
import locale
import multiprocessing
import os
import random
import signal
import subprocess
import sys
import tempfile
import threading
import warnings
from pathlib import Path


def settings() -> dict:
    """What other code in the process can notice, by name; only numpy and what is imported already is asked."""
    import numpy as np
    import threadpoolctl

    found = {
        "garbage collector": [gc.isenabled(), gc.get_threshold(), gc.get_debug(), gc.get_freeze_count(), gc.callbacks],
        "filters of warnings": warnings.filters,
        "warnings are shown by": warnings.showwarning,
        "errors of numpy": np.geterr(),
        "printing of numpy": np.get_printoptions(),
        "numbers of numpy": np.random.get_state(),  # noqa: NPY002
        "numbers of random": random.getstate(),
        "locale": locale.setlocale(locale.LC_ALL),
        "environment": dict(os.environ),
        "folder": os.getcwd(),
        "start of processes": multiprocessing.get_start_method(allow_none=True),
        "limits": [sys.getrecursionlimit(), sys.getswitchinterval(), sys.get_int_max_str_digits()],
        "flags": sys.flags,
        "hooks": [sys.excepthook, sys.displayhook, sys.unraisablehook, threading.excepthook, sys.gettrace()],
        "importing": [sys.path, sys.path_hooks, sys.meta_path, sys.dont_write_bytecode],
        "signals": [signal.getsignal(number) for number in signal.valid_signals()],
        "streams": [sys.stdin, sys.stdout, sys.stderr],
        "threads": threading.active_count(),
    }
    found |= {f"pool {pool['filepath']}": pool["num_threads"] for pool in threadpoolctl.threadpool_info()}
    if "sklearn" in sys.modules:
        found["scikit-learn"] = importlib.import_module("sklearn").get_config()
    if "numba" in sys.modules:
        listeners = importlib.import_module("numba.core.event")._registered
        found["listeners of numba"] = {kind: list(each) for kind, each in listeners.items() if each}
        found["threads of numba"] = importlib.import_module("numba").get_num_threads()
    return {name: repr(value) for name, value in found.items()}


def calls(folder: Path) -> list:
    """(name, function) of each thing that is done between two looks at the settings."""
    import holdfast

    root = Path(holdfast.__file__).parent
    files = [path.relative_to(root).with_suffix("") for path in sorted(root.rglob("*.py")) if path.stem != "__main__"]
    names = [".".join(("holdfast", *file.parts)).removesuffix(".__init__") for file in files]
    out = [(f"import {name}", lambda name=name: importlib.import_module(name)) for name in names]

    from sklearn.datasets import load_wine
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.pipeline import make_pipeline
    from sklearn.preprocessing import StandardScaler

    X, y = load_wine(return_X_y=True, as_frame=True)
    ours = make_pipeline(StandardScaler(), holdfast.LMNN(), holdfast.CertifiedKNeighborsClassifier())
    theirs = make_pipeline(StandardScaler(), KNeighborsClassifier(3))
    scaled = StandardScaler().fit_transform(X)
    threat = holdfast.Threat(norm=1, lower=0)
    file = folder / "model.holdfast"
    table = folder / "table.csv"

    def program(*arguments):
        from holdfast.cli.app import run

        before = sys.argv
        sys.argv = ["holdfast", *map(str, arguments)]
        try:
            assert not run()
        finally:
            sys.argv = before

    out += [
        ("fit", lambda: (ours.fit(X, y), theirs.fit(X, y))),
        ("fit with threads", lambda: holdfast.LMNN(n_jobs=2).fit(X, y)),
        ("certify", lambda: holdfast.certify(ours, X[:5])),
        ("certify k = 3 in threads", lambda: holdfast.certify(theirs, X[:5], reference=(X, y), n_jobs=2)),
        ("certify under a threat", lambda: holdfast.certify(ours, X[:3], threat=threat)),
        ("attack", lambda: holdfast.attack(ours, X[:3])),
        ("counterfactuals", lambda: holdfast.counterfactuals(ours, X[:2])),
        ("search", lambda: holdfast.RobustClassifierCV(candidates=["linear"], cv=2, random_state=0).fit(scaled, y)),
        ("audit", lambda: holdfast.audit("wine", models=["logistic", "robust"], n_draws=1, explain=1)),
        ("save and load", lambda: (holdfast.save(ours, file), holdfast.load(file))),
        ("bad input", lambda: _refused(lambda: holdfast.certify(ours, X[:2] * float("inf")))),
        ("a table", lambda: X[:5].to_csv(table, index=False)),
        ("holdfast certify", lambda: program("certify", file, table)),
    ]
    return out


def _refused(call):
    try:
        call()
    except ValueError:
        return
    raise AssertionError("bad input was taken")


def changes() -> list[str]:
    """One line for each setting that a call changed; settings that come with a library loaded in the call are none."""
    # What the libraries set themselves, at their imports and at the first joblib.Parallel, as any scikit-learn fit has.
    for name in ("dask.array", "matplotlib", "numba", "pandas", "rich.console", "scipy.special", "sklearn", "typer"):
        importlib.import_module(name)
    multiprocessing.get_start_method()
    out = []
    with tempfile.TemporaryDirectory() as folder:
        before = settings()
        for name, call in calls(Path(folder)):
            call()
            after = settings()
            out += [
                f"{name}: {each} was {before[each]}, is {after[each]}"
                for each in before.keys() & after.keys()
                if before[each] != after[each]
            ]
            before = after
    return out


def test_no_import_and_no_call_leaves_a_setting_changed():
    root = Path(__file__).parents[1]
    done = subprocess.run(
        [sys.executable, "-m", "tests.test_settings"], cwd=root, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout.splitlines()[-1]) == []


if __name__ == "__main__":
    print(json.dumps(changes()))
