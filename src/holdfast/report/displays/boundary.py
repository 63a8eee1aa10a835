"""Two features: points, decision boundary, certified balls, closest adversarial examples."""

import numpy as np

from holdfast.certificates.certificate import Certificate
from holdfast.certificates.certify import certify
from holdfast.certificates.norms import as_norm
from holdfast.numerics.frames import with_names
from holdfast.report.displays.axes import axes_for


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
        room = 0.1 * np.where(high > low, high - low, 1.0)
        axes = [np.linspace(a, b, grid_resolution) for a, b in zip(low - room, high + room, strict=True)]
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
