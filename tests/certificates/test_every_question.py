"""Every question × every kind of chain × every rule × every limit, against the model's own answers on a grid of rows.

No bound is above the smallest move of the grid that does what is asked; what is called closest is; what is called
impossible is not on the grid; every point is valid and possible; a refusal is a sentence, and expected.
"""

from collections import Counter
from itertools import product

import numpy as np
import pytest

from holdfast import Threat, attack, certify, counterfactuals
from holdfast.certificates import dependence
from holdfast.certificates.readers import voter_for
from tests.adversary.setups import sentence
from tests.certificates.questions import models
from tests.certificates.questions.truth import CLOSE, ROWS, Grid, Truth
from tests.sizes import FULL

NORMS = (2, 1, np.inf)
WORDS_CHANGE = {"free", "categories"}


def test_every_kind_that_the_code_knows_is_asked():
    assert models.missing_kinds() == []


@pytest.mark.parametrize("kind", models.CHAINS)
def test_chains_are_of_their_kind(kind):
    for chain in models.CHAINS[kind]:
        model = models.model_of(kind, chain, "scores of three", "logistic")
        assert models.kind_of(voter_for(model)) == kind


@pytest.mark.parametrize(("kind", "group"), product(models.CHAINS, models.RULES))
def test_no_answer_is_contradicted(kind, group):
    """Each question goes to one pair of a chain and a rule, or at full size to all; norms and limits take turns."""
    tried, wrong = Counter(), []
    pairs, table = models.pairs(kind, group), models.table_of(kind)
    threats = [name for name, given in models.THREATS.items() if kind == "words" or not WORDS_CHANGE & set(given)]
    if kind == "gaps":  # a relation of a column with gaps is refused: nothing is known of a number that was filled in
        threats.remove("relation")
    for p, (chain, rule) in enumerate(pairs):
        grid = Grid.of(models.model_of(kind, chain, group, rule), table)
        for q, question in enumerate(models.QUESTIONS):
            if not (FULL or (q % len(pairs) == p % len(models.QUESTIONS) and models.asked(kind, group, q))):
                continue
            turn = p + q + len(kind) + len(group)
            threat, norm = threats[turn % len(threats)], NORMS[turn % 3]
            case = _Case(grid, question, threat, norm, {(chain, group), (question, rule)} & models.REFUSED)
            case.ask()
            tried += case.seen
            wrong += [f"{chain} | {rule} | {question} | {threat} | L{norm}: {line}" for line in case.wrong]
    assert not wrong, "\n".join(wrong)
    if all((chain, group) in models.REFUSED for chain, _ in pairs):
        assert tried["refused"] == tried.total()
    else:  # a bound of 0, or no answer, is never wrong
        assert tried["certified"] > 0.3 * tried["rows"]
        assert tried["witnesses"] > 0.2 * tried["rows"]
        assert tried["closest"] > 0 or group == "distances"


