"""Shares of a model, and the verdict in words."""

from dataclasses import dataclass, field

import numpy as np
from scipy.stats import binomtest

from holdfast.base.text import number, percent, short_name, significant
from holdfast.certificates.certificate import Certificate

_SHUFFLES = 2_000  # of the labels: p-values down to 1/2001
_MAX_PAIRS = 15  # of confused classes, where there are many classes


def scores(certificate: Certificate, y: np.ndarray, radius: float) -> dict:
    """Accuracies of one model at a radius; the balanced ones are means over the classes of y.

    Parameters
    ----------
    certificate : Certificate
    y : ndarray
        True labels.
    radius : float

    Returns
    -------
    dict
        ``accuracy``, ``attacked``, ``certified``, each also ``balanced_…``; ``undecided``, the share of rows that are
        right, not proven and not attacked, and ``undecided_by_budget``, of those among them whose budget ended;
        ``worst``, the class found most rarely.
    """
    y = np.asarray(y)
    right = certificate.prediction == y
    kinds = {
        "accuracy": right,
        "attacked": right & (certificate.upper > radius),
        "certified": right & (certificate.radius > radius),
    }
    out: dict = {kind: float(mask.mean()) for kind, mask in kinds.items()}
    classes, codes, support = np.unique(y, return_inverse=True, return_counts=True)
    recalls = {kind: np.bincount(codes, weights=mask) / support for kind, mask in kinds.items()}
    out |= {f"balanced_{kind}": float(recall.mean()) for kind, recall in recalls.items()}
    out["undecided"] = out["attacked"] - out["certified"]
    open_ = kinds["attacked"] & ~kinds["certified"]
    out["undecided_by_budget"] = float((open_ & ended_by_budget(certificate)).mean())
    worst = np.lexsort((support, recalls["certified"], recalls["accuracy"]))[0]
    out["worst"] = {
        "label": short_name(classes[worst]),
        "rows": int(support[worst]),
        "found": round(float(recalls["accuracy"][worst] * support[worst])),
        "proven": round(float(recalls["certified"][worst] * support[worst])),
    }
    return out


def ended_by_budget(certificate: Certificate) -> np.ndarray:
    """Mask of the rows whose budget ended their search."""
    ended = certificate.budget_ended
    return np.zeros(len(certificate), bool) if ended is None else ended


def budget_summary(certificates: dict[str, Certificate], methods: dict, y: np.ndarray, radius: float, work) -> dict:
    """How many rows of each model the budget left undecided at a radius, or with a looser radius, and what to do.

    Returns
    -------
    dict
        ``work``, the budget of a row; ``models``: by key the numbers of rows that are right and ``undecided``, of those
        among them whose budget ended (``undecided_by_budget``), and of all whose budget ended (``ended``);
        ``sentences``.
    """
    counts = {}
    for key, certificate in certificates.items():
        ended = ended_by_budget(certificate)
        open_ = (certificate.prediction == y) & (certificate.radius <= radius) & (certificate.upper > radius)
        counts[key] = {
            "undecided": int(open_.sum()),
            "undecided_by_budget": int((open_ & ended).sum()),
            "ended": int(ended.sum()),
        }
    sentences = []
    for key, own in counts.items():
        if of := own["undecided"]:
            cut = own["undecided_by_budget"]
            sentences.append(
                f"{methods[key]}: {of:,} of {len(y):,} rows right but undecided at {number(radius)}, "
                f"{'all' if cut == of else f'{cut:,}' if cut else 'none'} of them because the budget ended."
            )
        if others := own["ended"] - own["undecided_by_budget"]:
            sentences.append(
                f"{methods[key]}: for {others:,}{' other' if of else ''} row{'' if others == 1 else 's'} the budget "
                "ended before the radius was found: the certified radius holds, and may be shorter than need be."
            )
    if work is not None and any(own["ended"] for own in counts.values()):
        sentences.append(
            f"The budget is {work:,} units of work a row, about a microsecond each; a larger one decides more: "
            f"--budget {max(10 * work, 1000)} takes up to ten times as long for these rows."
        )
    return {"work": work, "models": counts, "sentences": sentences}


def majority_scores(y_train: np.ndarray, y: np.ndarray) -> dict:
    """The scores of always giving the most frequent answer, which no move of an input changes."""
    classes, counts = np.unique(y_train, return_counts=True)
    answer = classes[counts.argmax()]
    share = float((np.asarray(y) == answer).mean())
    balanced = 1.0 / len(np.unique(y)) if share else 0.0
    kinds = ("accuracy", "attacked", "certified")
    shares: dict = dict.fromkeys(kinds, share) | {f"balanced_{kind}": balanced for kind in kinds}
    return {**shares, "undecided": 0.0, "undecided_by_budget": 0.0, "label": short_name(answer)}


