"""What the choice is worth: the candidates that reached the last rung, on development splits, chosen by other rules.

    python -m benchmarks.frontier.ablations run [--rounds 2] [--sets iris wine]
    python -m benchmarks.frontier.ablations table

``run`` writes each candidate of the last rung, scored by cross-validation and, fitted to all training rows, on the test
rows, to ``results/finalists.csv``; ``table`` chooses among them by different weights, bands of ties and families.
"""

import argparse
import json
import warnings

import numpy as np
import pandas as pd
from threadpoolctl import threadpool_limits

from benchmarks.frontier.__main__ import SETS
from benchmarks.frontier.cell import RADIUS
from benchmarks.frontier.data import development_round
from benchmarks.frontier.tables import RESULTS
from benchmarks.yang.store import write
from holdfast import RobustClassifierCV
from holdfast.selection.families import FAMILIES
from holdfast.selection.halving import Criterion, verdict

FILE = RESULTS / "finalists.csv"
_CELL = ["dataset", "round"]


def finalists(name: str, number: int) -> pd.DataFrame:
    """The candidates of the last rung on one development split, with their scores on its test rows."""
    part = development_round(name, number)
    search = RobustClassifierCV(RADIUS, objective="certified", random_state=number, refit=False)
    search.fit(part.X_train, part.y_train)
    results = search.cv_results_
    last = np.flatnonzero(results["rung"] == results["rung"].max())
    question = Criterion(1.0, RADIUS).about(part.X_test, part.y_test)
    rows = []
    for k in last:
        found = verdict(search.candidate(k).fit(part.X_train, part.y_train), question)
        rows.append(
            {
                "dataset": name,
                "round": number,
                "family": results["family"][k],
                "parameters": json.dumps(results["params"][k], sort_keys=True),
                "cv_certified": results["mean_certified"][k],
                "cv_accuracy": results["mean_accuracy"][k],
                "certified": found.certified,
                "accuracy": found.accuracy,
            }
        )
    return pd.DataFrame(rows)


def chosen(rows: pd.DataFrame, weight: float = 0.7, tie: float = 0.01, families=None) -> tuple[float, float, int]:
    """Means, in percent, of certified accuracy and accuracy of what a rule chooses, and the number of splits."""
    rows = rows if families is None else rows[rows.family.isin(families)]
    value = weight * rows.cv_certified + (1.0 - weight) * rows.cv_accuracy
    rows = rows.assign(value=value, best=value.groupby([rows[c] for c in _CELL]).transform("max"))
    rows = rows[rows.value >= rows.best - tie - 1e-12].sort_values(
        ["cv_accuracy", "value"], ascending=False, kind="stable"
    )
    taken = rows.groupby(_CELL).first()
    return 100 * taken.certified.mean(), 100 * taken.accuracy.mean(), len(taken)


def table() -> pd.DataFrame:
    """One line a rule."""
    rows = pd.read_csv(FILE)
    rules: dict[str, dict] = {"the default: w = 0.7, ties within 0.01": {}}
    rules |= {f"w = {w:g}": {"weight": w} for w in (1.0, 0.9, 0.8, 0.5)}
    rules |= {f"w = 1, ties within {tie:g}": {"weight": 1.0, "tie": tie} for tie in (0.0, 0.005, 0.015, 0.02, 0.03)}
    rules |= {f"{name} alone": {"families": [name]} for name in FAMILIES}
    rules |= {f"without {name}": {"families": [n for n in FAMILIES if n != name]} for name in FAMILIES}
    found = [(rule, *chosen(rows, **options)) for rule, options in rules.items()]
    made = pd.DataFrame(found, columns=["rule", "certified", "right", "splits"])
    return made.round({"certified": 1, "right": 1})


def main() -> None:
    """Run, or print and write the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("command", choices=["run", "table"])
    parser.add_argument("--rounds", type=int, default=2)
    parser.add_argument("--sets", nargs="*", default=SETS)
    given = parser.parse_args()
    if given.command == "run":
        parts = [pd.read_csv(FILE)] if FILE.is_file() else []
        done = {tuple(cell) for part in parts for cell in part[_CELL].drop_duplicates().to_numpy().tolist()}
        for number in range(given.rounds):
            for name in given.sets:
                if (name, number) in done:
                    continue
                with threadpool_limits(1), warnings.catch_warnings():
                    warnings.simplefilter("ignore")
                    parts.append(finalists(name, number))
                write(FILE, pd.concat(parts, ignore_index=True))
    else:
        table().to_csv(RESULTS / "ablations.csv", index=False)
        print(table().to_string(index=False))


if __name__ == "__main__":
    main()
