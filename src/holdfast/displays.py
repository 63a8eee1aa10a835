"""Plots for notebooks, in the style of scikit-learn's displays; matplotlib is imported when one is drawn."""

import numpy as np

from holdfast.base.inputs import with_names
from holdfast.base.neighbors import nearest_by_class
from holdfast.certificates.api import certify
from holdfast.certificates.certificate import AccuracyBand, Certificate, axes_or_new
from holdfast.certificates.norms import as_norm
from holdfast.certificates.readers import neighbor_voter_for
from holdfast.certificates.vote import NeighborVoter
from holdfast.learn import adversarial_margin
from holdfast.learn.spaces import check_metric


def axes_for(display: object, ax=None):
    """The axes to draw on, new ones if none are given; stored on the display as ``ax_`` and ``figure_``."""
    ax = axes_or_new(ax, type(display).__name__)
    display.ax_, display.figure_ = ax, ax.figure  # type: ignore[attr-defined]
    return ax


def name_of(estimator, name: str | None) -> str:
    """The given name, or the class of the learner in the last step."""
    if name is not None:
        return name
    steps = getattr(estimator, "steps", None)
    last = steps[-1][1] if steps else estimator
    learner = getattr(last, "learner_", None)
    return type(last if learner is None else learner).__name__


def input_metric(voter: NeighborVoter, scale: np.ndarray) -> np.ndarray:
    """``M`` over the features in units of ``scale``, the steps before the metric folded in; with a ``Normalizer`` among
    them the metric after it, in the directions before it. Columns of words are 0.
    """
    L = voter.chain.linear_part
    assert L is not None
    L = L[:, : len(scale)] * scale
    return L.T @ L


def input_margins(
    voter: NeighborVoter, X: np.ndarray, y: np.ndarray, scale: np.ndarray, frozen: np.ndarray, n_jobs: int | None = None
) -> np.ndarray | None:
    """Signed adversarial margin (Eq. 3) of each row for its nearest target and impostor among the voters, in units of
    ``scale``, over moves of the features that are not frozen; None where a ``Normalizer`` or a monotone map is among
    the steps, or nothing can move. Rows whose label has no voter, or all of them, are left out.
    """
    map_ = voter.chain.affine_map
    if map_ is None or frozen.all():
        return None
    codes = np.searchsorted(voter.classes, y)
    known = np.isin(y, voter.classes)
    if not known.any():
        return None
    U, codes = map_(X[known]), codes[known]
    same, other = (found[:, 0] for found in nearest_by_class(voter.points, voter.codes, 1, 1, n_jobs, (U, codes)))
    both = (same >= 0) & (other >= 0)
    if not both.any():
        return None
    # In the voters' space the metric is Euclidean; a move δ of the input is the move D δ there.
    D = (map_.W * scale)[:, ~frozen]
    I = np.eye(U.shape[1])
    return adversarial_margin(I, U[both], voter.points[same[both]], voter.points[other[both]], reduction=D)


