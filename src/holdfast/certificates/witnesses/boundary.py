"""Ask the model's own ``predict`` just inside each radius: it must still answer as at the row (Lemma X0)."""

import warnings

import numpy as np

from holdfast.certificates.bracket import Bracket
from holdfast.certificates.threat_reading import Reading
from holdfast.certificates.voting import Voter

_INSIDE = 1.0 - 1e-6  # of a radius


def confirmed_radii(voter: Voter, reading: Reading, X, rows: np.ndarray, bounds: Bracket, attacked) -> np.ndarray:
    """The radii, if ``predict`` answers just inside each as at the row; else 0 for all rows, and a warning says so.

    One contradiction shows that the model is not the vote that was certified, and so much for the other rows.

    Parameters
    ----------
    voter : Voter
    reading : Reading
    X : rows as the user gave them
    rows : ndarray of shape (m, d)
        The same, encoded.
    bounds : Bracket
    attacked : int ndarray or None
        Codes of the classes that are attacked; other rows are certified without a bound, whatever they become.
    """
    radius = np.where(voter.same_as_given(X, bounds.codes), bounds.radius, 0.0)
    asked = np.ones(len(rows), bool) if attacked is None else np.isin(bounds.codes, attacked)
    moved, possible = _just_inside(voter, reading, rows, bounds)
    inside = asked & possible & (radius > 0)
    if not inside.any():
        return radius
    assert voter.front is not None
    answers = voter.model.predict(voter.front.decode(np.where(inside[:, None], moved, rows), X))
    wrong = inside & (np.asarray(answers) != voter.classes[bounds.codes])
    if not wrong.any():
        return radius
    warnings.warn(
        f"The model's own predict contradicts the radii of {int(wrong.sum())} of {len(rows)} rows, the first is row "
        f"{int(np.argmax(wrong))}: it gives another answer at a shorter move. So the model does something else than "
        "its fitted attributes say, and all radii are 0: certify a model whose functions are those of its class.",
        UserWarning,
        stacklevel=4,  # the caller of certify, which is decorated
    )
    return np.where(asked, 0.0, radius)


def _just_inside(voter: Voter, reading: Reading, rows: np.ndarray, bounds: Bracket) -> tuple[np.ndarray, np.ndarray]:
    """A move of each row, a hair shorter than its radius, and whether it is one that the certificate speaks of.

    It goes towards the row's witness, with those of the witness' categories that change at no cost; where there is
    none, in a direction that is the same for all rows.
    """
    moves, seen, start = reading.moves, np.isfinite(bounds.upper), rows.copy()
    for group in () if reading.categories is None else reading.categories.groups:
        if not group.whole:
            at = np.ix_(seen, group.columns)
            start[at] = bounds.adversarial[at]
    unit = np.ones(rows.shape[1]) if moves.unit is None else moves.unit
    step = np.where(
        seen[:, None], bounds.adversarial - start, unit * np.random.default_rng(0).choice((-1.0, 1.0), len(unit))
    )
    for column in voter.encoding.gaps:
        step[rows[:, voter.encoding.gap(column)] > 0, column] = 0.0
    size = moves.lengths(step)
    reach = np.where(np.isinf(bounds.radius), 1.0 + np.abs(rows / unit).max(axis=1), bounds.radius)
    share = np.divide(_INSIDE * reach, size, out=np.zeros_like(size), where=size > 0)
    moved = moves.enforce(start + share[:, None] * step, start, "inward")
    possible = moves.allows(moved, start) & (moves.lengths(moved - start) < bounds.radius)
    if voter.encoding.warps:  # not where a logarithm has no value: there predict raises
        possible[possible] = np.isfinite(voter.fold(moved[possible])).all(axis=1)
    return moved, possible
