"""Learning vector quantisation that trains prototypes to be certified at a radius."""

import warnings
from numbers import Real

import numpy as np
from scipy.special import expit
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import validate_data

from holdfast.base.blocks import single_threaded_blas
from holdfast.base.collections import refuse_collection
from holdfast.base.inputs import check_count, check_number, check_share, plain_labels
from holdfast.learn.learner import MetricLearner, check_solver
from holdfast.learn.margins import PrototypeMargins
from holdfast.learn.spaces import Points
from holdfast.learn.supervision import class_proxies

# Radius and temperature, in units of the mean length of the rows: outside of these limits the squares of gradients
# underflow, or the arguments of the sigmoid overflow.
_MIN_LENGTH, _MAX_LENGTH = 1e-100, 1e100
# Of the median margin. On 20 data sets a half or all of it was less accurate than three Euclidean neighbours on a third
# and on half of them (benchmarks/frontier).
_DEFAULT_SHARE = 0.25


class MarginLVQ(MetricLearner):
    """``1/n Σ_i w σ((r − m_i)/T) + (1 − w) σ(−m_i/T)``, over the prototypes; the distance stays Euclidean.

    ``m_i`` is the adversarial margin of row i: no shorter move changes the class of its nearest prototype; see
    ``holdfast.learn.margins``. If σ were a step function, the objective would be w times the share of rows
    that are not certified at the radius r, plus 1 − w times the share of rows that are misclassified. The sigmoid
    ``σ(z) = 1/(1 + e^−z)`` smooths the step. It is bounded, unlike a hinge or the logistic loss, so that a few rows far
    on the wrong side do not dominate. There are few prototypes per class, so certificates are exact and fast.

    The objective is not convex; the prototypes start at the centres of k-means within each class.

    Parameters
    ----------
    n_proxies : int, default=8
        Prototypes per class. A class with fewer distinct rows has fewer. With one per class this is a linear
        classifier.
    radius : float or None, default=None
        r, in the units of the rows: predictions should not change under moves up to this size. None is a quarter of
        the median of ``|m_i|`` for the prototypes before learning, small enough to cost no accuracy (a quarter of the
        mean distance of the rows from their mean, if that median is 0 because prototypes of two classes coincide).
    temperature : float, default=0.5
        ``T = temperature · r``, the width of the sigmoid: only rows whose margin is within a few T of 0 or of r move
        the prototypes.
    certified_weight : float, default=0.7
        w, from 0 (accuracy alone) to 1 (certified accuracy alone).
    norm : {2, inf, 1}, default=2
        The norm in which moves are measured.
    solver : solver or None, default=None
        None is :class:`~holdfast.learn.solvers.LBFGS`.
    random_state : int, RandomState or None, default=None
        Seeds k-means.
    verbose : int, default=0
        1 prints how the fit ended.

    Attributes
    ----------
    prototypes_ : ndarray of shape (n_prototypes, n_features)
    prototype_labels_ : ndarray of shape (n_prototypes,)
        Their classes, as labels.
    radius_ : float
        The r that was used.
    classes_ : ndarray of shape (n_classes,)
    components_ : ndarray of shape (n_features, n_features)
        The identity.
    objective_ : ndarray
        The objective at the start and after every iteration.
    n_iter_, n_evaluations_, n_features_in_, feature_names_in_
        As for :class:`~holdfast.LMNN`.

    References
    ----------
    Saralajew, Holdijk and Villmann, "Fast adversarial robustness certification of nearest prototype classifiers for
    arbitrary seminorms", NeurIPS 2020, for the margin as a loss of prototypes. Sato and Yamada, "Generalized learning
    vector quantization", NIPS 1995, for the sigmoid that smooths the count of errors.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import CertifiedPrototypeClassifier, MarginLVQ
    >>> X, y = load_iris(return_X_y=True)
    >>> clf = CertifiedPrototypeClassifier(MarginLVQ(n_proxies=1, radius=0.3, random_state=0)).fit(X, y)
    >>> bool(clf.certify(X, y).certified_accuracy(radii=0.3) > 0.8)
    True
    """

    _needs_labels = True

    def __init__(
        self,
        n_proxies: int = 8,
        radius: float | None = None,
        temperature: float = 0.5,
        certified_weight: float = 0.7,
        norm: float = 2,
        solver=None,
        random_state=None,
        verbose: int = 0,
    ):
        self.n_proxies = n_proxies
        self.radius = radius
        self.temperature = temperature
        self.certified_weight = certified_weight
        self.norm = norm
        self.solver = solver
        self.random_state = random_state
        self.verbose = verbose

    def fit(self, X, y=None):
        """Learn the prototypes from labels.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)

        Returns
        -------
        self
        """
        self._check()
        solver = check_solver(self.solver)
        refuse_collection("MarginLVQ", X)
        X, y = validate_data(self, X, plain_labels(y), dtype=np.float64, order="C")
        check_classification_targets(y)
        self.classes_, codes = np.unique(y, return_inverse=True)
        if self.classes_.size < 2:
            raise ValueError(f"The target has only one class ({self.classes_[0]!r}): there is nothing to separate.")
        with single_threaded_blas():
            # Centred and of length about 1, so that squares neither cancel nor leave the range of floating point.
            X, centre, scale = _standardised(X)
            start, labels = class_proxies(X, codes, self.n_proxies, self.random_state)
            margins = PrototypeMargins(X, codes, labels, self.norm)
            if self.radius is None:
                radius = _DEFAULT_SHARE * (float(np.median(np.abs(margins.measure(start)))) or 1.0)
            else:
                radius = self.radius / scale
            _check_range(radius, self.temperature, scale)
            loss = _SmoothedErrors(margins, radius, self.temperature, self.certified_weight)
            solution = solver.minimize(loss, Points(), start)
            if X.any() and not margins.measure(solution.x).any():
                warnings.warn(
                    "MarginLVQ: the prototypes of different classes coincide, so nothing was learned. Raise n_proxies.",
                    ConvergenceWarning,
                    stacklevel=2,
                )
        if self.verbose:
            print(f"[MarginLVQ] {solution.message}")
        self.radius_ = radius * scale
        self.prototypes_ = _in_original_units(solution.x, centre, scale)
        self.prototype_labels_ = self.classes_[labels]
        self.components_ = np.eye(X.shape[1])
        self.objective_, self.n_iter_ = np.array(solution.trace), solution.n_iter
        self.n_evaluations_ = solution.n_evaluations
        return self

    def _check(self) -> None:
        check_count("MarginLVQ", "n_proxies", self.n_proxies)
        check_number("MarginLVQ", "temperature", self.temperature, above=0)
        check_share("MarginLVQ", "certified_weight", self.certified_weight)
        if self.radius is not None:
            check_number("MarginLVQ", "radius", self.radius, above=0)
        known = isinstance(self.norm, Real) and not isinstance(self.norm, bool) and self.norm in (1, 2, np.inf)
        if not known:
            raise ValueError(f"MarginLVQ: norm must be 2, numpy.inf or 1; got {self.norm!r}.")


