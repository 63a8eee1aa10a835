"""Directed moves inside certified balls."""

from contextlib import suppress

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from tests.adversary.limits import Limits
from tests.adversary.tally import Tally

SHARES = (1.0, 1 - 1e-15, 1 - 1e-12, 1 - 1e-9, 1 - 1e-6, 0.9)  # of the radius; exact lengths decide what counts
_KICKS = 24  # of every row in each round of a walk
_CUTS, _HALVINGS = 64, 9  # 64^9 = 2^54 parts of a segment


def as_given(model, rows: np.ndarray):
    """Rows as the model takes them: a frame if it was fitted on one."""
    names = getattr(model, "feature_names_in_", None)
    return rows if names is None else pd.DataFrame(rows, columns=names)


def predict(model, rows: np.ndarray) -> np.ndarray:
    """The model's own predictions."""
    return model.predict(as_given(model, rows))


def alone(model, rows: np.ndarray) -> np.ndarray:
    """The model's own predictions, one row at a time."""
    return np.array([predict(model, row[None])[0] for row in rows])


def attack_radius(model, rows, certificate, limits: Limits, points, rng, rounds: int = 6, singles: int = 12) -> Tally:
    """Moves shorter than the radius at which the model's own ``predict`` differs are breaks.

    Parameters
    ----------
    model : fitted classifier
    rows : ndarray of shape (m, d)
    certificate : Certificate
        Of these rows.
    limits : Limits
    points : ndarray of shape (n, d)
        Inputs to walk towards, such as the training rows.
    rng : Generator
    rounds : int
        Of a random walk along the boundary that shortens the moves found.
    singles : int
        Moves that are given to predict one at a time besides.
    """
    tally = Tally()
    radius, said = certificate.radius, certificate.prediction
    hopeful = np.flatnonzero(radius > 0)
    tally.expect(not np.isnan(radius).any(), "a radius is NaN")
    for i, answer in zip(hopeful, alone(model, rows[hopeful]), strict=True):
        tally.expect(answer == said[i], f"row {i}: radius {radius[i]:.3g}, but predict of the row alone differs")
    if not hopeful.size:
        return tally
    rows, radius, said = rows[hopeful], radius[hopeful], said[hopeful]
    away = np.isinf(radius)
    spread = max(float(limits.lengths(points - points.mean(axis=0)).max()), 1e-300)
    sizes = np.where(away, spread * 10.0 ** rng.uniform(-3, 6, size=len(rows)), radius)

    directions = _directions(model, rows, certificate.adversarial[hopeful] - rows, said, limits, points, rng)
    n = directions.shape[1]
    at = np.repeat(np.arange(len(rows)), n)
    flat = directions.reshape(len(at), -1)
    shares = np.repeat([*SHARES, rng.uniform(0, 1)], len(at))
    each = np.tile(np.arange(len(at)), len(SHARES) + 1)
    moved = limits.stretched(rows[at[each]], flat[each], sizes[at[each]] * shares)
    _count(tally, model, moved, rows[at[each]], radius[at[each]], said[at[each]], limits)
    # The same, one by one: the first is towards the witness.
    few = rng.choice(len(at), size=min(singles, len(at)), replace=False)
    few[: len(few) // 2] = n * rng.integers(len(rows), size=len(few) // 2)
    moved = limits.stretched(rows[at[few]], flat[few], sizes[at[few]] * (1 - 1e-9))
    _count(tally, model, moved, rows[at[few]], radius[at[few]], said[at[few]], limits, singly=True)
    _walk(tally, model, rows, radius, said, certificate.adversarial[hopeful], limits, rng, rounds)
    return tally


def _count(tally, model, moved, rows, radius, said, limits, singly: bool = False) -> np.ndarray:
    """Try moves, and say which change the answer; those are measured exactly."""
    changed = np.zeros(len(moved), dtype=bool)
    ok = np.flatnonzero(np.isfinite(moved).all(axis=1) & limits.possible(moved, rows))
    tally.tries += len(ok)
    if ok.size:
        changed[ok] = (alone if singly else predict)(model, moved[ok]) != said[ok]
    for i in np.flatnonzero(changed):
        if np.isinf(radius[i]) or limits.compare(moved[i], rows[i], radius[i]) < 0:
            length = limits.lengths((moved[i] - rows[i])[None])[0]
            excess = radius[i] / length if length > 0 else np.inf
            tally.worst = max(tally.worst, excess)
            tally.breaks.append(
                f"radius {radius[i]:.6g} is {excess - 1:.1e} longer than a move that changes the answer"
                + (" (row alone)" if singly else "")
            )
    return changed


def _walk(tally, model, rows, radius, said, found, limits, rng, rounds) -> None:
    """Shorten the witnesses by random steps that keep the answer changed."""
    have = np.flatnonzero(np.isfinite(found).all(axis=1))
    if not have.size:
        return
    rows, radius, said, best = rows[have], radius[have], said[have], found[have].copy()
    length = limits.lengths(best - rows)
    step, m = 0.3, len(rows)
    every = np.tile(np.arange(m), _KICKS)
    for _ in range(rounds):
        kick = rng.normal(size=(_KICKS * m, best.shape[1])) * np.abs(best - rows).max(axis=1)[every, None] * step
        goal = length[every] * (1 - 0.3 * step * rng.uniform(size=len(every)))
        moved = limits.stretched(rows[every], (best - rows)[every] + kick, goal)
        changed = _count(tally, model, moved, rows[every], radius[every], said[every], limits)
        now = np.where(changed, limits.lengths(moved - rows[every]), np.inf).reshape(_KICKS, m)
        first = np.argmin(now, axis=0)
        shortest = now[first, np.arange(m)]
        better = np.flatnonzero(shortest < length)
        best[better], length[better] = moved[first[better] * m + better], shortest[better]
        step *= 0.6


def _directions(model, rows, witness, said, limits, points, rng) -> np.ndarray:
    """Directions for each row (m, n, d): witnesses, other classes, steepest ones of pairs, coordinates, random."""
    m, d = rows.shape
    others = predict(model, points)
    space, mapped = _map(model)
    out = [np.where(np.isfinite(witness), witness, 0.0)[:, None]]
    towards, steep, back = (np.zeros((m, count, d)) for count in (12, 24, 6))
    if space is not None:
        U, Q = mapped(points), mapped(rows)
    for i in range(m):
        foes, friends = points[others != said[i]], points[others == said[i]]
        if not len(foes):
            continue
        near = np.argsort(limits.lengths(foes - rows[i]))[:40]
        pick = near[:12] if rng.random() < 0.5 else rng.choice(near, size=12)
        towards[i, : len(pick)] = foes[pick] - rows[i]
        if space is None or not len(friends):
            continue
        J = space(rows[i], points)
        F, P = U[others != said[i]] - Q[i], U[others == said[i]] - Q[i]
        if not (np.isfinite(J).all() and np.isfinite(F).all() and np.isfinite(P).all()):
            continue
        l = np.argsort((F**2).sum(axis=1))[:8]
        j = np.argsort((P**2).sum(axis=1))[:4]
        pairs = np.array([(a, b) for a in l for b in j])
        pairs = pairs[rng.permutation(len(pairs))[:24]]
        steep[i, : len(pairs)] = limits.steepest((F[pairs[:, 0]] - P[pairs[:, 1]]) @ J)
        with suppress(np.linalg.LinAlgError):  # beyond its range: the other directions remain
            back[i, : len(l[:6])] = np.linalg.lstsq(J, F[l[:6]].T, rcond=None)[0].T
    unit = np.abs(points - points.mean(axis=0)).max(axis=0) + 1e-300
    random = rng.normal(size=(m, 12, d)) * np.where(rng.random((m, 12, 1)) < 0.5, unit, 1.0)
    signs = np.sign(rng.normal(size=(m, 8, d))) * (1.0 if limits.unit is None else limits.unit)
    axes = np.eye(d)[rng.integers(d, size=(m, 8))] * np.sign(rng.normal(size=(m, 8, 1)))
    out += [towards, steep, back, random, signs, axes]
    directions = np.concatenate(out, axis=1)
    directions[~np.isfinite(directions)] = 0.0
    return directions


def _map(model):
    """``(jacobian at a row, map of rows)`` into the space of the vote, by asking the model; (None, None) if unknown."""
    if hasattr(model, "image"):
        return _jacobian(model.image), model.image
    last = model[-1] if isinstance(model, Pipeline) else model
    before = model[:-1] if isinstance(model, Pipeline) else None
    if hasattr(last, "coef_"):

        def tail(Z):
            return np.atleast_2d(last.decision_function(Z).T).T
    else:
        metric = getattr(last, "components_", None)
        VI = (getattr(last, "metric_params", None) or {}).get("VI")
        if metric is None and VI is not None:
            metric = np.linalg.cholesky(np.asarray(VI)).T if np.linalg.eigvalsh(VI)[0] > 0 else None

        def tail(Z):
            return Z if metric is None else Z @ metric.T

    def mapped(rows):
        Z = rows if before is None or not len(before.steps) else np.asarray(before.transform(as_given(model, rows)))
        with np.errstate(all="ignore"):
            return np.asarray(tail(Z), dtype=float)

    return _jacobian(mapped), mapped


def _jacobian(mapped):
    """``(row, points) -> J`` by differences; the points tell the size of each feature."""

    def jacobian(row, points):
        size = np.maximum(np.abs(points - points.mean(axis=0)).max(axis=0), 1e-300) * 1e-3
        moved = row + np.vstack([np.diag(size), -np.diag(size)])
        image = mapped(moved)
        d = len(row)
        return ((image[:d] - image[d:]) / (moved[:d] - moved[d:]).sum(axis=1)[:, None]).T

    return jacobian


def near_boundary(model, rows: np.ndarray, count: int, rng) -> np.ndarray:
    """Rows at 1e-14 … 1e-3 of a segment from a place where the model's answer changes."""
    a, b = rng.integers(len(rows), size=(2, 20 * count))
    return between(model, rows[a], rows[b], count, rng)


def between(model, low: np.ndarray, high: np.ndarray, count: int, rng) -> np.ndarray:
    """The same, on segments that are given by their ends; up to ``count`` of those on which the answer changes."""
    answers = predict(model, np.vstack([low, high]))
    said = answers[: len(low)]
    pairs = np.flatnonzero(said != answers[len(low) :])[:count]
    if not pairs.size:
        return low[:0]
    low, high, said = low[pairs], high[pairs], said[pairs]
    left, right = np.zeros(len(pairs)), np.ones(len(pairs))
    parts = np.linspace(0.0, 1.0, _CUTS + 1)[1:-1]
    for _ in range(_HALVINGS):  # many cuts at once: a call of predict costs more than its rows
        at = left + parts[:, None] * (right - left)
        moved = low + at[:, :, None] * (high - low)
        same = (predict(model, moved.reshape(-1, low.shape[1])) == np.tile(said, len(parts))).reshape(at.shape)
        first = np.argmin(
            np.vstack([same, np.zeros((1, len(pairs)), bool)]), axis=0
        )  # the first cut with another answer
        ends = np.vstack([left, at, right])
        left, right = np.take_along_axis(ends, first[None], 0)[0], np.take_along_axis(ends, first[None] + 1, 0)[0]
    back = np.maximum(left - 10.0 ** rng.uniform(-14, -3, size=len(left)), 0.0)
    return low + back[:, None] * (high - low)
