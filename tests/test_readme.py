"""What the README prints runs as printed, and says what was measured."""

import csv
import re

import pytest

from tests.docs.pages import ROOT, blocks, missing_targets, run_page

README = ROOT / "README.md"
SPEED = ROOT / "benchmarks" / "speed" / "results"


def test_python_blocks_run(tmp_path, monkeypatch):
    assert blocks(README)
    monkeypatch.chdir(tmp_path)
    run_page(README)


@pytest.mark.parametrize("page", ["README.md", "CONTRIBUTING.md", "CHANGELOG.md"])
def test_links_lead_somewhere(page):
    assert not missing_targets(ROOT / page)


def test_the_picture_is_small():
    pictures = re.findall(r"!\[.+?\]\((.+?)\)", README.read_text(encoding="utf-8"))
    assert pictures
    assert all((ROOT / picture).stat().st_size < 200_000 for picture in pictures)


def comparison() -> dict[str, dict[str, str]]:
    """The comparison table: line -> column -> cell."""
    lines = [
        [cell.strip() for cell in line.strip("|").split("|")]
        for line in README.read_text(encoding="utf-8").splitlines()
        if line.startswith("|")
    ]
    head = next(line for line in lines if "holdfast" in line)
    return {line[0]: dict(zip(head[1:], line[1:], strict=True)) for line in lines if len(line) == len(head)}


def measured(problem: str, learner: str) -> dict[str, str]:
    """The row of a learner on a problem, on one thread."""
    with (SPEED / "training.csv").open(encoding="utf-8", newline="") as file:
        found = [
            row
            for row in csv.DictReader(file)
            if row["problem"].endswith(problem) and row["threads"] == "1" and row["learner"].startswith(learner)
        ]
    assert len(found) == 1, (problem, learner)
    return found[0]


def short(number: float) -> str:
    """As the README rounds."""
    return f"{number:.0f}" if number >= 10 else f"{number:.1f}"


@pytest.mark.parametrize(
    ("line", "column", "problem", "learner"),
    [
        ("LMNN on digits, time over ours, one thread", "metric-learn 0.7", "digits", "metric_learn.LMNN"),
        ("LMNN on digits, time over ours, one thread", "pylmnn 1.6", "digits", "pylmnn"),
        ("LMNN on digits, time over ours, one thread", "scikit-learn's NCA", "digits", "sklearn"),
        ("the same, 7,000 × 23", "pylmnn 1.6", "7000x23", "pylmnn"),
        ("the same, 7,000 × 23", "metric-learn 0.7", "7000x23", "metric_learn.LMNN"),
        ("the same, 7,000 × 23", "scikit-learn's NCA", "7000x23", "sklearn"),
        ("SCML on digits, time over ours", "metric-learn 0.7", "digits", "metric_learn.SCML"),
    ],
)
def test_ratios_are_those_of_the_benchmark(line, column, problem, learner):
    assert comparison()[line][column].split()[0] == short(float(measured(problem, learner)["ratio"]))


def test_the_headline_is_that_of_the_tables():
    page = " ".join(README.read_text(encoding="utf-8").split())
    with (ROOT / "benchmarks" / "yang" / "results" / "tables" / "headline.csv").open(encoding="utf-8") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 13
    mean = {name: sum(float(row[name]) for row in rows) / 13 for name in rows[0] if name != "dataset"}
    ours, plain = "LMNN-PL@0.2", "Euclidean"
    assert f"({mean[f'clean {ours}']:.2f} % against {mean[f'clean {plain}']:.2f} %)" in page
    certified = f"{mean[f'certified {ours}']:.2f} % of the test rows are right and certified within 0.2, against "
    assert certified + f"{mean[f'certified {plain}']:.2f} %" in page
    assert f"more accurate, {mean['clean LMNN']:.2f} %, and certifies {mean['certified LMNN']:.2f} %" in page


@pytest.mark.parametrize(
    ("column", "learner"),
    [
        ("holdfast", "holdfast.LMNN"),
        ("metric-learn 0.7", "metric_learn.LMNN"),
        ("pylmnn 1.6", "pylmnn"),
        ("scikit-learn's NCA", "sklearn"),
    ],
)
def test_memory_is_that_of_the_benchmark(column, learner):
    assert comparison()["peak memory, digits"][column] == f"{float(measured('digits', learner)['peak_mb']):.0f} MB"


@pytest.mark.parametrize(("k", "told"), [("1", r"0\.1 ms a row for\s+one neighbour"), ("3", r"about 2 ms for three")])
def test_certificates_cost_what_the_benchmark_says(k, told):
    assert re.search(told, README.read_text(encoding="utf-8"))
    with (SPEED / "certify.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    times = [float(r["ms"]) for r in rows if (r["problem"], r["certificate"], r["k"]) == ("digits", "exact", k)]
    promised = float(re.search(r"[\d.]+", told.replace("\\", ""))[0])
    assert times
    assert all(promised / 1.5 < ms < promised * 1.5 for ms in times)
