"""The numbers by which models are compared: overall, balanced over the classes, class by class."""

import numpy as np
from scipy.stats import binomtest

from holdfast.certificates.certificate import Certificate
from holdfast.numerics.formatting import short_name, significant

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
        right, not proven and not attacked; ``worst``, the class found most rarely.
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
    worst = np.lexsort((support, recalls["certified"], recalls["accuracy"]))[0]
    out["worst"] = {
        "label": short_name(classes[worst]),
        "rows": int(support[worst]),
        "found": round(float(recalls["accuracy"][worst] * support[worst])),
        "proven": round(float(recalls["certified"][worst] * support[worst])),
    }
    return out


def majority_scores(y_train: np.ndarray, y: np.ndarray) -> dict:
    """The scores of always giving the most frequent answer, which no move of an input changes."""
    classes, counts = np.unique(y_train, return_counts=True)
    answer = classes[counts.argmax()]
    share = float((np.asarray(y) == answer).mean())
    balanced = 1.0 / len(np.unique(y)) if share else 0.0
    kinds = ("accuracy", "attacked", "certified")
    shares: dict = dict.fromkeys(kinds, share) | {f"balanced_{kind}": balanced for kind in kinds}
    return {**shares, "undecided": 0.0, "label": short_name(answer)}


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
