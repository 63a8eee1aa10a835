"""Tables of the frontier from its rows, with those of the paper's methods from :mod:`benchmarks.yang`."""

from pathlib import Path

import pandas as pd

from benchmarks.yang import store

RESULTS = Path(__file__).with_name("results")
PAPER = ("LMNN", "LMNN-PL", "PNCA-PL")  # tuned as in the paper, 3 neighbours (prototypes), 50 draws


def rows() -> pd.DataFrame:
    """All rows: dataset, method, round, score, radius, value."""
    ours = pd.read_csv(RESULTS / "rows.csv")
    kept = store.load(store.RESULTS)
    kept = kept[(kept.preprocessing == "paper") & kept.method.isin(PAPER)]
    kept = kept[kept.draws == kept.groupby(["dataset", "method"]).draws.transform("max")]
    certified = kept[kept.condition.isin(["certified_0.1", "certified_0.2", "certified_0.3"])]
    clean = kept[(kept.condition == "clean") & (kept.score == "accuracy")]
    theirs = pd.concat([certified.assign(score="certified", radius=certified.level), clean.assign(radius=0.0)])
    columns = ["dataset", "method", "round", "score", "radius", "value"]
    return pd.concat([ours[columns], theirs[columns]], ignore_index=True)


def table(radius: float = 0.2) -> str:
    """Per data set ``certified / accuracy`` of each method over the rounds that all have, and the means."""
    found = rows()
    found = found[found.radius.isin([0.0, radius])]
    rounds = found[found.method == "RobustClassifierCV"][["dataset", "round"]].drop_duplicates()
    found = found.merge(rounds, on=["dataset", "round"])
    means = 100 * found.pivot_table(index="dataset", columns=["method", "radius"], values="value")
    means.loc["mean"] = means.mean()
    methods = means.columns.get_level_values(0).unique()
    lines = [f"| data set | {' | '.join(methods)} |", f"|---|{'---|' * len(methods)}"]
    for name, row in means.iterrows():
        cells = [" / ".join(f"{row[m, r]:.1f}" if (m, r) in row.index else "-" for r in (radius, 0.0)) for m in methods]
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)
