"""Neighbourhood components with proxies, with or without the perturbation loss."""

import warnings
from functools import partial

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import validate_data

from holdfast.backends import ProxySums, backend_for
from holdfast.learn import Points, ProxySoftmax, class_proxies
from holdfast.learn.solvers import Solver
from holdfast.learn.spaces import check_metric, components_of
from holdfast.learners.alternating_run import AlternatingRun
from holdfast.learners.base import MetricLearner
from holdfast.learners.default_loss import default_proxy_loss
from holdfast.learners.failures import explained_failures
from holdfast.learners.minimise import metric_space, minimise
from holdfast.learners.proxy_loss import ProxyLoss
from holdfast.learners.ranges import TAU, Ranges, powers_of_ten
from holdfast.learners.settings import check_perturbation, check_solver, slope_matrix_for
from holdfast.numerics.threads import single_threaded_blas
from holdfast.parameters import check_count

_TURN = 10  # steps of the proxies, then of the metric, before the other's turn
_MIN_MEAN_SQUARE = 1e-300  # of a mean squared length, which is divided by
_SAMPLE_SIZE = 20_000  # rows of a Dask collection that k-means is run on; they fit the memory of this process


class ProxyNCA(MetricLearner):
    """``1/n Σ_i −log p(class of i) + weight · perturbation``, over M and proxies, in turn.

    ``p`` is a softmax over all proxies of ``−d²_M(x_i, a_k)/T``: ProxyNCA++, see
    :class:`~holdfast.learn.ProxySoftmax`. In the paper rows and proxies have unit length (``normalize=True``). With a
    :class:`~holdfast.Perturbation` this is the paper's PNCA-PL: a row, its nearest proxy of its own class and its
    nearest of another make a triplet, and one on the wrong side is charged ``τ² + r²``. The nearest proxy predicts the
    class.

    M and proxies take turns of 10 steps, the proxies for 200 steps at most; then M alone is learned to the
    end. Gradients are those of the stated loss; those printed in the paper have misprints.

    Parameters
    ----------
    n_proxies : int, default=10
        Proxies per class; they start at the centres of k-means. A class with fewer distinct rows has fewer.
    temperature : float, default=0.2
        T, in units of the mean squared length of the rows.
    perturbation : Perturbation, "auto" or None, default="auto"
        The loss that enlarges the adversarial margin. "auto" is a small one whose scale is taken from the data (see
        :func:`~holdfast.learners.default_loss.default_proxy_loss`): few rows do not determine a metric and many
        proxies without it. None is ProxyNCA++ as it was published.
    normalize : bool, default=False
        Whether rows and proxies are scaled to a common length, as in the paper. It is the mean length of the rows (1,
        if they have unit length already: then nothing happens to the rows). Only for rows of unit length: learned on
        rows that were scaled, proxies vote badly on rows that were not. If not, both are taken as they are.
    n_proxy_steps : int, default=200
        The proxies stay where they are after so many steps.
    solver : solver or None, default=None
        None is :class:`~holdfast.learn.solvers.LBFGS`.
    init : array-like of shape (n_features, n_features) or None, default=None
        The metric to start from; None is the identity.
    random_state : int, RandomState or None, default=None
        Seeds the k-means behind the proxies.
    n_jobs, callback, verbose
        As for :class:`~holdfast.LMNN`.

    Attributes
    ----------
    prototypes_ : ndarray of shape (n_prototypes, n_features)
        The proxies, in the space and at the length of the rows.
    prototype_labels_ : ndarray of shape (n_prototypes,)
        Their classes, as labels.
    classes_ : ndarray of shape (n_classes,)
    perturbation_ : Perturbation or None
        The perturbation loss that was used.
    components_, objective_, n_iter_, n_evaluations_, n_features_in_, feature_names_in_
        As for :class:`~holdfast.LMNN`; steps of M and of the proxies count alike.

    References
    ----------
    Teh, DeVries and Taylor, "ProxyNCA++: revisiting and revitalizing proxy neighborhood component analysis",
    ECCV 2020. Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning",
    supplement B.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from holdfast import ProxyNCA
    >>> X, y = load_iris(return_X_y=True)
    >>> pnca = ProxyNCA(n_proxies=2, random_state=0).fit(X - X.mean(axis=0), y)
    >>> nearest = KNeighborsClassifier(1).fit(pnca.transform(pnca.prototypes_), pnca.prototype_labels_)
    >>> bool(nearest.score(pnca.transform(X - X.mean(axis=0)), y) > 0.8)
    True
    """

    def __init__(
        self,
        n_proxies: int = 10,
        temperature: float = 0.2,
        perturbation="auto",
        normalize: bool = False,
        n_proxy_steps: int = 200,
        solver=None,
        init=None,
        random_state=None,
        n_jobs: int | None = None,
        callback=None,
        verbose: int = 0,
    ):
        self.n_proxies = n_proxies
        self.temperature = temperature
        self.perturbation = perturbation
        self.normalize = normalize
        self.n_proxy_steps = n_proxy_steps
        self.solver = solver
        self.init = init
        self.random_state = random_state
        self.n_jobs = n_jobs
        self.callback = callback
        self.verbose = verbose

    def fit(self, X, y=None):
        """Learn the metric and the proxies from labels.

        Parameters
        ----------
        X : array-like or Dask collection of shape (n_samples, n_features)
            The rows of a collection stay where they are; k-means, behind the first proxies, uses a random
            sample of about 20,000 of them in which every class has its share.
        y : array-like or Dask collection of shape (n_samples,)

        Returns
        -------
        self
        """
        self._check()
        solver = check_solver(self.solver)
        rows = backend_for(X).labelled_rows(X, y, partial(validate_data, self), "ProxyNCA")
        n, p = rows.shape
        self.classes_ = rows.classes
        if self.classes_.size < 2:
            raise ValueError(f"The target has only one class ({self.classes_[0]!r}): there is nothing to separate.")
        lengths, squares, not_unit = rows.sum(_lengths)
        if not np.isfinite(lengths) or 0.0 < squares / n < _MIN_MEAN_SQUARE:
            raise ValueError(
                f"ProxyNCA: the rows are too {'short' if np.isfinite(lengths) else 'long'} for floating point, which "
                "squares their lengths; bring the features to an ordinary scale, for example with StandardScaler."
            )
        length = lengths / n or 1.0
        rescaled = bool(
            self.normalize and not_unit
        )  # learned at unit length, where a margin r of the inputs is r/length
        given, rows = rows, rows.map(_to_unit_length) if rescaled else rows
        X, codes = rows.sample(_SAMPLE_SIZE, self.random_state)
        _warn_if_all_equal(X, self.normalize)
        start, labels = class_proxies(X, codes, self.n_proxies, self.random_state)
        temperature = self.temperature * (1.0 if self.normalize else squares / n or 1.0)
        self.perturbation_ = self.perturbation
        if isinstance(self.perturbation, str):  # "auto"
            self.perturbation_ = default_proxy_loss(X, codes, start, labels, length if rescaled else 1.0)
        B = slope_matrix_for(self.perturbation_, given)
        if rescaled:
            B = (np.eye(p) if B is None else B) / length**2
        loss = ProxyLoss(ProxySoftmax(temperature), self.perturbation_, self.normalize, n)
        with single_threaded_blas(), explained_failures("ProxyNCA"), rows.proxies(labels, B, self.n_jobs) as geometry:
            M, A = self._alternate(solver, loss, geometry, start, p)
        self.prototypes_ = length * loss.scaled(A) if self.normalize else A
        self.prototype_labels_ = self.classes_[labels]
        self.components_ = components_of(M)
        return self

    def default_ranges(self) -> Ranges:
        """The paper's ranges."""
        own: Ranges = {"temperature": powers_of_ten(-2, 2), "n_proxies": [1, 2, 3, 5, 10]}
        if self.perturbation is None or isinstance(self.perturbation, str):
            return own
        return {**own, **TAU, "perturbation__weight": powers_of_ten(-2, 2)}

    def _alternate(self, solver: Solver, loss: ProxyLoss, geometry: ProxySums, A: np.ndarray, p: int):
        """Learn M and the proxies in turn, then M alone; set the attributes that describe the run."""
        space = metric_space(solver)
        x = space.start(np.eye(p) if self.init is None else check_metric(self.init, p, "init"))
        run = AlternatingRun(self.verbose, self.callback)

        def of_metric(M: np.ndarray) -> tuple[float, np.ndarray]:
            value, G, _ = loss(geometry, M, A)
            return value, G

        def of_proxies(A: np.ndarray) -> tuple[float, np.ndarray]:
            value, _, G = loss(geometry, space.metric(x), A)
            return value, G

        left = self.n_proxy_steps
        while left > 0 and not run.stopped:
            before = run.value
            of_A = solver.minimize(of_proxies, Points(), A, run.turn(min(_TURN, left)))
            A, left = of_A.x, left - max(1, of_A.n_iter)
            of_M = minimise(of_metric, space, solver, x, run.turn(_TURN))
            x = of_M.x
            run.add(of_A, of_M)
            if before - run.value <= solver.tol * abs(run.value):
                break
        if not run.stopped:
            last = minimise(of_metric, space, solver, x, run.turn(None))
            x = last.x
            run.add(last)
            if self.verbose:
                print(f"[ProxyNCA] {last.message}")
        self.objective_ = np.array(run.trace)
        self.n_iter_ = len(run.trace) - 1
        self.n_evaluations_ = run.n_evaluations
        return space.metric(x), A

    def _check(self) -> None:
        check_count("ProxyNCA", "n_proxies", self.n_proxies)
        check_count("ProxyNCA", "n_proxy_steps", self.n_proxy_steps, at_least=0)
        ProxySoftmax(self.temperature).check()
        check_perturbation(self.perturbation, takes_auto=True)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


def _lengths(X: np.ndarray) -> tuple[float, float, int]:
    """The sum of the lengths of some rows, that of the squared lengths, and how many do not have length 1."""
    norms = np.linalg.norm(X, axis=1)
    return float(norms.sum()), float(np.sum(norms**2)), int(np.sum(np.abs(norms - 1.0) > 1e-9))


def _warn_if_all_equal(X: np.ndarray, scaled: bool) -> None:
    """Warn if no two rows differ, or by so little that squares are 0: every metric classifies them alike."""
    if not np.any((X - X[0]) ** 2):
        warnings.warn(
            f"ProxyNCA: all rows are the same{', once they are scaled to a common length' if scaled else ''}, so there "
            "is nothing to learn.",
            ConvergenceWarning,
            stacklevel=3,
        )


def _to_unit_length(X: np.ndarray) -> np.ndarray:
    """Scale the rows to length 1; rows of zeros stay."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, norms, out=np.zeros_like(X), where=norms > 0)
