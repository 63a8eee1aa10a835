"""``python -m benchmarks.knn_linf.readme``: writes the table of README.md, from ``results/`` and ``published/``."""

from pathlib import Path

from benchmarks.knn_linf.__main__ import RESULTS, read_rows
from benchmarks.knn_linf.measure import published
from benchmarks.knn_linf.sets import SETS

README = Path(__file__).with_name("README.md")
BEGIN, END = "<!-- table: written by readme.py -->", "<!-- end of the table -->"
_OTHER_ROWS = ("adult_half",)  # half of the published set: shares cannot be compared
_STEP = 0.1  # published shares have one decimal


def set_row(name: str) -> dict | None:
    """One line of the table: what is measured, what is undecided, and how it compares; None if nothing is measured."""
    rows, entry = read_rows(RESULTS / f"{name}.csv"), SETS[name]
    if not rows:
        return None
    told = {key: value for key, value in published().items() if key[0] == entry.name}
    cells = {(row["property"], float(row["epsilon"]), int(row["k"])): row for row in rows}
    known = {key: cells[key[1:]] for key in told if key[1:] in cells}
    seconds = {(r["epsilon"], r["k"]): float(r["ms_a_row"]) * int(r["rows"]) / 1e3 for r in rows}
    line = {
        "set": f"{name}{' (fairness)' if entry.sensitive is not None else ''}",
        "cells": f"{len(known)} of {len(told)}",
        "undecided": max(float(row["undecided"]) for row in rows),
        "seconds": round(sum(seconds.values()), 1),
        "above": "", "equal": "", "below": "",
    }  # fmt: skip
    if name not in _OTHER_ROWS:
        gaps = [float(row["ours"]) - float(told[key][1]) for key, row in known.items()]
        line["above"] = sum(gap >= _STEP for gap in gaps)
        line["below"] = sum(gap <= -_STEP / 2 for gap in gaps)
        line["equal"] = len(gaps) - line["above"] - line["below"]
    return line


def below_lines() -> list[str]:
    """The cells in which the published share is larger."""
    lines = []
    for name in SETS:
        if name in _OTHER_ROWS:
            continue
        for row in read_rows(RESULTS / f"{name}.csv"):
            if row["optcert"] and float(row["ours"]) - float(row["optcert"]) <= -_STEP / 2:
                lines.append(
                    f"- {name}, {row['property']}, ε = {row['epsilon']}, k = {row['k']}: ours {row['ours']} "
                    f"({row['undecided']} undecided), OptCert {row['optcert']}."
                )
    return lines


def main() -> None:
    """Write the table between its marks."""
    lines = [found for name in SETS if (found := set_row(name)) is not None]
    text = [
        "| set | cells of the published tables | most undecided, % | CPU seconds | above OptCert | equal | below |",
        "|---|---|---|---|---|---|---|",
        *(f"| {' | '.join(str(value) for value in line.values())} |" for line in lines),
        "",
        "Below, in full:",
        "",
        *below_lines(),
    ]
    before, _, rest = README.read_text(encoding="utf-8").partition(BEGIN)
    after = rest.partition(END)[2]
    README.write_text(f"{before}{BEGIN}\n" + "\n".join(text) + f"\n{END}{after}", encoding="utf-8")


if __name__ == "__main__":
    main()
