"""What a fit, a certificate, a verdict and a counterfactual cost, as ratios to plain numpy measured beside them.

Both take turns in a process of their own, on one thread, and the shortest turn of each counts, in processor time: what
else the machine does delays both alike. ``test_speed.json`` has the ratios as they were; one that has grown by
more than 30 % fails. After a change that is meant, or on another kind of machine, write them anew::

    python -m tests.test_speed --record
"""

import gc
import json
import os
import subprocess
import sys
import time
from pathlib import Path

import pytest

STORED = Path(__file__).with_suffix(".json")
LIMIT = 1.3
TURNS = 20


def products(rng):
    """Products like those of 40 gradients: 4,000 differences of 13 numbers, their lengths, their Gram matrix."""
    import numpy as np

    D, M, w = rng.normal(size=(4000, 13)), np.eye(13), rng.random(4000)

    def run():
        for _ in range(40):
            lengths = np.einsum("td,td->t", D @ M, D)
            (D * (w * (lengths > 1.0))[:, None]).T @ D

    return run


def sorts(rng):
    """Searches like those of 356 queries: all squared distances, sorted; the products of the 20 nearest points."""
    import numpy as np

    X = rng.normal(size=(356, 13))

    def run():
        squares = (X**2).sum(axis=1)
        distances = squares[:, None] - 2.0 * X @ X.T + squares
        order = np.argsort(distances, axis=1)
        for i, nearest in enumerate(order[:, :20]):
            A = X[nearest] - X[i]
            G = A @ A.T
            for _ in range(4):
                np.sort(np.maximum(G @ np.diagonal(G), 0.0))

    return run


def jobs() -> dict:
    """name -> (the work, its yardstick): the wine data, 178 rows of 13 numbers."""
    import numpy as np
    from sklearn.datasets import load_wine
    from sklearn.neighbors import KNeighborsClassifier
    from sklearn.preprocessing import StandardScaler

    from holdfast import LMNN, certify, counterfactuals

    X, y = load_wine(return_X_y=True)
    X = StandardScaler().fit_transform(X)
    one, three = (KNeighborsClassifier(k).fit(X, y) for k in (1, 3))
    given = {"reference": (X, y), "n_jobs": 1}
    rng = np.random.default_rng(0)
    by_products, by_sorts = products(rng), sorts(rng)
    return {
        "fit LMNN": (lambda: LMNN(n_jobs=1).fit(X, y), by_products),
        "certify, k = 1": (lambda: certify(one, X, **given), by_sorts),
        "certify, k = 3": (lambda: certify(three, X[::4], **given), by_sorts),
        "verdict at 1, k = 3": (lambda: certify(three, X, at=1.0, **given), by_sorts),
        "counterfactuals, k = 3": (lambda: counterfactuals(three, X[::30], **given), by_sorts),
    }


def ratios() -> dict[str, float]:
    """Shortest turn of the work / shortest turn of the yardstick, of each job."""
    out = {}
    for name, (work, yardstick) in jobs().items():
        work(), yardstick()  # kernels are compiled, or read from the cache
        spent: dict = {work: [], yardstick: []}
        gc.collect()
        gc.disable()
        try:
            for _ in range(TURNS):
                for each in (work, yardstick):
                    start = time.process_time()
                    each()
                    spent[each].append(time.process_time() - start)
        finally:
            gc.enable()
        out[name] = round(min(spent[work]) / min(spent[yardstick]), 3)
    return out


def measured() -> dict[str, float]:
    """The ratios, in a fresh process on one thread."""
    one = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    command = [sys.executable, "-m", "tests.test_speed"]
    done = subprocess.run(
        command, cwd=Path(__file__).parents[1], env=os.environ | one, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.filterwarnings("default")
def test_nothing_takes_longer_than_it_did():
    stored, found = json.loads(STORED.read_text(encoding="utf-8")), measured()
    assert found.keys() == stored.keys(), "python -m tests.test_speed --record"
    if any(found[name] > LIMIT * stored[name] for name in found):  # once more: noise is not twice in one place
        again = measured()
        found = {name: min(found[name], again[name]) for name in found}
    slower = {name: f"{stored[name]} -> {found[name]}" for name in found if found[name] > LIMIT * stored[name]}
    assert not slower, "if this is meant: python -m tests.test_speed --record"


if __name__ == "__main__":
    if sys.argv[1:] == ["--record"]:
        runs = [measured() for _ in range(3)]
        middle = {name: sorted(run[name] for run in runs)[1] for name in runs[0]}
        STORED.write_text(json.dumps(middle, indent=2) + "\n", encoding="utf-8")
    else:
        print(json.dumps(ratios()))