def chance_of_accuracy(prediction: np.ndarray, y: np.ndarray) -> float:
    """The share of shuffled labels whose balanced accuracy is as high: the p-value of "no better than a guess"."""
    rng = np.random.RandomState(0)
    _, codes, support = np.unique(y, return_inverse=True, return_counts=True)
    classes = np.unique(y)
    guess = np.searchsorted(classes, prediction).clip(0, len(classes) - 1)
    known = classes[guess] == prediction

    def balanced(truth: np.ndarray) -> float:
        return float((np.bincount(truth, weights=known & (guess == truth), minlength=len(support)) / support).mean())

    observed = balanced(codes)
    as_high = sum(balanced(rng.permutation(codes)) >= observed - 1e-12 for _ in range(_SHUFFLES))
    return (as_high + 1) / (_SHUFFLES + 1)


def chance_of_difference(first: np.ndarray, second: np.ndarray) -> float:
    """p-value of McNemar's exact test on the rows where one of two masks is true only."""
    gained, lost = int((second & ~first).sum()), int((first & ~second).sum())
    return float(binomtest(gained, gained + lost).pvalue) if gained + lost else 1.0


def confusion(y: np.ndarray, prediction: np.ndarray, classes: list, at_most: int = 12) -> dict:
    """Counts of true against predicted classes; of many classes, the pairs that are confused most often.

    Returns
    -------
    dict
        ``labels`` and ``counts`` (rows: true, columns: predicted), or ``pairs``, each ``true, predicted, count``.
    """
    if len(classes) <= at_most:
        counts = [[int(((y == a) & (prediction == b)).sum()) for b in classes] for a in classes]
        return {"labels": [short_name(c) for c in classes], "counts": counts, "pairs": []}
    wrong = y != prediction
    pairs, counts_ = np.unique(np.array([y[wrong], prediction[wrong]], dtype=str), axis=1, return_counts=True)
    order = np.argsort(-counts_, kind="stable")[:_MAX_PAIRS]
    confused = [
        {"true": short_name(pairs[0, k]), "predicted": short_name(pairs[1, k]), "count": int(counts_[k])} for k in order
    ]
    return {"labels": [], "counts": [], "pairs": confused}


def round_scores(scores: dict) -> dict:
    """The scores with eight significant digits."""
    return {k: significant(v, 8) if isinstance(v, float) else v for k, v in scores.items()}


_CHANCE = 0.05  # p-values above are called chance
_MUCH_UNDECIDED = 0.05  # of the rows


@dataclass(frozen=True)
class Compared:
    """One model as the verdict sees it.

    Attributes
    ----------
    key, method : str
    scores : dict
        As :func:`holdfast.auditing.verdict.scores` makes it.
    p_value : float
        Of the difference, in rows that are right and proven, to the recommended model; 1 for itself.
    """

    key: str
    method: str
    scores: dict
    p_value: float = 1.0


@dataclass(frozen=True)
class Verdict:
    """The recommendation in one sentence, with the reasons."""

    sentence: str
    detail: str
    tone: str
    recommended: str
    reasons: list[str] = field(default_factory=list)

    def to_dict(self) -> dict:
        """The same for a JSON document."""
        return {
            "sentence": self.sentence,
            "detail": self.detail,
            "tone": self.tone,
            "recommended": self.recommended,
            "reasons": self.reasons,
        }


def recommend(scores: dict[str, dict]) -> str:
    """Key of the model with the highest balanced certified accuracy, then balanced accuracy; the first of equals."""

    def merit(key: str) -> tuple[float, float]:
        return round(scores[key]["balanced_certified"], 9), round(scores[key]["balanced_accuracy"], 9)

    return max(scores, key=lambda key: (merit(key), -list(scores).index(key)))