class _Case:
    """One question about all rows of a grid."""

    def __init__(self, grid: Grid, question: str, threat: str, norm: float, refused):
        self.grid, self.question, self.norm, self.threat = grid, question, norm, threat
        self.refused = bool(refused)
        self.truths = [Truth(grid, t, threat, norm) for t in range(len(ROWS))]
        self.X = grid.rows()
        self.prediction = grid.model.predict(self.X)
        self.seen, self.wrong = Counter(), []

    def ask(self) -> None:
        """Ask, and compare."""
        asked = models.QUESTIONS[self.question]
        try:
            if self.question == "dependence":
                self._dependence()
            elif self.question in models.COUNTERFACTUALS:
                self._counterfactuals(asked)
            else:
                self._certificate(asked)
        except (ValueError, TypeError) as error:
            self.seen["refused"] += 1
            self._expect(self.refused and sentence(error), f"refused: {type(error).__name__} {error}")
        else:
            self._expect(not self.refused, "not refused")

    def _expect(self, right, line: str) -> None:
        if not right:
            self.wrong.append(line)

    def _threat(self, **more) -> Threat:
        names = [*self.grid.table.names, "w"]

        def named(value):
            if isinstance(value, dict):
                return {names[column]: each for column, each in value.items()}
            return [(named(each[0]), *each[1:]) if isinstance(each, tuple) else names[each] for each in value]

        given = {
            name: value if name == "max_changes" else named(value)
            for name, value in models.THREATS[self.threat].items()
        }
        return Threat(self.norm, **given, **more)

    def _numbers(self, table) -> np.ndarray:
        """The two columns; a gap is the number of the row, which does not move."""
        return np.array(table[["a", "b"]] if self.grid.table.words else table, dtype=float)

    def _moved(self, t: int, points, at: int) -> tuple[np.ndarray, float]:
        """A point that was found for row t, as numbers, and the size of its move."""
        point = self._numbers(points)[at]
        if self.truths[t].gap:
            self._expect(np.isnan(point[1]), "a gap was filled in")
            point[1] = ROWS[t, 1]
        return point, float(self.truths[t].size(point - ROWS[t]))

    def _certificate(self, asked: dict) -> None:
        attacked = asked.get("classes")
        options = {name: value for name, value in asked.items() if name != "classes"}
        threat = self._threat(**({"classes": attacked} if attacked else {}))
        if self.question == "attack":
            found = attack(self.grid.model, self.X, threat=threat, budget=200, n_jobs=1)
            radius, upper, points = np.zeros(len(ROWS)), found.size, found.adversarial
        else:
            found = certify(self.grid.model, self.X, threat=threat, budget=200, n_jobs=1, **options)
            radius, upper, points = found.radius, found.upper, found.adversarial
        verdicts = found.stable if "at" in asked else [None] * len(ROWS)
        for t, truth in enumerate(self.truths):
            before = self.prediction[t]
            if attacked and before not in attacked:
                self._expect(np.isinf(radius[t]), f"row {t} is not attacked, radius {radius[t]}")
                continue
            smallest = truth.smallest(lambda answers, before=before: answers != before)
            self._expect(radius[t] <= smallest * CLOSE, f"row {t}: radius {radius[t]}, a change at {smallest}")
            if verdicts[t] is True:
                self._expect(smallest > asked["at"], f"row {t}: stable, a change at {smallest}")
            if verdicts[t] is False:
                self._expect(upper[t] <= asked["at"], f"row {t}: not stable by a change at {upper[t]}")
            self.seen["rows"] += 1
            self.seen["certified"] += int(radius[t] > 0)
            if np.isfinite(upper[t]):
                self.seen["witnesses"] += 1
                point, size = self._moved(t, points, t)
                self._expect(truth.possible(point), f"row {t}: a witness beyond the limits, {point}")
                self._expect(abs(size - upper[t]) <= 1e-9 * (1 + size), f"row {t}: size {size}, upper {upper[t]}")
                answer = self.grid.model.predict(points[t : t + 1])[0]
                self._expect(answer != before, f"row {t}: the witness has the same answer")

    def _dependence(self) -> None:
        """The first column is one of three numbers, or the words are any; the rest moves by a half."""
        table = self.grid.table
        if WORDS_CHANGE & set(models.THREATS[self.threat]):  # refused beside on=
            self.threat = "any move"
            self.truths = [Truth(self.grid, t, self.threat, self.norm) for t in range(len(ROWS))]
        values = [1.0, 3.0, 5.0]
        on = {"w": models.WORDS} if table.words else {0: values}
        found = dependence(self.grid.model, self.X, on, at=0.5, threat=self._threat(), budget=200, n_jobs=1)
        for t, (truth, stable) in enumerate(zip(self.truths, found.certificate.stable, strict=True)):
            points, size = truth.places()
            near = truth.possible(points)
            if not table.words:
                near &= np.isin(points[..., 0], [*values, ROWS[t, 0]])
                size = truth.size((points - ROWS[t]) * [0.0, 1.0])
            near &= size <= 0.5
            lines = models.WORDS if table.words else [self.grid.line(t)]
            changes = any((self.grid.answers[line][near] != self.prediction[t]).any() for line in lines)
            self._expect(not (stable is True and changes), f"row {t}: independent, and a change is on the grid")
            self.seen["rows"] += 1
            self.seen["certified"] += int(stable is True)
            self.seen["witnesses"] += int(stable is False)

    def _counterfactuals(self, asked: dict) -> None:
        options = {"near_data": False, **asked}
        X, y = models.training(self._kind, 2 if len(self.grid.model.classes_) == 2 else 3)
        if options.get("reference"):
            options["reference"] = (X, y)
        if asked.get("target") == "z" and len(self.grid.model.classes_) == 2:
            options["target"] = "y"
        target, slack = options.get("target"), options.get("slack", 0.0)
        found = counterfactuals(self.grid.model, self.X, threat=self._threat(), budget=200, n_jobs=1, **options)
        boxed = "lower" in models.THREATS[self.threat]
        within = (
            self._within(self._numbers(X))
            if options["near_data"] or (options["near_data"] is None and not boxed)
            else None
        )
        for entry in np.flatnonzero(found.number == 1):
            t = found.row[entry]
            self._compare(found, entry, self.truths[t], target, slack, options, within)
        for entry in np.flatnonzero(found.valid):
            self._check_point(found, entry, target, slack, options, within)

    @property
    def _kind(self) -> str:
        return "words" if self.grid.table.words else "gaps" if self.grid.table.gaps else "affine"

    def _within(self, data: np.ndarray):
        """Points within the range of the data; a row beyond it may stay there."""
        low, high = np.nanmin(data, axis=0), np.nanmax(data, axis=0)
        return lambda points: ((points >= low) & (points <= high)).all(axis=-1)

    def _compare(self, found, entry: int, truth: Truth, target, slack: float, options: dict, within) -> None:
        """Bound, ``closest`` and status of the first answer of a row."""
        t, lower, size = truth.t, found.lower_bound[entry], found.size[entry]
        self.seen["rows"] += 1
        self.seen["certified"] += int(lower > 0)
        self.seen["witnesses"] += int(found.valid[entry])
        self.seen["closest"] += int(found.closest[entry])
        if options["near_data"]:  # fewer points are near: the bound of any point counts, and closest is not on a grid
            return
        before = self.prediction[t]

        def wanted(answers):
            return answers != before if target is None else answers == target

        smallest = truth.smallest(wanted, slack, options.get("max_features", 2), within)
        self._expect(lower <= smallest * CLOSE, f"row {t}: bound {lower}, an answer at {smallest}")
        if found.closest[entry]:
            self._expect(size <= smallest * 1.0102, f"row {t}: closest {size}, an answer at {smallest}")
        if found.status[entry] == "impossible":
            self._expect(np.isinf(smallest), f"row {t}: impossible, an answer at {smallest}")

    def _check_point(self, found, entry: int, target, slack: float, options: dict, within) -> None:
        """Valid, possible, and as far away as it says."""
        t, truth = found.row[entry], self.truths[found.row[entry]]
        answer = self.grid.model.predict(found.points[entry : entry + 1])[0]
        self._expect(answer != self.prediction[t] if target is None else answer == target, f"row {t}: not an answer")
        point, size = self._moved(t, found.points, entry)
        self._expect(truth.possible(point), f"row {t}: beyond the limits, {point}")
        self._expect(abs(size - found.size[entry]) <= 1e-9 * (1 + size), f"row {t}: size {size}, {found.size[entry]}")
        self._expect(within is None or within(point) or size == 0, f"row {t}: beyond the data, {point}")
        words = self.grid.table.words
        line = found.points["w"].iloc[entry] if words else self.grid.line(t)
        self._expect(line in truth.lines, f"row {t}: the word {line}")
        moved = (point != ROWS[t]).sum() + (words and line != self.grid.line(t))
        self._expect(moved <= options.get("max_features", 2 + words), f"row {t}: {moved} columns changed")
        if slack:
            self._expect(truth.held_between(point, line, answer, slack), f"row {t}: does not hold within {slack}")
