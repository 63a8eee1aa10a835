"""``python -m benchmarks.counterfactuals --peers PYTHON``: every row by every method, and a summary.

PYTHON is the interpreter of an environment with ``dice-ml`` and ``NICEx``; without it only holdfast is measured.
"""

import argparse
import json
import subprocess
import tempfile
import time
from pathlib import Path

import numpy as np

from benchmarks.counterfactuals.sets import CATEGORIES, MODELS, Split, load
from benchmarks.speed.rows import machine
from holdfast import Threat, counterfactuals

RESULTS = Path(__file__).with_name("results")
WORKER = Path(__file__).with_name("worker.py")
PEERS = ("dice_random", "nice_proximity", "nice_sparsity")  # DiCE's other searches take up to 20 s a row
CLOSER = 1e-9  # relative: what counts as a smaller distance


def measured(split: Split, method: str, model, points: np.ndarray, seconds, proven, errors) -> list[dict]:
    """One line for every row: valid, distance, limits broken, seconds of processor time."""
    unit = np.maximum(split.train.max(axis=0) - split.train.min(axis=0), 1e-300)
    prediction = model.predict(split.test)
    low = np.minimum(split.train.min(axis=0), split.test)
    high = np.maximum(split.train.max(axis=0), split.test)
    lines = []
    for t, point in enumerate(points):
        there = np.isfinite(point).all()
        line = {"method": method, "row": t, "answer": there, "seconds": seconds[t], "error": errors[t] or ""}
        if there:
            line["valid"] = bool(model.predict(point[None])[0] != prediction[t])
            line["distance"] = float(np.linalg.norm((point - split.test[t]) / unit))
            line["categories_changed"] = int((point != split.test[t])[~split.numbers].sum())
            line["out_of_range"] = int(((point < low[t]) | (point > high[t])).sum())
            line["features_changed"] = int((point != split.test[t]).sum())
        line |= {} if proven is None else {"lower_bound": proven[0][t], "closest": bool(proven[1][t])}
        lines.append(line)
    return lines


def ours(split: Split, model, rounding: float) -> list[dict]:
    """holdfast, one row at a time: the closest change of the numbers within the ranges of the training rows."""
    unit = np.maximum(split.train.max(axis=0) - split.train.min(axis=0), 1e-300)
    threat = Threat(unit=unit, frozen=~split.numbers)
    reference = (split.train, split.labels)
    seconds, points, lower, closest = [], [], [], []
    counterfactuals(model, split.test[:1], threat=threat, reference=reference, n_jobs=1)  # compiles
    for row in split.test:
        start = time.process_time()
        found = counterfactuals(model, row[None], threat=threat, reference=reference, n_jobs=1, rounding=rounding)
        seconds.append(time.process_time() - start)
        points.append(found.values[0])
        lower.append(float(found.lower_bound[0]))
        closest.append(bool(found.closest[0]))
    name = "holdfast" if rounding else "holdfast_unrounded"
    return measured(split, name, model, np.array(points), seconds, (lower, closest), [""] * len(points))


def theirs(split: Split, peer: str, model_name: str, model, python: str) -> list[dict]:
    """A peer, in its own interpreter."""
    with tempfile.TemporaryDirectory() as folder:
        data, out = Path(folder) / "split.npz", Path(folder) / "out.json"
        np.savez(data, train=split.train, labels=split.labels, test=split.test, numbers=split.numbers)
        command = [python, str(WORKER), peer, model_name, str(data), str(out)]
        run = subprocess.run(command, capture_output=True, text=True, check=False)
        if run.returncode:
            print(f"{peer} on {model_name} failed: {run.stderr.strip().splitlines()[-1][:300]}", flush=True)
            return []
        found = json.loads(out.read_text())
    assert (np.array(found["prediction"]) == model.predict(split.test)).all(), "the peer has another model"
    nothing = np.full(split.test.shape[1], np.nan)
    points = np.array([nothing if line["point"] is None else line["point"] for line in found["rows"]], dtype=float)
    seconds = [line["seconds"] for line in found["rows"]]
    return measured(split, peer, model, points, seconds, None, [line["error"] for line in found["rows"]])


