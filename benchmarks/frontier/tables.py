"""Tables of the frontier from its rows, with those of the paper's methods from :mod:`benchmarks.yang`."""

from pathlib import Path
from textwrap import fill

import pandas as pd

from benchmarks.frontier.cell import LINF_RADIUS
from benchmarks.frontier.data import LARGER
from benchmarks.yang import store
from benchmarks.yang.sets import UCI

RESULTS = Path(__file__).with_name("results")
README = Path(__file__).with_name("README.md")
FRONT_PAGE = Path(__file__).parents[2] / "README.md"
PAPER = ("LMNN", "LMNN-PL", "PNCA-PL")  # tuned as in the paper, 3 neighbours (prototypes), 50 draws
OURS, BASELINE = "RobustClassifierCV", "logistic regression"
ALONE = (BASELINE, "linear SVM", "Euclidean k-NN", "margin LVQ", "LMNN-PL, k and pruning")  # one family each
RADII = (0.1, 0.2, 0.3)
SMALL = [name for name in UCI if name not in LARGER]  # 20 splits each
_NEAR = 0.5  # points within which a set counts as at least as good


def rows() -> pd.DataFrame:
    """All rows: dataset, method, round, score, radius, value."""
    ours = pd.read_parquet(RESULTS / "rows.parquet")
    ours = ours[ours.score.isin(["accuracy", "certified"])]
    kept = store.load(store.RESULTS)
    kept = kept[(kept.preprocessing == "paper") & kept.method.isin(PAPER) & ~kept.dataset.isin(LARGER)]  # other splits
    kept = kept[kept.draws == kept.groupby(["dataset", "method"]).draws.transform("max")]
    certified = kept[kept.condition.isin([f"certified_{r}" for r in RADII])]
    clean = kept[(kept.condition == "clean") & (kept.score == "accuracy")]
    theirs = pd.concat([certified.assign(score="certified", radius=certified.level), clean.assign(radius=0.0)])
    columns = ["dataset", "method", "round", "score", "radius", "value"]
    return pd.concat([ours[columns], theirs[columns]], ignore_index=True)


def paired(sets=SMALL) -> pd.DataFrame:
    """The rows of rounds that ours has."""
    found = rows()
    done = found[(found.method == OURS) & found.dataset.isin(sets)][["dataset", "round"]].drop_duplicates()
    return found.merge(done, on=["dataset", "round"])


def means(sets=SMALL) -> pd.DataFrame:
    """Percent by data set (index), method and radius (columns; 0 is accuracy), over the rounds that ours has."""
    return 100 * paired(sets).pivot_table(index="dataset", columns=["method", "radius"], values="value")


def per_set(radius: float = 0.2, sets=SMALL) -> pd.DataFrame:
    """``certified / accuracy`` of each method, set by set, with rounds and means."""
    found = means(sets)
    found.loc["mean"] = found.mean(skipna=False)  # of methods that have all sets
    methods = found.columns.get_level_values(0).unique()
    done = paired(sets)
    done = done[done.method == OURS].groupby("dataset")["round"].nunique()
    table = pd.DataFrame({"data set": found.index, "rounds": [str(done.get(name, "")) for name in found.index]})
    for method in methods:
        parts = [found[method, r] if (method, r) in found.columns else None for r in (radius, 0.0)]
        columns = [["-"] * len(found) if part is None else [f"{v:.1f}" for v in part] for part in parts]
        table[method] = [" / ".join(pair).replace("nan", "-") for pair in zip(*columns, strict=True)]
    return table


def overall(sets=SMALL) -> pd.DataFrame:
    """Of each method the means over sets: certified at each radius, accuracy, and ours less it on the same rounds."""
    all_ = paired(sets)
    wide = 100 * all_.pivot_table(index=["dataset", "round"], columns=["method", "radius"], values="value")
    found = []
    for method in wide.columns.get_level_values(0).unique():
        radii = [r for r in (*RADII, 0.0) if (method, r) in wide.columns]
        own = wide[method][radii].dropna()
        ours = wide[OURS].loc[own.index, radii]
        line = {"method": method, "splits": len(own)}
        for r in (*RADII, 0.0):
            name = "right" if r == 0.0 else f"certified at {r:g}"
            line[name] = f"{own[r].groupby('dataset').mean().mean():.1f}" if r in radii else "-"
        for r in (0.2, 0.0):
            name = "ours, right" if r == 0.0 else f"ours, certified at {r:g}"
            line[name] = f"{(ours - own)[r].groupby('dataset').mean().mean():+.1f}" if r in radii else "-"
        found.append(line)
    return pd.DataFrame(found)


