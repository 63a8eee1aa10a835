"""Every family of attack, with its size for ``make attack``."""

from tests.adversary import audits, corners, encoded, readings, references, repeats, stops, subsets, tables, witnesses
from tests.adversary.families import Family
from tests.adversary.setups import attack_setup, by_distance, setups


def families() -> list[Family]:
    """All families: names as in the files of this folder. Together they take some five minutes of one processor."""
    return [
        Family("probes: stock pipelines", setups, attack_setup, 70),
        Family("probes: distances that count", by_distance, attack_setup, 40),
        Family("tables: words and gaps", tables.straight, tables.attack, 30),
        Family("tables: monotone steps", tables.bent, tables.attack, 25),
        Family("tables: kinds of columns", tables.dressed, tables.attack, 20),
        Family("tables: from the file to the row", readings.cases(), readings.attack, 300),
        Family("tables: numbers under an encoder", encoded.cases, encoded.attack, 60),
        Family("early stops: verdicts", stops.verdicts, stops.attack, 60),
        Family("early stops: budgets", stops.budgets, stops.attack, 40),
        Family("brute force: subsets", subsets.cases, subsets.attack, 150),
        Family("brute force: tolerated labels", subsets.label_cases, subsets.attack_labels, 200),
        Family("reference: wrong", references.cases, references.attack, 200),
        Family("reference: nearly right", references.harmless, references.attack_harmless, 30),
        Family("reference: right", references.right, references.attack_right, 80),
        Family("reference: model changed after fit", references.changed, references.attack_changed, 20),
        *(Family(f"floating point: {name}", cases, corners.attack, 12) for name, cases in corners.CORNERS.items()),
        Family("witnesses: stock pipelines", setups, witnesses.attack, 30),
        Family("witnesses: large offsets", witnesses.offsets, witnesses.attack, 30),
        Family("audits: types of columns", audits.dressed, audits.attack, 40),
        Family("audits: units", audits.measured, audits.attack, 40),
        Family("audits: rows of training", audits.wrong, audits.attack, 40),
        Family("determinism", repeats.cases, repeats.attack, 24),
    ]
