"""Tables of the rows: ours beside the published numbers, as Markdown and CSV."""

from pathlib import Path

import numpy as np
import pandas as pd

from benchmarks.yang.methods import METHODS, RIVALS
from benchmarks.yang.sets import HIGH_DIMENSIONAL, SETS
from benchmarks.yang.store import published, write

PERCENT = ("accuracy", "g_mean", "certified_accuracy")
TITLES = {
    "clean": "Clean test rows",
    "isotropic_gaussian_snr5": "Isotropic Gaussian noise, 5 dB",
    "anisotropic_gaussian_snr5": "Anisotropic Gaussian noise, 5 dB",
    "adversarial_l2_0.2": "Adversarial moves of length 0.2",
}
SHOWN_RADII = (0.05, 0.1, 0.2, 0.3)
OURS_ALONE = ("LMNN-LBFGS", "LMNN-PL@0.1", "LMNN-PL@0.2", "SCML-PL@0.1", "SCML-PL@0.2", "CAP-PL@0.1", "CAP-PL@0.2")


# -- from rows to numbers ----------------------------------------------------------------------------


def chosen(rows: pd.DataFrame, preprocessing: str = "paper") -> pd.DataFrame:
    """The rows to report: one kind of preprocessing, and for each data set and method the most thorough tuning.

    If a data set and method were tuned in two ways, the one with more fits a candidate search counts, and not
    the one with more rounds: a table should say how far a thorough run got.
    """
    rows = rows[rows["preprocessing"] == preprocessing].copy()
    effort = rows["draws"] * rows["folds"]
    best = effort.groupby([rows["dataset"], rows["method"]]).transform("max")
    return rows[effort == best]


def summary(rows: pd.DataFrame) -> pd.DataFrame:
    """Mean and standard deviation (n − 1) over the rounds, in percent; a score per data set and condition.

    Where a data set is scored by the G-mean, the accuracy is left out, but for certificates. ``ease`` is by how much
    the rounds of a method that has only some are easier than all of them: the mean of Euclidean over them, minus that
    over all its rounds (isolet: the first two speaker groups are 3.5 harder than the four together).
    """
    imbalanced = [name for name, facts in SETS.items() if facts.score == "g_mean"]
    rows = rows[~(rows["dataset"].isin(imbalanced) & (rows["score"] == "accuracy"))]
    scale = np.where(rows["score"].isin(PERCENT), 100.0, 1.0)
    rows = rows.assign(value=rows["value"] * scale)
    keys = ["condition", "dataset", "method", "score"]
    found = rows.groupby(keys, sort=False).agg(
        mean=("value", "mean"), std=("value", "std"), rounds=("round", "nunique"), draws=("draws", "max"),
        folds=("folds", "max"),
    )  # fmt: skip
    return found.reset_index().merge(_ease(rows, keys), on=keys, how="left").fillna({"ease": 0.0})


def _ease(rows: pd.DataFrame, keys: list[str]) -> pd.DataFrame:
    plain = rows[rows["method"] == "Euclidean"][["condition", "dataset", "score", "round", "value"]]
    plain = plain.rename(columns={"value": "plain"})
    plain["all"] = plain.groupby(["condition", "dataset", "score"])["plain"].transform("mean")
    beside = rows[[*keys, "round"]].merge(plain, on=["condition", "dataset", "score", "round"])
    beside["ease"] = beside["plain"] - beside["all"]
    return beside.groupby(keys, sort=False)["ease"].mean().reset_index()


