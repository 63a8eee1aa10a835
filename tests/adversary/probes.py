"""Directed moves inside certified balls."""

from contextlib import suppress

import numpy as np
import pandas as pd
from sklearn.pipeline import Pipeline

from tests.adversary.limits import Limits
from tests.adversary.tally import Tally

SHARES = (1.0, 1 - 1e-15, 1 - 1e-12, 1 - 1e-9, 1 - 1e-6, 0.9)  # of the radius; exact lengths decide what counts


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
    for share in (*SHARES, rng.uniform(0, 1)):
        moved = limits.stretched(rows[at], flat, sizes[at] * share)
        _count(tally, model, moved, rows[at], radius[at], said[at], limits)
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
    step = 0.3
    for _ in range(rounds):
        kick = rng.normal(size=(8, *best.shape)) * np.abs(best - rows).max(axis=1)[:, None] * step
        for one in kick:
            goal = length * (1 - 0.3 * step * rng.uniform(size=len(length)))
            moved = limits.stretched(rows, best - rows + one, goal)
            changed = _count(tally, model, moved, rows, radius, said, limits)
            now = limits.lengths(moved - rows)
            better = changed & (now < length)
            best[better], length[better] = moved[better], now[better]
        step *= 0.5


def _directions(model, rows, witness, said, limits, points, rng) -> np.ndarray:
    """Directions for each row (m, n, d): witnesses, other classes, steepest ones of pairs, coordinates, random."""
    m, d = rows.shape
    others = predict(model, points)
    space, mapped = _map(model)
    out = [np.where(np.isfinite(witness), witness, 0.0)[:, None]]
    towards, steep, back = (np.zeros((m, count, d)) for count in (6, 12, 4))
    if space is not None:
        U, Q = mapped(points), mapped(rows)
    for i in range(m):
        foes, friends = points[others != said[i]], points[others == said[i]]
        if not len(foes):
            continue
        near = np.argsort(limits.lengths(foes - rows[i]))[:40]
        pick = near[:6] if rng.random() < 0.5 else rng.choice(near, size=6)
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
        pairs = pairs[rng.permutation(len(pairs))[:12]]
        steep[i, : len(pairs)] = limits.steepest((F[pairs[:, 0]] - P[pairs[:, 1]]) @ J)
        with suppress(np.linalg.LinAlgError):  # beyond its range: the other directions remain
            back[i, : len(l[:4])] = np.linalg.lstsq(J, F[l[:4]].T, rcond=None)[0].T
    unit = np.abs(points - points.mean(axis=0)).max(axis=0) + 1e-300
    random = rng.normal(size=(m, 6, d)) * np.where(rng.random((m, 6, 1)) < 0.5, unit, 1.0)
    signs = np.sign(rng.normal(size=(m, 4, d))) * (1.0 if limits.unit is None else limits.unit)
    axes = np.eye(d)[rng.integers(d, size=(m, 4))] * np.sign(rng.normal(size=(m, 4, 1)))
    out += [towards, steep, back, random, signs, axes]
    directions = np.concatenate(out, axis=1)
    directions[~np.isfinite(directions)] = 0.0
    return directions


def _map(model):
    """``(jacobian at a row, map of rows)`` into the space of the vote, by asking the model; (None, None) if unknown."""
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

    def jacobian(row, points):
        size = np.maximum(np.abs(points - points.mean(axis=0)).max(axis=0), 1e-300) * 1e-3
        moved = row + np.vstack([np.diag(size), -np.diag(size)])
        image = mapped(moved)
        d = len(row)
        return ((image[:d] - image[d:]) / (moved[:d] - moved[d:]).sum(axis=1)[:, None]).T

    return jacobian, mapped


def near_boundary(model, rows: np.ndarray, count: int, rng) -> np.ndarray:
    """Rows at 1e-14 … 1e-3 of a segment from a place where the model's answer changes."""
    answer = predict(model, rows)
    a, b = rng.integers(len(rows), size=(2, 20 * count))
    pairs = np.flatnonzero(answer[a] != answer[b])[:count]
    if not pairs.size:
        return rows[:0]
    low, high = rows[a[pairs]], rows[b[pairs]]
    said = answer[a[pairs]]
    left, right = np.zeros(len(pairs)), np.ones(len(pairs))
    for _ in range(52):
        middle = 0.5 * (left + right)
        same = predict(model, low + middle[:, None] * (high - low)) == said
        left, right = np.where(same, middle, left), np.where(same, right, middle)
    back = np.maximum(left - 10.0 ** rng.uniform(-14, -3, size=len(left)), 0.0)
    return low + back[:, None] * (high - low)