class CertifiedAccuracyDisplay:
    """Share of rows that are right and stay so, as the radius grows: certified at least, attacked at most.

    Make one with :meth:`from_estimator` or :meth:`from_certificate`.

    Parameters
    ----------
    radii, certified, attacked : ndarrays of shape (n_radii,)
        The lower and the upper end of the band at each radius.
    name : str or None
        For the legend.
    units : str
        How the radius is measured, for the axis.

    Attributes
    ----------
    ax_, figure_
        Axes and figure it was drawn on.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import CertifiedKNeighborsClassifier
    >>> from holdfast.report import CertifiedAccuracyDisplay
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = CertifiedKNeighborsClassifier(n_neighbors=1).fit(X[::2], y[::2])
    >>> display = CertifiedAccuracyDisplay.from_certificate(clf.certify(X[1::2], y[1::2]), radii=[0.0, 0.1])
    >>> bool((display.certified <= display.attacked).all())
    True
    """

    def __init__(self, radii, certified, attacked, name: str | None = None, units: str = "radius"):
        self.radii = np.asarray(radii)
        self.certified = np.asarray(certified)
        self.attacked = np.asarray(attacked)
        self.name = name
        self.units = units

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, norm=2, reference=None, radii=None, n_jobs: int | None = None, name=None, ax=None
    ) -> "CertifiedAccuracyDisplay":
        """Certify the rows of X and draw; ``norm`` and ``reference`` as for :func:`holdfast.certify`."""
        certificate = certify(estimator, X, y, norm=norm, reference=reference, n_jobs=n_jobs)
        display = cls.from_certificate(certificate, radii=radii, name=name_of(estimator, name))
        return display.plot(ax=ax)

    @classmethod
    def from_certificate(
        cls, certificate: Certificate, y=None, *, radii=None, name: str | None = None
    ) -> "CertifiedAccuracyDisplay":
        """Make the display of a certificate; it is not drawn yet."""
        band = certificate.accuracy_band(y, radii)
        return cls(band.radii, band.certified, band.attacked, name, certificate.radius_label)

    def plot(self, ax=None, *, name: str | None = None) -> "CertifiedAccuracyDisplay":
        """Draw the band and both its ends; several displays may share axes."""
        ax = axes_for(self, ax)
        band = AccuracyBand(self.radii, self.certified, self.attacked)
        band.draw(ax, self.units, self.name if name is None else name)
        return self


class MarginDisplay:
    """Histogram of how far each row is from the point where its nearest impostor is as near as its target.

    Make one with :meth:`from_estimator`. A margin is a property of one triplet (Eq. 3 of the paper), not yet
    a certificate of a prediction.

    Parameters
    ----------
    margins : ndarray of shape (n_rows,)
        Negative where the impostor is nearer already.
    name : str or None
        For the legend.
    units : str
        For the axis.

    Attributes
    ----------
    ax_, figure_
        Axes and figure it was drawn on.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast.report import MarginDisplay
    >>> float(np.median(MarginDisplay([0.1, 0.4, 0.3]).margins))
    0.3
    """

    def __init__(self, margins, name: str | None = None, units: str = "the units of X"):
        self.margins = np.asarray(margins, dtype=np.float64)
        self.name = name
        self.units = units

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, scale=None, frozen=None, reference=None, n_jobs: int | None = None, name=None,
        bins=30, ax=None,
    ) -> "MarginDisplay":  # fmt: skip
        """Compute the margins of the rows of X, and draw.

        Parameters
        ----------
        estimator, X, y, reference, n_jobs
            As for :func:`holdfast.certify`.
        scale : array-like of shape (n_features,), optional
            The move of length 1 in each feature, such as its standard deviation.
        frozen : array-like of bool, optional
            Features that do not move.
        name, bins, ax
            As for :meth:`plot`.
        """
        X = np.asarray(X, dtype=np.float64)
        voter = neighbor_voter_for(estimator, reference)
        units = "the units of X" if scale is None else "multiples of scale"
        scale = np.ones(X.shape[1]) if scale is None else np.asarray(scale, dtype=np.float64)
        frozen = np.zeros(X.shape[1], bool) if frozen is None else np.asarray(frozen, dtype=bool)
        margins = input_margins(voter, X, np.asarray(y), scale, frozen, n_jobs)
        if margins is None:
            raise ValueError(
                "These margins are not defined: the pipeline has a Normalizer or a monotone step, no feature can move, "
                "or no row has both a target and an impostor."
            )
        return cls(margins, name_of(estimator, name), units).plot(ax=ax, bins=bins)

    def plot(self, ax=None, *, bins=30, name: str | None = None) -> "MarginDisplay":
        """Draw the histogram, and a line at the median; several displays may share axes."""
        ax = axes_for(self, ax)
        name = self.name if name is None else name
        _, _, patches = ax.hist(self.margins, bins=bins, alpha=0.6, label=name)
        colour = patches[0].get_facecolor()
        ax.axvline(np.median(self.margins), color=(*colour[:3], 1.0), linestyle="--", linewidth=1.2)
        ax.set(xlabel=f"adversarial margin in {self.units}", ylabel="rows")
        if name:
            ax.legend()
        return self


