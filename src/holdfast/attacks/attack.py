"""The opposite of a certificate: a move that does change the answer, as short as can be found."""

from dataclasses import dataclass
from inspect import signature

import numpy as np

from holdfast.certificates.certify import certify
from holdfast.numerics.frames import with_names

_OPTIONS = [name for name in signature(certify).parameters if name not in ("model", "X", "y")]


@dataclass(frozen=True)
class Attack:
    """Moves that change the model's own prediction, as checked by ``predict``.

    Attributes
    ----------
    adversarial : ndarray or data frame of shape (n_rows, n_features)
        The moved rows, a data frame for a model that takes words or gaps; NaN where no change was found.
    size : ndarray of shape (n_rows,)
        How far each moved; infinite where no change was found.
    prediction, changed_to : ndarrays of shape (n_rows,)
        Predictions for the row and for the moved row; both for the row where no change was found.
    norm : str
        How moves are measured.
    """

    adversarial: np.ndarray
    size: np.ndarray
    prediction: np.ndarray
    changed_to: np.ndarray
    norm: str

    @property
    def success(self) -> np.ndarray:
        """A mask of the rows for which a change was found."""
        return np.isfinite(self.size)

    def accuracy(self, y, sizes) -> np.ndarray:
        """Share of rows that are right, and for which no change within each size was found."""
        sizes = np.asarray(sizes, dtype=np.float64)
        right = self.prediction == np.asarray(y)
        return (right[:, None] & (self.size[:, None] > sizes.ravel())).mean(axis=0).reshape(sizes.shape)


def attack(model, X, y=None, **options) -> Attack:
    """The shortest move found that changes ``model.predict``, row by row.

    Takes the witnesses of the exact searches and walks along segments to points of other classes; every move
    reported was re-checked by the model's own ``predict``.

    Parameters
    ----------
    model, X, y : as for :func:`holdfast.certify`
        y is not used: the prediction is attacked, right or wrong.
    **options
        Those of :func:`holdfast.certify`: threat, at, norm, reference, lower, upper, frozen, method, budget, n_jobs,
        verbose. Moved rows keep every limit of the threat. ``method="lower"`` leaves the exact searches out; ``at``
        seeks only moves up to that size.

    Returns
    -------
    Attack

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import CertifiedKNeighborsClassifier, attack
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = CertifiedKNeighborsClassifier(n_neighbors=1).fit(X[::2], y[::2])
    >>> found = attack(clf, X[1::2])
    >>> bool((clf.predict(found.adversarial) != found.prediction).all())
    True
    """
    unknown = [name for name in options if name not in _OPTIONS]
    if unknown:
        raise TypeError(
            f"attack has no option {', '.join(map(repr, unknown))}; its options are those of certify: "
            f"{', '.join(_OPTIONS)}."
        )
    certificate = certify(model, X, y, **options)
    adversarial, prediction = certificate.adversarial, certificate.prediction
    success = np.isfinite(certificate.upper)
    changed_to = prediction.copy()
    if success.any():
        changed_to[success] = model.predict(with_names(adversarial[success], model))
    return Attack(adversarial, certificate.upper, prediction, changed_to, certificate.norm)
