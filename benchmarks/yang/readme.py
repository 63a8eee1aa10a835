"""The results section of README.md, written from the rows alone."""

from pathlib import Path

import pandas as pd

from benchmarks.yang.methods import METHODS
from benchmarks.yang.reasons import reason
from benchmarks.yang.sets import SETS
from benchmarks.yang.store import load, published
from benchmarks.yang.tables import (
    TITLES,
    chosen,
    compare,
    headline,
    headline_sentence,
    markdown,
    provenance,
    sections,
    summary,
)

PAGE = Path(__file__).with_name("README.md")
BEGIN = "<!-- results: written by `python -m benchmarks.yang readme` -->"
END = "<!-- end of results -->"
_FILES = (
    f"Set by set, ours beside the printed numbers: {', '.join(f'`{name}.csv`' for name in TITLES)} in `results/tables`."
)
_SHORT = {
    "clean": "clean", "isotropic_gaussian_snr5": "isotropic", "anisotropic_gaussian_snr5": "anisotropic",
    "adversarial_l2_0.2": "adversarial",
}  # fmt: skip
_SHOWN = {
    "on_average",
    "outperform",
    "headline",
    "high_dimensional_isolet",
    "high_dimensional_mnist",
}  # the others are files


def refresh(folder: Path) -> None:
    """Write the section anew."""
    page = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(replaced(page, text(load(folder), folder)), encoding="utf-8")


def replaced(page: str, section: str) -> str:
    """The page with another section between its two marks."""
    before, _, rest = page.partition(BEGIN)
    _, end, after = rest.partition(END)
    if not end:
        raise ValueError(f"The page has no section between {BEGIN!r} and {END!r}.")
    return f"{before}{BEGIN}\n\n{section.strip()}\n\n{END}{after}"


def text(rows: pd.DataFrame, folder: Path) -> str:
    """The section: results reproduced and not reproduced, provenance, coverage, then the tables."""
    if rows.empty:
        return "Nothing has been run yet: there are no rows in `results/`, and so the paper has not been run again."
    parts = [verdict(rows), _FILES, provenance(rows), coverage(rows)]
    for name, title, table, remark in sections(rows):
        if name in _SHOWN:
            parts += [f"### {title}", remark, markdown(table)]
    toy = folder / "toy.csv"
    if toy.is_file():
        means = pd.read_csv(toy).groupby(["example", "method"], sort=False)[["margin", "published_margin", "accuracy"]]
        parts += ["### Toy examples", "Means over the samples drawn.", markdown(means.mean().reset_index())]
    times = folder / "seconds.csv"
    if times.is_file():
        remark = "Processor seconds of one fit on one thread, triplets included, with the parameters of round 0. "
        remark += "The paper's machine was another."
        parts += ["### Training times", remark, markdown(pd.read_csv(times))]
    figures = sorted((folder / "figures").glob("*.png"))
    parts += [f"![{path.stem}](results/figures/{path.name})" for path in figures]
    return "\n\n".join(part for part in parts if part)


def coverage(rows: pd.DataFrame) -> str:
    """The methods, data sets and rounds that were not run."""
    rows = chosen(rows)
    rounds = rows.groupby(["dataset", "method"])["round"].nunique()
    missing: dict[tuple[str, ...], list[str]] = {}  # what is missing -> the methods that lack it
    partial: dict[tuple[str, ...], list[str]] = {}
    for method in METHODS:
        counts = {name: int(rounds.get((name, method), 0)) for name in SETS}
        without = tuple(name for name, n in counts.items() if n == 0)
        some = tuple(f"{name} {n} of {SETS[name].rounds}" for name, n in counts.items() if 0 < n < SETS[name].rounds)
        missing.setdefault(without, []).append(method)
        partial.setdefault(some, []).append(method)
    lines = []
    for title, groups in (("Not run", missing), ("Fewer rounds than in the paper", partial)):
        listed = [
            f"- {', '.join(methods)}: {'all sets' if len(names) == len(SETS) else ', '.join(names)}"
            for names, methods in groups.items()
            if names
        ]
        if listed:
            lines.append("\n".join([f"{title}:", "", *listed]))
    return "\n\n".join(lines) or "Every method was run on every data set, in as many rounds as in the paper."


def verdict(rows: pd.DataFrame) -> str:
    """Counts of reproduced results, and the list of those that were not."""
    rows = chosen(rows)
    theirs = pd.concat([published("uci"), published("high_dimensional")], ignore_index=True)
    both = compare(summary(rows), theirs)
    known = both[both["published_std"].notna()]
    if known.empty:
        return ""
    table = []
    for condition in [*TITLES, *sorted(set(known["condition"]) - set(TITLES))]:
        part = known[known["condition"] == condition]
        if len(part):
            table.append(
                (TITLES.get(condition, condition), len(part), int(part["within"].sum()), int(part["reproduced"].sum()))
            )
    frame = pd.DataFrame(table, columns=["condition", "compared", "within one published std", "within or better"])
    failed = known[~known["reproduced"].astype(bool)]
    lines = []
    for (dataset, method), part in failed.groupby(["dataset", "method"]):
        cells: dict[str, list[str]] = {}  # a reason -> what it explains
        for row in part.itertuples():
            text = f"{_SHORT.get(row.condition, row.condition)} {row.mean - row.ease:.1f}"
            text += f" ({row.published:.1f} ± {row.published_std:.1f})"
            cells.setdefault(reason(row.dataset, row.method, row.condition) or "not known", []).append(text)
        lines += [f"**{dataset}, {method}** {', '.join(numbers)}: {why}" for why, numbers in cells.items()]
    total = (
        f"{int(known['reproduced'].sum())} of {len(known)} published cells are within one standard deviation or better."
    )
    as_they_are = compare(summary(chosen(rows)).assign(ease=0.0), theirs)
    as_they_are = as_they_are[as_they_are["published_std"].notna()]["reproduced"]
    if int(as_they_are.sum()) != int(known["reproduced"].sum()):
        total += (
            f" This allows for missing rounds: where a method has only some, what Euclidean has on them beside all is "
            f"taken off (`ease` in `tables.py`). Without that it is {int(as_they_are.sum())}."
        )
    total += _without_deviation(both[both["published"].notna() & both["published_std"].isna()])
    not_reproduced = (
        "\n".join(["Not reproduced (printed), and why:", "", *(f"- {line}" for line in lines)]) if lines else ""
    )
    head = headline(rows)
    return "\n\n".join(
        filter(None, [total, markdown(frame), not_reproduced, headline_sentence(head) if len(head) else ""])
    )


def _without_deviation(cells: pd.DataFrame) -> str:
    """A sentence about the cells that are printed without a deviation: those of one split, and margins."""
    shares, margins = (cells[(cells["condition"] == "adversarial_margin") == is_margin] for is_margin in (False, True))
    if cells.empty:
        return ""
    as_good, near = shares["difference"] >= 0, shares["difference"].abs() <= 0.5
    return (
        f" {len(cells)} cells more are printed without a deviation (one split, or margins) and cannot be judged so: of "
        f"{len(shares)} accuracies ours is at least as good in {int(as_good.sum())}, and within half a point in "
        f"{int((near & ~as_good).sum())} more; of {len(margins)} margins {int((margins['difference'] >= 0).sum())} are "
        "at least as large (they could not be matched, see below)."
    )