_MAX_NAMES = 40  # features; with more, the names would overlap


class MetricDisplay:
    """Heat map of the matrix ``M`` of a metric.

    Make one with :meth:`from_estimator`.

    Parameters
    ----------
    M : array-like of shape (n_features, n_features)
    feature_names : sequence of str, optional

    Attributes
    ----------
    ax_, figure_
        Axes and figure it was drawn on.

    Examples
    --------
    >>> from holdfast.report import MetricDisplay
    >>> MetricDisplay([[2.0, 0.0], [0.0, 1.0]], ["width", "height"]).spectrum.tolist()
    [2.0, 1.0]
    """

    def __init__(self, M, feature_names=None):
        self.M = check_metric(M)
        self.feature_names = None if feature_names is None else [str(each) for each in feature_names]
        if self.feature_names is not None and len(self.feature_names) != len(self.M):
            raise ValueError(f"There are {len(self.feature_names)} feature_names for {len(self.M)} features.")

    @property
    def spectrum(self) -> np.ndarray:
        """Eigenvalues of M, largest first."""
        return np.maximum(np.linalg.eigvalsh(self.M)[::-1], 0.0)

    @classmethod
    def from_estimator(cls, estimator, *, scale=None, feature_names=None, reference=None, ax=None) -> "MetricDisplay":
        """Draw the metric of a learner, or of a classifier or pipeline that can be certified.

        The steps of a pipeline before the metric are folded in, so that M is over the features of its input.

        Parameters
        ----------
        estimator : fitted learner, classifier or pipeline
        scale : array-like of shape (n_features,), optional
            M is shown for features in these units, such as standard deviations; by default in those of X.
        feature_names : sequence of str, optional
            By default those of the data it was fitted on.
        reference : tuple (X_train, y_train), optional
            For scikit-learn's ``KNeighborsClassifier``.
        ax : matplotlib axes, optional
        """
        if feature_names is None:
            feature_names = getattr(estimator, "feature_names_in_", None)
        if hasattr(estimator, "get_mahalanobis_matrix"):
            M = np.asarray(estimator.get_mahalanobis_matrix(), dtype=np.float64)
            if scale is not None:
                M = M * np.outer(scale, scale)
        else:
            voter = neighbor_voter_for(estimator, reference)
            M = input_metric(voter, np.ones(voter.n_features) if scale is None else np.asarray(scale, dtype=np.float64))
        return cls(M, feature_names).plot(ax=ax)

    def plot(self, ax=None, *, cmap: str = "RdBu", colorbar: bool = True) -> "MetricDisplay":
        """Draw the heat map; white is 0."""
        ax = axes_for(self, ax)
        largest = float(np.abs(self.M).max()) or 1.0
        image = ax.imshow(self.M, cmap=cmap, vmin=-largest, vmax=largest)
        if self.feature_names is not None and len(self.M) <= _MAX_NAMES:
            names = [each.replace("$", r"\$") for each in self.feature_names]  # a name is not a formula
            ax.set_xticks(range(len(self.M)), names, rotation=90)
            ax.set_yticks(range(len(self.M)), names)
        if colorbar:
            ax.figure.colorbar(image, ax=ax)
        return self