def main() -> None:
    """Measure what results/rows.csv does not have yet, write it and results/summary.csv."""
    import pandas as pd

    parser = argparse.ArgumentParser(description="Counterfactuals beside those of DiCE and NICE.")
    parser.add_argument("--peers", help="the interpreter of an environment with dice-ml and NICEx")
    parser.add_argument("--rows", type=int, default=30, help="test rows of every set")
    parser.add_argument("--sets", nargs="*", default=list(CATEGORIES))
    parser.add_argument("--models", nargs="*", default=list(MODELS))
    parser.add_argument("--summarise", action="store_true", help="only make results/summary.csv again")
    chosen = parser.parse_args()
    if chosen.summarise:
        table = pd.read_csv(RESULTS / "rows.csv")
        summary(table).assign(**machine()).to_csv(RESULTS / "summary.csv", index=False, float_format="%.4g")
        print(summary(table).to_string())
        return
    known = (
        pd.read_csv(RESULTS / "rows.csv") if (RESULTS / "rows.csv").exists() else pd.DataFrame({"set": [], "model": []})
    )
    done = set(zip(known["set"], known["model"], strict=True))
    rows: list[dict] = known.to_dict(orient="records")
    for name in chosen.sets:
        split = load(name, chosen.rows)
        for model_name in chosen.models:
            if (name, model_name) in done:
                continue
            model = MODELS[model_name]().fit(split.train, split.labels)
            lines = ours(split, model, 0.01) + ours(split, model, 0.0)
            for peer in PEERS if chosen.peers else ():
                lines += theirs(split, peer, model_name, model, chosen.peers)
            rows += [{"set": name, "model": model_name, **line} for line in lines]
            print(name, model_name, len(lines), flush=True)
            table = pd.DataFrame(rows)
            RESULTS.mkdir(exist_ok=True)
            table.to_csv(RESULTS / "rows.csv", index=False, float_format="%.6g")
            summary(table).assign(**machine()).to_csv(RESULTS / "summary.csv", index=False, float_format="%.4g")
    print(summary(table).to_string())


def summary(table):
    """One line for every set, model and method."""
    import pandas as pd

    lines = []
    keys = ["set", "model", "row"]
    least = table[table.method == "holdfast_unrounded"].set_index(keys)
    for (name, model, method), part in table.groupby(["set", "model", "method"], sort=False):
        own = least.loc[pd.MultiIndex.from_frame(part[keys])]
        shortest = own.distance.fillna(np.inf).to_numpy()
        kept = part.answer & part.valid.eq(True)
        clean = kept & part.categories_changed.eq(0) & part.out_of_range.eq(0)
        ratio = (part.distance.to_numpy() / own.lower_bound.to_numpy())[clean]
        lines.append(
            {
                "set": name, "model": model, "method": method, "rows": len(part), "no_answer": 1 - part.answer.mean(),
                "valid": part.valid[part.answer].astype(float).mean(),
                "limits_broken": (part.categories_changed.gt(0) | part.out_of_range.gt(0))[part.answer].mean(),
                "median_ratio_to_proven_minimum": np.median(ratio) if len(ratio) else np.nan,
                "closer_than_ours": int(
                    (clean.to_numpy() & (part.distance.to_numpy() < shortest * (1 - CLOSER))).sum()
                ),
                "proven_closest": part.closest.astype(float).mean() if part.closest.notna().any() else np.nan,
                "proven_impossible": np.isinf(part.lower_bound).mean() if part.closest.notna().any() else np.nan,
                "median_features_changed": part.features_changed[kept].median(),
                "median_seconds": part.seconds.median(),
            }
        )  # fmt: skip
    return pd.DataFrame(lines)


if __name__ == "__main__":
    main()