def verdict(
    models: list[Compared], best: str, majority: dict, radius: float, n_rows: int, chance: float, n_classes: int,
    units: str = "standard deviations",
) -> Verdict:  # fmt: skip
    """The verdict on some models.

    Parameters
    ----------
    models : list of Compared
    best : str
        Key of the recommended one.
    majority : dict
        Scores of the most frequent answer, and its ``label``.
    radius : float
    n_rows, n_classes : int
        Test rows and their classes.
    chance : float
        p-value of the recommended model's accuracy against guessing.
    units : str
        Of the radius.
    """
    pick = next(model for model in models if model.key == best)
    others = sorted((m for m in models if m.key != best), key=lambda m: -m.scores["balanced_certified"])
    where = f"within {number(radius)} {units}"
    always = f"always answering {majority['label']!r}"
    proven = f"{percent(pick.scores['certified'])} of the test rows are right and proven to stay so {where}"
    rows = f"This rests on {n_rows} test rows."
    if chance > _CHANCE:
        sentence = (
            f"Not worth it: {pick.method} is no better than a guess. It is right in {percent(pick.scores['accuracy'])} "
            f"of the test rows, {always} in {percent(majority['accuracy'])} (p = {chance:.2f})."
        )
        return _finish(sentence, [_worst(pick), rows], "worse", best)
    against = [f"{percent(m.scores['certified'])} of {m.method}" for m in others[:1]]
    against.append(f"{percent(majority['certified'])} of {always}")
    no_gain = pick.scores["certified"] <= majority["certified"]
    if pick.scores["balanced_certified"] <= 1.0 / n_classes + 1e-9 and no_gain:
        subject = pick.method if len(models) == 1 else "no model"
        sentence = (
            f"Not worth it {where}: {subject} proves more than the most frequent answer. With {pick.method} {proven}, "
            f"with {always} {percent(majority['certified'])}."
        )
        if len(models) == 1:
            sentence = sentence.replace(f"{subject} proves more", f"{subject} proves no more", 1)
        return _finish(
            sentence, [_worst(pick), _balanced(pick, n_classes), *_undecided(pick, others), rows], "worse", best
        )
    start = f"Use {pick.method}" if others else pick.method
    beaten = [m.scores["certified"] for m in others[:1]] + [majority["certified"]]
    if others and pick.scores["certified"] < max(beaten):  # chosen with every class counted alike: so say those numbers
        proven = (
            f"every class counted alike, {percent(pick.scores['balanced_certified'])} of the test rows are right and "
            f"proven to stay so {where}"
        )
        against = [f"{percent(m.scores['balanced_certified'])} of {m.method}" for m in others[:1]]
        against.append(f"{percent(1 / n_classes)} of {always}")
    sentence = f"{start}: {proven}, against {' and '.join(against)}."
    tone, reasons = ("better" if others else "plain"), [_worst(pick), _balanced(pick, n_classes)]
    if others:
        reason, tone = _difference(pick, others[0])
        reasons.append(reason)
    reasons += _cleaner(pick, others)
    open_ = _undecided(pick, others)
    if tone == "better" and any("may hold more" in each for each in open_):
        tone = "unclear"
    return _finish(sentence, [*reasons, *open_, rows], tone, best)


def _finish(sentence: str, reasons: list[str], tone: str, best: str) -> Verdict:
    return Verdict(sentence, " ".join(reasons), tone, best, reasons)


def _worst(pick: Compared) -> str:
    """The class that is found most rarely."""
    worst = pick.scores["worst"]
    rows = f"{worst['rows']} test row{'s' if worst['rows'] != 1 else ''}"
    if not worst["found"]:
        return f"Worst class: of {worst['label']!r} it finds none of {rows}."
    proven = f"{worst['proven']} of them proven" if worst["proven"] else "none of them proven"
    return f"Worst class: of {worst['label']!r} it finds {worst['found']} of {rows}, {proven}."


def _balanced(pick: Compared, n_classes: int) -> str:
    return (
        f"Every class counted alike, it is right in {percent(pick.scores['balanced_accuracy'])} and proven in "
        f"{percent(pick.scores['balanced_certified'])}; one answer for all has {percent(1 / n_classes)}."
    )


def _difference(pick: Compared, other: Compared) -> tuple[str, str]:
    """A sentence on whether the difference to the next model could be chance, and the tone."""
    if abs(pick.scores["balanced_certified"] - other.scores["balanced_certified"]) < 1e-9:
        return f"{other.method} proves as much.", "even"
    if other.p_value > _CHANCE:
        return f"The difference to {other.method} could be chance (p = {other.p_value:.2f}).", "unclear"
    p = "p < 0.001" if other.p_value < 0.001 else f"p = {other.p_value:.3f}"
    return f"The difference to {other.method} is hardly chance ({p}).", "better"


def _cleaner(pick: Compared, others: list[Compared]) -> list[str]:
    """A model that is right more often without any move, if there is one."""
    best = max(others, key=lambda m: m.scores["balanced_accuracy"], default=None)
    if best is None or best.scores["balanced_accuracy"] <= pick.scores["balanced_accuracy"] + 1e-9:
        return []
    return [
        f"Without moves {best.method} is right more often, every class counted alike: "
        f"{percent(best.scores['balanced_accuracy'])} against {percent(pick.scores['balanced_accuracy'])}."
    ]


def _undecided(pick: Compared, others: list[Compared]) -> list[str]:
    """Sentences on undecided rows, if they are many or leave open which model is better."""
    sentences = []
    if pick.scores["undecided"] > _MUCH_UNDECIDED:
        remedy = "; a larger --budget decides more" if pick.scores["undecided_by_budget"] else ""
        sentences.append(
            f"{percent(pick.scores['undecided'])} of its rows are undecided: neither proven nor changed by an attack"
            f"{remedy}."
        )
    for m in others:
        open_ = m.scores["undecided"] > _MUCH_UNDECIDED
        if open_ and m.scores["balanced_attacked"] > pick.scores["balanced_certified"]:
            sentences.append(
                f"{m.method} may hold more: {percent(m.scores['undecided'])} of its rows are undecided, and up to "
                f"{percent(m.scores['attacked'])} may be right and stay so."
            )
    return sentences
