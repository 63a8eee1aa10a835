"""Tables of the frontier from its rows, with those of the paper's methods from :mod:`benchmarks.yang`."""

from pathlib import Path

import pandas as pd

from benchmarks.yang import store
from benchmarks.yang.sets import UCI

RESULTS = Path(__file__).with_name("results")
README = Path(__file__).with_name("README.md")
PAPER = ("LMNN", "LMNN-PL", "PNCA-PL")  # tuned as in the paper, 3 neighbours (prototypes), 50 draws
OURS, BASELINE = "RobustClassifierCV", "logistic regression"
RADII = (0.1, 0.2, 0.3)
_NEAR = 0.5  # points within which a set counts as at least as good


def rows() -> pd.DataFrame:
    """All rows: dataset, method, round, score, radius, value."""
    ours = pd.read_csv(RESULTS / "rows.csv")
    ours = ours[ours.score.isin(["accuracy", "certified"])]
    kept = store.load(store.RESULTS)
    kept = kept[(kept.preprocessing == "paper") & kept.method.isin(PAPER)]
    kept = kept[kept.draws == kept.groupby(["dataset", "method"]).draws.transform("max")]
    certified = kept[kept.condition.isin([f"certified_{r}" for r in RADII])]
    clean = kept[(kept.condition == "clean") & (kept.score == "accuracy")]
    theirs = pd.concat([certified.assign(score="certified", radius=certified.level), clean.assign(radius=0.0)])
    columns = ["dataset", "method", "round", "score", "radius", "value"]
    return pd.concat([ours[columns], theirs[columns]], ignore_index=True)


def means(sets=UCI) -> pd.DataFrame:
    """Percent by data set (index), method and radius (columns; 0 is accuracy), over the rounds that ours has."""
    found = rows()
    done = found[(found.method == OURS) & found.dataset.isin(sets)][["dataset", "round"]].drop_duplicates()
    found = found.merge(done, on=["dataset", "round"])
    return 100 * found.pivot_table(index="dataset", columns=["method", "radius"], values="value")


def per_set(radius: float = 0.2, sets=UCI) -> pd.DataFrame:
    """``certified / accuracy`` of each method, set by set, with rounds and means."""
    found = means(sets)
    found.loc["mean"] = found.mean()
    methods = found.columns.get_level_values(0).unique()
    done = rows()
    done = done[done.method == OURS].groupby("dataset")["round"].nunique()
    table = pd.DataFrame({"data set": found.index, "rounds": [done.get(name, "") for name in found.index]})
    for method in methods:
        parts = [found[method, r] if (method, r) in found.columns else None for r in (radius, 0.0)]
        columns = [["-"] * len(found) if part is None else [f"{v:.1f}" for v in part] for part in parts]
        table[method] = [" / ".join(pair).replace("nan", "-") for pair in zip(*columns, strict=True)]
    return table


def overall(sets=UCI) -> pd.DataFrame:
    """Of each method the means over sets that all methods have: certified at each radius, and accuracy."""
    found = means(sets).dropna(axis=0)
    table = pd.DataFrame({"method": found.columns.get_level_values(0).unique()})
    for radius in (*RADII, 0.0):
        name = "right" if radius == 0.0 else f"certified at {radius:g}"
        table[name] = [
            f"{found[m, radius].mean():.1f}" if (m, radius) in found.columns else "-" for m in table["method"]
        ]
    return table


def sentences(radius: float = 0.2, sets=UCI) -> list[str]:
    """How ours compares, in words."""
    found = means(sets).dropna(axis=0)
    certified = found.xs(radius, axis=1, level=1)
    right = found.xs(0.0, axis=1, level=1)
    other = certified.drop(columns=[OURS])
    best = other.mean().idxmax()
    gain, clean = (part[OURS] - part[BASELINE] for part in (certified, right))
    worse = [f"{name} {value:+.1f}" for name, value in gain.sort_values().items() if value < 0]
    return [
        f"{len(found)} sets. Certified at {radius:g}: {certified[OURS].mean():.1f}, {BASELINE} "
        f"{certified[BASELINE].mean():.1f} ({gain.mean():+.1f}); right: {right[OURS].mean():.1f} and "
        f"{right[BASELINE].mean():.1f} ({clean.mean():+.1f}).",
        f"At least as good as {BASELINE} within {_NEAR:g} points, certified: {int((gain >= -_NEAR).sum())} of "
        f"{len(found)} sets; below it: {', '.join(worse) or 'none'}.",
        f"The best single alternative on average is {best}: certified {other[best].mean():.1f}, right "
        f"{right[best].mean():.1f}.",
    ]


def table(radius: float = 0.2) -> str:
    """The tables and the sentences in Markdown."""
    return "\n\n".join(
        ["\n".join(f"- {line}" for line in sentences(radius)), _markdown(overall()), _markdown(per_set(radius))]
    )


def write_tables() -> None:
    """Write the tables to ``results/*.csv``, for the pages, and into the README between its marks."""
    overall().to_csv(RESULTS / "overall.csv", index=False)
    per_set().to_csv(RESULTS / "per_set.csv", index=False)
    text = README.read_text(encoding="utf-8")
    start, end = "<!-- tables: python -m benchmarks.frontier table --write -->", "<!-- end of tables -->"
    before, _, rest = text.partition(start)
    README.write_text(f"{before}{start}\n\n{table()}\n\n{end}{rest.partition(end)[2]}", encoding="utf-8")


def _markdown(table: pd.DataFrame) -> str:
    lines = [f"| {' | '.join(table.columns)} |", f"|{'---|' * len(table.columns)}"]
    return "\n".join(lines + [f"| {' | '.join(map(str, row))} |" for row in table.itertuples(index=False)])
