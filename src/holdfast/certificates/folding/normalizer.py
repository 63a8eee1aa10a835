"""Through an L2 normalisation ``z → z / ‖z‖``: a bound on the sphere becomes a bound before it."""

import numpy as np

from holdfast.affine import Affine
from holdfast.certificates.problems import Bounds
from holdfast.certificates.rounding import kappa
from holdfast.certificates.threat import Moves
from holdfast.numerics.sums import product_by_rows

# scikit-learn leaves rows alone that are shorter than this.
SHORTEST = 10 * np.finfo(float).eps


def unit_rows(Z: np.ndarray) -> np.ndarray:
    """Rows scaled to unit length as scikit-learn does: a row of (nearly) no length stays as it is."""
    length = np.linalg.norm(Z, axis=1, keepdims=True)
    return Z / np.where(length < SHORTEST, 1.0, length)


def bounds_before_normalizer(before: Affine, moves: Moves, rows: np.ndarray, chord: np.ndarray) -> Bounds:
    """A chord r on the unit sphere needs a move of ``‖z‖ r√(1 − r²/4)`` (of ``‖z‖`` beyond r = √2): Lemma S1.

    Through the steps before, a move of size 1 carries z by at most their Lipschitz constant: sound, not tight.

    Parameters
    ----------
    before : Affine
        The steps before the normalisation.
    moves : Moves
    rows : ndarray of shape (m, d)
    chord : ndarray of shape (m,)
        Certified radii on the sphere.

    Returns
    -------
    Bounds
        Without witnesses.
    """
    Z = before(rows)
    length = np.linalg.norm(Z, axis=1)
    # z as computed is off by ``relative · size`` before a move, and by ``relative · (size + growth · R)`` after one of
    # size R; its length by ``relative`` (Lemma S2).
    size = np.linalg.norm(product_by_rows(np.abs(rows), before.absolute), axis=1) + before.scale
    relative = kappa(before.W.shape[0], before.W.shape[1], before.n_steps)
    r = np.clip(chord - 2.0 * relative, 0.0, np.sqrt(2.0))
    columns, absolute = moves.in_units(before.W), moves.in_units(before.absolute)
    coordinates = moves.free_norm.coordinates(columns, absolute, reduce=True)
    # A unit of a move carries z by the Lipschitz constant at most, and the numbers that round by the growth.
    rate = coordinates.lipschitz + relative * coordinates.growth
    arc = length * r * np.sqrt(1.0 - r**2 / 4.0) * (1.0 - 1e-12)  # 1e-12: the rounding of this line
    # A move may not take z to where scikit-learn would leave it alone.
    radius = np.maximum(np.minimum(arc, length - 2.0 * SHORTEST) - 2.0 * relative * size, 0.0)
    radius = np.where((length > 2.0 * SHORTEST) & (length < 1e150), radius, 0.0)  # else a square may overflow
    nothing = np.full(len(rows), np.inf)
    return Bounds(radius / rate * (1.0 - 1e-15) if rate > 0 else nothing, nothing, np.full(rows.shape, np.nan))
