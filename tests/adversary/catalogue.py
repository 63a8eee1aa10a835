"""Every family of attack, with its size for ``make attack``."""

from tests.adversary import corners, references, repeats, stops, subsets, tables, witnesses
from tests.adversary.families import Family
from tests.adversary.setups import attack_setup, by_distance, setups


def families() -> list[Family]:
    """All families: names as in the files of this folder."""
    return [
        Family("probes: stock pipelines", setups, attack_setup, 130),
        Family("probes: distances that count", by_distance, attack_setup, 60),
        Family("tables: words and gaps", tables.straight, tables.attack, 60),
        Family("tables: monotone steps", tables.bent, tables.attack, 50),
        Family("tables: kinds of columns", tables.dressed, tables.attack, 30),
        Family("early stops: verdicts", stops.verdicts, stops.attack, 150),
        Family("early stops: budgets", stops.budgets, stops.attack, 80),
        Family("brute force: subsets", subsets.cases, subsets.attack, 300),
        Family("brute force: tolerated labels", subsets.label_cases, subsets.attack_labels, 300),
        Family("reference: wrong", references.cases, references.attack, 400),
        Family("reference: nearly right", references.harmless, references.attack_harmless, 40),
        Family("reference: right", references.right, references.attack_right, 200),
        Family("reference: model changed after fit", references.changed, references.attack_changed, 40),
        *(Family(f"floating point: {name}", cases, corners.attack, 30) for name, cases in corners.CORNERS.items()),
        Family("witnesses: stock pipelines", setups, witnesses.attack, 80),
        Family("witnesses: large offsets", witnesses.offsets, witnesses.attack, 80),
        Family("determinism", repeats.cases, repeats.attack, 60),
    ]