class _SmoothedErrors:
    """The objective of :class:`MarginLVQ` and its gradient, as a function of the prototypes."""

    def __init__(self, margins: PrototypeMargins, radius: float, temperature: float, weight: float):
        self._margins, self._radius, self._T, self._w = margins, radius, temperature * radius, weight

    def __call__(self, A: np.ndarray) -> tuple[float, np.ndarray]:
        """Value and gradient at the prototypes A."""
        m = self._margins.measure(A)
        uncertified, wrong = expit((self._radius - m) / self._T), expit(-m / self._T)  # smoothed 0/1, row by row
        value = np.mean(self._w * uncertified + (1.0 - self._w) * wrong)
        slopes = self._w * uncertified * (1.0 - uncertified) + (1.0 - self._w) * wrong * (1.0 - wrong)
        return float(value), self._margins.pull_back(-slopes / (self._T * len(m)))


def _check_range(radius: float, temperature: float, scale: float) -> None:
    """Raise ``ValueError`` if r or T, in units of the scale of the rows, is too large or too small to compute with."""
    lengths = radius, temperature * radius
    if not (min(lengths) > _MIN_LENGTH and max(lengths) < _MAX_LENGTH):
        raise ValueError(
            f"MarginLVQ: the radius {radius * scale:.3g} with temperature {temperature:g} is too far from the scale of "
            f"the rows, {scale:.3g}, for floating point; choose a radius in the units of the rows, and a temperature "
            "of about 1."
        )


def _standardised(X: np.ndarray) -> tuple[np.ndarray, np.ndarray, float]:
    """``(X − centre)/scale`` with rows of mean length 1, the centre, and the scale."""
    largest = float(np.abs(X).max()) or 1.0
    centre = (X / largest).mean(axis=0)
    Z = X / largest - centre
    length = float(np.linalg.norm(Z, axis=1).mean())
    if not length > 1e-12:  # the division and the mean round to about 1e-16 per feature
        warnings.warn(
            "MarginLVQ: all rows are the same, so there is nothing to learn.", ConvergenceWarning, stacklevel=3
        )
        length = 1.0
    with np.errstate(over="ignore"):
        return Z / length, centre * largest, length * largest


def _in_original_units(A: np.ndarray, centre: np.ndarray, scale: float) -> np.ndarray:
    """``centre + scale · A``, the inverse of :func:`_standardised`; ``ValueError`` if it overflows."""
    with np.errstate(over="ignore", invalid="ignore"):
        prototypes = centre + scale * A
    if not np.isfinite(prototypes).all():
        raise ValueError(
            "MarginLVQ: the rows are too long for floating point; bring the features to an ordinary scale, for example "
            "with StandardScaler."
        )
    return prototypes