class BoundaryDisplay:
    """Decision regions of a model of two features, and how far each row may move.

    Make one with :meth:`from_estimator`. A certificate says that no ball crosses the boundary.

    Parameters
    ----------
    X : ndarray of shape (n_rows, 2)
    y : ndarray of shape (n_rows,)
        Labels, for the colour of the points.
    certificate : Certificate
        Of the rows.
    grid : tuple of ndarrays (x0, x1, answers)
        Predictions on a grid, as ``meshgrid`` gives it; codes into ``classes``.
    classes : ndarray
    ball : ndarray of shape (n_corners, 2)
        Outline of the ball of radius 1.

    Attributes
    ----------
    ax_, figure_
        Axes and figure it was drawn on.
    """

    def __init__(self, X, y, certificate: Certificate, grid, classes, ball):
        self.X = np.asarray(X, dtype=np.float64)
        self.y = np.asarray(y)
        self.certificate = certificate
        self.grid = grid
        self.classes = np.asarray(classes)
        self.ball = np.asarray(ball)

    @classmethod
    def from_estimator(
        cls, estimator, X, y, *, norm=2, reference=None, grid_resolution: int = 200, n_jobs: int | None = None, ax=None
    ) -> "BoundaryDisplay":
        """Certify the rows of X, predict on a grid around them, and draw."""
        X = np.asarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != 2:
            raise ValueError(f"A boundary is drawn in two features; X has shape {X.shape}.")
        certificate = certify(estimator, X, y, norm=norm, reference=reference, n_jobs=n_jobs)
        low, high = X.min(axis=0), X.max(axis=0)
        margin = 0.1 * np.where(high > low, high - low, 1.0)
        axes = [np.linspace(a, b, grid_resolution) for a, b in zip(low - margin, high + margin, strict=True)]
        x0, x1 = np.meshgrid(*axes)
        classes = np.asarray(estimator.classes_)
        answers = estimator.predict(with_names(np.column_stack([x0.ravel(), x1.ravel()]), estimator))
        codes = np.searchsorted(classes, answers).reshape(x0.shape)
        turn = np.linspace(0, 2 * np.pi, 128, endpoint=False)
        directions = np.column_stack([np.cos(turn), np.sin(turn)])
        ball = directions / as_norm(norm, 2).lengths(directions)[:, None]
        return cls(X, y, certificate, (x0, x1, codes), classes, ball).plot(ax=ax)

    def plot(self, ax=None, *, balls: bool = True, adversarial: bool = True) -> "BoundaryDisplay":
        """Draw regions and points, and, on request, balls and the moves to the closest adversarial examples found."""
        ax = axes_for(self, ax)
        from matplotlib import colormaps
        from matplotlib.collections import PolyCollection

        x0, x1, codes = self.grid
        colours = colormaps["tab10"](np.arange(len(self.classes)) % 10)
        levels = np.arange(len(self.classes) + 1) - 0.5
        ax.contourf(x0, x1, codes, levels=levels, colors=colours, alpha=0.15)
        if np.unique(codes).size > 1:
            ax.contour(x0, x1, codes, levels=levels[1:-1], colors="black", linewidths=0.7)
        label = np.searchsorted(self.classes, self.y)
        label = np.minimum(label, len(self.classes) - 1)
        radius = self.certificate.radius
        if balls:
            shown = np.isfinite(radius)
            outlines = self.X[shown, None] + radius[shown, None, None] * self.ball
            faces = colours[label[shown]].copy()
            faces[:, 3] = 0.12
            ax.add_collection(
                PolyCollection(list(outlines), facecolors=faces, edgecolors=colours[label[shown]], lw=0.6)
            )
        if adversarial:
            has_witness = np.isfinite(self.certificate.adversarial).all(axis=1)
            ends = self.certificate.adversarial[has_witness]
            for start, end in zip(self.X[has_witness], ends, strict=True):
                ax.plot(*zip(start, end, strict=True), color="0.35", linewidth=0.7)
            ax.scatter(*ends.T, marker="x", s=18, linewidths=1, color="0.2", label="adversarial", zorder=3)
        for code, name in enumerate(self.classes):
            own = (label == code) & np.isin(self.y, self.classes)
            ax.scatter(*self.X[own].T, color=colours[code], edgecolors="white", s=28, label=str(name), zorder=4)
        ax.set(xlim=(x0.min(), x0.max()), ylim=(x1.min(), x1.max()))
        ax.legend()
        return self
