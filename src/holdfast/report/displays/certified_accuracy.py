"""Certified and attacked accuracy against the radius."""

import numpy as np

from holdfast.certificates.accuracy_band import AccuracyBand
from holdfast.certificates.certificate import Certificate
from holdfast.certificates.certify import certify
from holdfast.report.displays.axes import axes_for, name_of


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
