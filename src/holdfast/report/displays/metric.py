"""A learned metric as a heat map."""

import numpy as np

from holdfast.certificates.voting import neighbor_voter_for
from holdfast.learn.spaces import check_metric
from holdfast.report.displays.axes import axes_for
from holdfast.report.model_metrics import input_metric

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
            names = [each.replace("$", r"\$") for each in self.feature_names]  # a name is no formula
            ax.set_xticks(range(len(self.M)), names, rotation=90)
            ax.set_yticks(range(len(self.M)), names)
        if colorbar:
            ax.figure.colorbar(image, ax=ax)
        return self
