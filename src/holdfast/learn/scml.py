"""Sparse compositional metric learning"""

import numpy as np
from sklearn.utils import check_random_state

from holdfast.learn.supervision import Triplets, centres

# Sizes of a region, in points of the class and in points of other classes. Every region is used on both scales, which
# are those of metric-learn's SCML.
_SCALES = (10, 20)
_RIDGE = 1e-2  # times the mean variance in a region, added to its within-class scatter


def local_bases(X: np.ndarray, y: np.ndarray, n_basis: int, random_state=None) -> np.ndarray:
    """Fisher discriminants of local regions: ``b ∝ (S_w + ridge · I)⁻¹ (m_same − m_other)``, unit norm.

    The centres of the regions come from k-means within each class; a class has centres in proportion to its
    number of points. Around each centre, on two scales, the 10 (20) nearest points of the class and the 10 (20)
    nearest points of other classes are discriminated: m are their two means, S_w is their scatter about them.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    y : ndarray of shape (n_samples,)
    n_basis : int
        Maximum number of bases; fewer where a class has fewer points than centres.
    random_state : int, RandomState or None
        Seeds k-means.

    Returns
    -------
    ndarray of shape (n_basis or fewer, n_features)

    References
    ----------
    Shi, Bellet and Sha, "Sparse compositional metric learning", AAAI 2014, section 3.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.learn import local_bases
    >>> X, y = np.array([[0.0, 1.0], [0.0, 2.0], [9.0, 1.0], [9.0, 2.0]]), np.array([0, 0, 1, 1])
    >>> np.abs(local_bases(X, y, n_basis=2, random_state=0)).round(6).tolist()
    [[1.0, 0.0], [1.0, 0.0]]
    """
    rng = check_random_state(random_state)
    classes, sizes = np.unique(y, return_counts=True)
    regions = -(-n_basis // len(_SCALES))
    shares = np.minimum(np.maximum(1, np.round(regions * sizes / sizes.sum()).astype(int)), sizes)
    found = []
    for c, share in zip(classes, shares, strict=True):
        same, other = X[y == c], X[y != c]
        for centre in centres(same, share, rng):
            near = _nearest(same, centre), _nearest(other, centre)
            found += [_fisher(same[near[0][:size]], other[near[1][:size]]) for size in _SCALES]
    return _sample_nonzero(found, n_basis, rng)


def triplet_bases(X: np.ndarray, triplets: Triplets, n_basis: int, random_state=None) -> np.ndarray:
    """Fisher discriminants of local regions, as :func:`local_bases`, from triplets instead of labels.

    The centres come from k-means among the anchors i. A region holds the 5 (10) anchors nearest to its centre:
    they and their targets j are discriminated from their impostors l.

    Parameters
    ----------
    X : ndarray of shape (n_samples, n_features)
    triplets : Triplets
    n_basis, random_state
        As for :func:`local_bases`.

    Returns
    -------
    ndarray of shape (at most n_basis, n_features)
    """
    rng = check_random_state(random_state)
    by_anchor = np.argsort(triplets.i, kind="stable")
    anchors, starts = np.unique(triplets.i[by_anchor], return_index=True)
    groups = np.split(by_anchor, starts[1:])  # positions in R, by anchor
    points = X[anchors]
    regions = min(-(-n_basis // len(_SCALES)), anchors.size)
    found = []
    for centre in centres(points, regions, rng):
        near = _nearest(points, centre)
        for size in _SCALES:
            inside = np.concatenate([groups[g] for g in near[: size // 2]])
            same = np.union1d(triplets.i[inside], triplets.j[inside])
            found.append(_fisher(X[same], X[np.unique(triplets.l[inside])]))
    return _sample_nonzero(found, n_basis, rng)


def check_bases(basis, n_features: int) -> np.ndarray:
    """The user's bases scaled to unit norm; ``ValueError`` if their shape is wrong or a row is zero or not finite."""
    rows = np.asarray(basis, dtype=np.float64)
    if rows.ndim != 2 or rows.shape[0] < 1 or rows.shape[1] != n_features:
        raise ValueError(f"basis must have shape (n_basis, {n_features}), one row per basis vector; got {rows.shape}.")
    norm = np.linalg.norm(rows, axis=1, keepdims=True)
    if not (np.isfinite(rows).all() and norm.min() > 0):
        raise ValueError("basis must consist of finite rows, none of them zero.")
    return rows / norm


def _nearest(points: np.ndarray, centre: np.ndarray) -> np.ndarray:
    """Indices of the points nearest to a centre, nearest first, as many as the largest scale has."""
    difference = points - centre
    d = np.einsum("np,np->n", difference, difference)
    few = min(max(_SCALES), d.size)
    chosen = np.argpartition(d, few - 1)[:few]
    return chosen[np.argsort(d[chosen], kind="stable")]


def _fisher(same: np.ndarray, other: np.ndarray) -> np.ndarray:
    """``(ZᵀZ/m + ridge · I)⁻¹ (m_same − m_other)``, unit norm, by an m × m system: m points, any p."""
    means = same.mean(axis=0), other.mean(axis=0)
    Z = np.vstack([same - means[0], other - means[1]])
    m, p = Z.shape
    gap = means[0] - means[1]
    # Without scatter (single points) only the ridge is left, and the direction is the gap itself.
    ridge = m * _RIDGE * (np.vdot(Z, Z) / (m * p) or 1.0)
    if p <= m:
        b = np.linalg.solve(Z.T @ Z + ridge * np.eye(p), gap)
    else:
        b = gap - Z.T @ np.linalg.solve(Z @ Z.T + ridge * np.eye(m), Z @ gap)
    norm = np.linalg.norm(b)
    return b / norm if norm > 0 else np.zeros(p)


def _sample_nonzero(found: list[np.ndarray], n_basis: int, rng) -> np.ndarray:
    """At most n_basis of the directions found, drawn at random, without zeros; the first axis if all are zero."""
    rows = np.array([b for b in found if b.any()])
    if not rows.size:
        return np.eye(1, found[0].size)
    if rows.shape[0] > n_basis:
        rows = rows[np.sort(rng.choice(rows.shape[0], n_basis, replace=False))]
    return rows