def sentences(radius: float = 0.2, sets=SMALL) -> list[str]:
    """How ours compares with logistic regression, set by set, and with the best single family, in words."""
    found = means(sets)
    lines = []
    for ours, baseline in ((OURS, BASELINE), (f"{OURS}, w = 1", f"{BASELINE}, w = 1"), (OURS, f"{BASELINE}, w = 1")):
        gain, clean = ((found[ours, r] - found[baseline, r]).dropna() for r in (radius, 0.0))
        worse = [f"{name} {value:+.1f}" for name, value in gain.sort_values().items() if value < 0]
        lines.append(
            f"{ours} against {baseline}, {len(gain)} sets: certified at {radius:g} {gain.mean():+.1f}, right "
            f"{clean.mean():+.1f}; at least as good within {_NEAR:g} points, certified, on "
            f"{int((gain >= -_NEAR).sum())}; below it on {', '.join(worse) or 'none'}."
        )
    best = max((name for name in ALONE if (name, radius) in found), key=lambda name: found[name, radius].mean())
    gain, clean = ((found[OURS, r] - found[best, r]).mean() for r in (radius, 0.0))
    lines.append(
        f"{OURS} against the best single family, chosen on the test rows ({best}): certified at {radius:g} "
        f"{gain:+.1f}, right {clean:+.1f}."
    )
    return lines


def table(radius: float = 0.2) -> str:
    """The tables and the sentences in Markdown."""
    return "\n\n".join(
        ["\n".join(f"- {line}" for line in sentences(radius)), _markdown(overall()), _markdown(per_set(radius))]
    )


def linf() -> pd.DataFrame:
    """Moves in L∞, two classes: ``certified / accuracy`` of each method, set by set, over rounds that all have."""
    found = pd.read_parquet(RESULTS / "linf.parquet")
    found = found[found.score.isin(["accuracy", "certified"])]
    found = found[found.groupby(["dataset", "round"]).method.transform("nunique") == found.method.nunique()]
    wide = 100 * found.pivot_table(index="dataset", columns=["method", "radius"], values="value")
    wide.loc["mean"] = wide.mean()
    rounds = found.groupby("dataset")["round"].nunique()
    table = pd.DataFrame({"data set": wide.index, "rounds": [str(rounds.get(name, "")) for name in wide.index]})
    for method in wide.columns.get_level_values(0).unique():
        certified = [f"{v:.1f} / " for v in wide[method, LINF_RADIUS]] if (method, LINF_RADIUS) in wide else ["- / "]
        right = [f"{v:.1f}" for v in wide[method, 0.0]]
        table[method] = [c + r for c, r in zip(certified * (len(right) // len(certified)), right, strict=True)]
    return table


def other_tables(radius: float = 0.2) -> str:
    """Larger sets, as far as ours has rows, and moves in L∞, in Markdown."""
    parts = [
        f"Moves in L∞, chosen and certified at {LINF_RADIUS:g}, sets of two classes (as the trees are):",
        _markdown(linf()),
    ]
    if not paired(LARGER).empty:
        parts += [
            f"Larger sets, one fixed split each (2,000 training rows, 1,000 test rows), moves in L2, {radius:g}:",
            _markdown(per_set(radius, LARGER)),
        ]
    return "\n\n".join(parts)


def headline(radius: float = 0.2) -> str:
    """The paragraph of the front page."""
    lines = overall().set_index("method")
    splits = paired()[lambda rows: rows.method == OURS][["dataset", "round"]].drop_duplicates()
    per = splits.groupby("dataset")["round"].nunique()

    values = {name: (line[f"certified at {radius:g}"], line["right"]) for name, line in lines.iterrows()}
    text = (
        f"That is not what one would pick instead. On {len(per)} of these sets, {_span(per)} splits each, every method "
        "tuned by what it certifies and gets right, logistic regression has {} % of the rows right and certified "
        f"within {radius:g} ({{}} % right), and `RobustClassifierCV`, which chooses among linear models, neighbours "
        "and prototypes, {} % ({} %); gradient boosting, which certifies nothing, is right in {} %. Set by set, and "
        "where it loses: [the frontier](benchmarks/frontier/README.md)."
    ).format(*values[BASELINE], *values[OURS], values["gradient boosting"][1])
    return fill(text, 130, break_long_words=False, break_on_hyphens=False)


def _span(counts: pd.Series) -> str:
    """``5`` or ``4 to 5``."""
    low, high = int(counts.min()), int(counts.max())
    return f"{low}" if low == high else f"{low} to {high}"


def write_tables() -> None:
    """Write the tables to ``results/*.csv``, for the pages, and into the two READMEs between their marks."""
    overall().to_csv(RESULTS / "overall.csv", index=False)
    per_set().to_csv(RESULTS / "per_set.csv", index=False)
    command = "python -m benchmarks.frontier table --write"
    _between(README, f"<!-- tables: {command} -->", "<!-- end of tables -->", f"\n\n{table()}\n\n")
    _between(README, f"<!-- more: {command} -->", "<!-- end of more -->", f"\n\n{other_tables()}\n\n")
    _between(FRONT_PAGE, f"<!-- frontier: {command} -->", "<!-- end of frontier -->", f"\n{headline()}\n")


def _between(path: Path, start: str, end: str, text: str) -> None:
    """Put a text between two marks of a file."""
    before, _, rest = path.read_text(encoding="utf-8").partition(start)
    path.write_text(f"{before}{start}{text}{end}{rest.partition(end)[2]}", encoding="utf-8")


def _markdown(table: pd.DataFrame) -> str:
    lines = [f"| {' | '.join(table.columns)} |", f"|{'---|' * len(table.columns)}"]
    return "\n".join(lines + [f"| {' | '.join(map(str, row))} |" for row in table.itertuples(index=False)])