def compare(ours: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """Our means beside the published ones; ``difference`` allows for rounds that are easier or harder than all.

    ``within``: whether ours is no farther from theirs than one published standard deviation (missing where
    none was published); ``reproduced``: within, or better. ``standard_errors`` is the difference in units of
    ``published_std / √rounds``.
    """
    theirs = theirs.rename(columns={"mean": "published", "std": "published_std"}).drop(columns="score", errors="ignore")
    both = ours.merge(theirs, on=["condition", "dataset", "method"], how="left")
    both["difference"] = both["mean"] - both["ease"] - both["published"]
    both["standard_errors"] = both["difference"] / (both["published_std"] / np.sqrt(both["rounds"]))
    known = both["published_std"].notna()
    within = (both["difference"].abs() <= both["published_std"]).where(known).astype("boolean")
    both["within"] = within
    both["reproduced"] = (within | (both["difference"] >= 0).astype("boolean")).where(both["published"].notna())
    return both


def on_average(comparison: pd.DataFrame) -> pd.DataFrame:
    """Methods × conditions: (ours − published) / published standard deviation, the mean over the UCI sets."""
    known = comparison[comparison["published_std"].notna() & comparison["condition"].isin(TITLES)]
    known = known[~known["dataset"].isin(HIGH_DIMENSIONAL)]
    known = known.assign(deviations=known["difference"] / known["published_std"])
    table = known.pivot_table(index="method", columns="condition", values="deviations", observed=True)
    table = table.reindex(index=[m for m in METHODS if m in table.index], columns=[c for c in TITLES if c in table])
    return table.rename(columns=TITLES).reset_index()


def outperform(rows: pd.DataFrame, condition: str, method: str, rival: str) -> tuple[int, int]:
    """On how many data sets the method is at least as good as a rival (to two decimals), and of how many.

    Means are over the rounds that both have.
    """
    one = rows[rows["condition"] == condition]
    keys = ["dataset", "score", "round"]
    both = one[one["method"] == method].merge(one[one["method"] == rival], on=keys, suffixes=("", "_rival"))
    if both.empty:
        return 0, 0
    both = both[both["score"] == both["dataset"].map(lambda name: SETS[name].score)]
    means = (100.0 * both.groupby("dataset")[["value", "value_rival"]].mean()).round(2)
    return int((means["value"] >= means["value_rival"]).sum()), len(means)


def outperforms(rows: pd.DataFrame, theirs: pd.DataFrame) -> pd.DataFrame:
    """The '# outperform' rows of all conditions."""
    out = []
    for condition in TITLES:
        for method, rivals in RIVALS.items():
            for rival in rivals:
                count, sets = outperform(rows, condition, method, rival)
                if sets:
                    printed = _printed_outperform(theirs, condition, method, rival)
                    out.append((condition, method, rival, count, sets, printed))
    table = pd.DataFrame(out, columns=["condition", "method", "rival", "ours", "sets", "published_of_13"])
    return table.astype({"published_of_13": "Int64"})


def _printed_outperform(theirs: pd.DataFrame, condition: str, method: str, rival: str) -> int | None:
    """The paper's count; None for a rival that is ours alone."""
    one = theirs[theirs["condition"] == condition].pivot(index="dataset", columns="method", values="mean")
    return int((one[method] >= one[rival]).sum()) if rival in one else None


def certified(rows: pd.DataFrame) -> pd.DataFrame:
    """Certified accuracy in percent, mean over the rounds: data set, method, a column for each radius."""
    one = rows[rows["score"] == "certified_accuracy"]
    if one.empty:
        return pd.DataFrame(columns=["dataset", "method"])
    table = 100.0 * one.pivot_table(index=["dataset", "method"], columns="level", values="value")
    table["rounds"] = one.groupby(["dataset", "method"])["round"].nunique()
    return table.reset_index()


def headline(rows: pd.DataFrame, method: str = "LMNN-PL@0.2", radius: float = 0.2) -> pd.DataFrame:
    """Certified accuracy at a radius, and clean accuracy, of a method and its rivals, on common rounds of the UCI sets.

    The rivals are LMNN by the paper's schedule, LMNN by our solver (which is the method's own), and Euclidean: those
    of them that were run.
    """
    rows = rows[~rows["dataset"].isin(HIGH_DIMENSIONAL)]
    names = [name for name in (method, "LMNN", "LMNN-LBFGS", "Euclidean") if name in set(rows["method"])]
    if method not in names or len(names) < 2:
        return pd.DataFrame()
    certified_rows = rows[(rows["score"] == "certified_accuracy") & rows["method"].isin(names)]
    out = []
    for what, level in (("certified", radius), ("clean", 0.0)):
        # At radius 0 the certified accuracy is the accuracy.
        wide = certified_rows[certified_rows["level"] == level].pivot_table(
            index=["dataset", "round"], columns="method", values="value"
        )
        wide = wide.reindex(columns=names).dropna()
        mean = 100.0 * wide.groupby("dataset").mean()
        mean.columns = [f"{what} {name}" for name in names]
        out.append(mean)
    return pd.concat(out, axis=1).reset_index()


# -- from numbers to text ----------------------------------------------------------------------------


def markdown(frame: pd.DataFrame, digits: int = 2) -> str:
    """A data frame as a Markdown table."""

    def cell(value) -> str:
        if value is None or value is pd.NA or (isinstance(value, float) and np.isnan(value)):
            return ""
        if isinstance(value, (bool, np.bool_)):
            return "yes" if value else "no"
        return f"{value:.{digits}f}" if isinstance(value, (float, np.floating)) else str(value)

    lines = [[str(c) for c in frame.columns], ["---"] * len(frame.columns)]
    lines += [[cell(value) for value in row] for row in frame.itertuples(index=False)]
    return "\n".join("| " + " | ".join(line) + " |" for line in lines)


def grid(comparison: pd.DataFrame, condition: str) -> pd.DataFrame:
    """Data sets × methods: ``ours ± std (published)``, with ! where the published mean was not reached."""
    one = comparison[comparison["condition"] == condition]
    margin = condition == "adversarial_margin"

    def cell(row) -> str:
        digits = 4 if margin else 2
        text = f"{row['mean']:.{digits}f}"
        if not np.isnan(row["std"]):
            text += f" ± {row['std']:.{digits}f}"
        if not np.isnan(row["published"]):
            text += f" ({row['published']:.{digits}f})"
        return text + (" !" if row["reproduced"] is not pd.NA and not row["reproduced"] else "")

    texts = {(row["dataset"], row["method"]): cell(row) for _, row in one.iterrows()}
    methods = [m for m in METHODS if m in set(one["method"])]
    sets = [s for s in SETS if s in set(one["dataset"])]
    table = [[s, *(texts.get((s, m), "") for m in methods)] for s in sets]
    return pd.DataFrame(table, columns=["dataset", *methods])


def sections(rows: pd.DataFrame) -> list[tuple[str, str, pd.DataFrame, str]]:
    """File name, title, table and a remark, for every table the rows allow."""
    rows, honest = chosen(rows), chosen(rows, "honest")
    printed = {"uci": published("uci"), "high_dimensional": published("high_dimensional")}
    ours = summary(rows)
    theirs = pd.concat(printed.values(), ignore_index=True)
    both = compare(ours, theirs)
    remark = "Ours ± standard deviation over the rounds (published); ! is neither within one published standard "
    remark += "deviation nor better."
    out = [("comparison", "All comparisons", both, "")]
    high = both["dataset"].isin(HIGH_DIMENSIONAL)
    for condition, title in TITLES.items():
        table = grid(both[~high], condition)
        if len(table):
            out.append((condition, title, table, remark))
    for name in HIGH_DIMENSIONAL:
        part = both[both["dataset"] == name]
        conditions = [c for c in part["condition"].unique() if not c.startswith("certified")]
        if conditions:
            grids = [grid(part, c).drop(columns="dataset").assign(condition=c) for c in conditions]
            table = pd.concat(grids, ignore_index=True)
            table = table[["condition", *[c for c in table.columns if c != "condition"]]].fillna("")
            out.append((f"high_dimensional_{name}", f"High-dimensional: {name}", table, remark))
    if len(honest):
        table = grid(compare(summary(honest), theirs), "clean")
        text = "The scaler sees the training part alone. " + remark
        out.append(("honest", "Clean test rows, honest preprocessing", table, text))
    table = on_average(both)
    if len(table):
        text = "Ours minus published, in published standard deviations, mean over the UCI sets."
        out.append(("on_average", "On average over the sets", table, text))
    table = outperforms(rows[~rows["dataset"].isin(HIGH_DIMENSIONAL)], printed["uci"])
    if len(table):
        text = "On how many data sets a method is at least as good as a rival; ours of `sets`, published of 13."
        out.append(("outperform", "# outperform", table, text))
    margins = grid(both[~high], "adversarial_margin")
    if len(margins):
        out.append(("margin", "Mean adversarial margin", margins, "Over correctly classified test rows."))
    table = certified(rows)
    if len(table):
        names = {r: f"r = {r:g}" for r in SHOWN_RADII}
        shown = table[["dataset", "method", *SHOWN_RADII, "rounds"]].rename(columns=names)
        order = {name: k for k, name in enumerate([*SETS, *METHODS])}
        shown = shown.sort_values(["dataset", "method"], key=lambda column: column.map(order))
        text = "Percent of test rows that are right and certified at radius r, in units of preprocessed rows: the "
        text += "fast lower bound for 3-NN, the exact radius for prototypes. Ours alone."
        out.append(("certified", "Certified accuracy", shown, text))
    table = headline(rows)
    if len(table):
        out.append(("headline", "LMNN-PL selected by certified accuracy at 0.2", table, headline_sentence(table)))
    return out


def headline_sentence(table: pd.DataFrame) -> str:
    """A sentence with the counts and means of the headline table."""
    method, *rivals = (c.removeprefix("certified ") for c in map(str, table.columns) if c.startswith("certified "))
    ours = table[f"certified {method}"].round(2)
    wins = {name: int((ours >= table[f"certified {name}"].round(2)).sum()) for name in rivals}
    every = int((ours >= table[[f"certified {name}" for name in rivals]].max(axis=1).round(2)).sum())
    certified, clean = (
        ", ".join(f"{name} {table[f'{what} {name}'].mean():.2f}" for name in (method, *rivals))
        for what in ("certified", "clean")
    )
    return (
        f"{method} has at least the certified accuracy at 0.2 of "
        + ", ".join(f"{name} on {count}" for name, count in wins.items())
        + f", and of all of them on {every} of {len(table)} sets. Mean certified accuracy: {certified}. "
        f"Mean clean accuracy: {clean}."
    )


def make(rows: pd.DataFrame, folder: Path) -> str:
    """Write every table to ``folder/tables`` (CSV each, all of them in tables.md); the text."""
    parts = []
    for name, title, table, remark in sections(rows):
        write(folder / "tables" / f"{name}.csv", table)
        if name != "comparison":
            parts.append("\n\n".join(filter(None, [f"### {title}", remark, markdown(table)])))
    text = "\n\n".join([provenance(rows), *parts]) + "\n"
    (folder / "tables" / "tables.md").write_text(text, encoding="utf-8")
    return text


def provenance(rows: pd.DataFrame) -> str:
    """Number of cells, versions, machine and tuning behind the rows, as a sentence."""
    versions = [f"{n} {', '.join(sorted(rows[n].unique()))}" for n in ("holdfast", "numpy", "scikit-learn", "numba")]
    place = ", ".join(sorted((rows["system"] + ", " + rows["cores"] + " cores").unique()))
    kinds = rows.groupby(["draws", "folds"])["method"].unique()
    tuned = "; ".join(f"{d} draws × {f} folds: {', '.join(sorted(m))}" for (d, f), m in kinds.items())
    cells = rows.drop_duplicates(["dataset", "method", "round", "draws", "folds", "preprocessing"])
    return f"{len(cells)} cells. Python {rows['python'].iloc[0]}, {', '.join(versions)}; {place}. Tuned with {tuned}."
