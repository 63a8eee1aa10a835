"""Neighbourhood components with proxies, with or without the perturbation loss."""

from collections.abc import Callable

import numpy as np
from sklearn.base import clone

from holdfast.constraints import class_proxies
from holdfast.geometry.proxy_geometry import ProxyGeometry, gradients, nearest_proxies
from holdfast.learners.base import MetricLearner
from holdfast.metric import check_metric, components_of
from holdfast.parameters import check_count
from holdfast.rows import source_of
from holdfast.solvers import LBFGS, Progress, Solution, Solver
from holdfast.spaces import Factors, Points, PSDMatrices, Space
from holdfast.terms import Perturbation, ProxySoftmax
from holdfast.threads import single_threaded_blas

_TURN = 10  # steps of the proxies, then of the metric, before the other's turn
_ROWS = 20_000  # of a collection, k-means sees a sample of so many
_ENOUGH = 1e-4  # an objective below it: every point surely has its class; M would grow without end


class ProxyNCA(MetricLearner):
    """``1/n Σ_i −log p(class of i) + weight · perturbation``, over M and proxies, in turn.

    ``p`` is a softmax over all proxies of ``−d²_M(x_i, a_k)/T``: ProxyNCA++, see
    :class:`~holdfast.terms.ProxySoftmax`. Rows and proxies are first scaled to a common length, as the paper
    has it for unit length. With a :class:`~holdfast.Perturbation` this is the paper's PNCA-PL: a row, its
    nearest proxy of its own class and its nearest of another make a triplet, and one on the wrong side is
    charged ``τ² + r²``. The nearest proxy predicts the class.

    M and proxies take turns of 10 steps, the proxies for 200 steps at most; then M alone is learned to the
    end. Gradients are those of the stated loss; those printed in the paper have misprints.

    Parameters
    ----------
    n_proxies : int, default=3
        Proxies per class; they start at the centres of k-means. A class with fewer distinct rows has fewer.
    temperature : float, default=0.1
        T, for rows of unit length.
    perturbation : Perturbation or None, default=None
        The loss that enlarges the adversarial margin.
    normalize : bool, default=True
        Whether rows and proxies are scaled to a common length, which is the mean length of the rows (1, if
        they have unit length already: then nothing happens to the rows). If not, both are taken as they
        are and T is in units of the mean squared length.
    n_proxy_steps : int, default=200
        The proxies stay where they are after so many steps.
    solver : solver or None, default=None
        None is :class:`~holdfast.solvers.LBFGS`.
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
        n_proxies: int = 3,
        temperature: float = 0.1,
        perturbation=None,
        normalize: bool = True,
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
            The rows of a collection stay where they are; k-means, behind the first proxies, sees a random
            sample of about 20,000 of them in which every class has its share.
        y : array-like or Dask collection of shape (n_samples,)

        Returns
        -------
        self
        """
        solver = self._checked_solver()
        rows = source_of(X).LabelledRows(self, X, y)
        n, p = rows.shape
        self.classes_ = rows.classes
        if self.classes_.size < 2:
            raise ValueError(f"The target has only one class ({self.classes_[0]!r}): there is nothing to tell apart.")
        B = None if self.perturbation is None else self.perturbation.slope_matrix(p, rows)
        lengths, squares, not_unit = rows.sum(_lengths)
        length = lengths / n or 1.0
        temperature = self.temperature
        if not self.normalize:
            temperature *= squares / n or 1.0
        elif not_unit:
            # Learned at unit length, where a margin r of the inputs is r/length.
            rows.map(_of_unit_length)
            B = (np.eye(p) if B is None else B) / length**2
        X, codes = rows.sample(_ROWS, self.random_state)
        start, labels = class_proxies(X, codes, self.n_proxies, self.random_state)
        loss = _Loss(ProxySoftmax(temperature), self.perturbation, self.normalize, n)
        with single_threaded_blas(), rows.proxies(labels, B, self.n_jobs) as geometry:
            M, A = self._alternate(solver, loss, geometry, start, p)
        self.prototypes_ = length * loss.scaled(A) if self.normalize else A
        self.prototype_labels_ = self.classes_[labels]
        self.components_ = components_of(M)
        return self

    def _alternate(self, solver: Solver, loss: "_Loss", geometry, A, p: int):
        """M and proxies in turn, then M alone."""
        space: Space = Factors() if solver.needs == "bounds" else PSDMatrices(floor=1e-10)
        M0 = np.eye(p) if self.init is None else check_metric(self.init, p, "init")
        x = space.start(M0)
        told = _Told(self)

        def of_metric(x: np.ndarray) -> tuple[float, np.ndarray]:
            value, G, _ = loss(geometry, space.metric(x), A)
            return value, space.gradient(G, x)

        def of_proxies(A: np.ndarray) -> tuple[float, np.ndarray]:
            value, _, G = loss(geometry, space.metric(x), A)
            return value, G

        left = self.n_proxy_steps
        while left > 0 and not told.stop:
            before = told.value
            moved = solver.minimize(of_proxies, Points(), A, told.turn(min(_TURN, left)))
            A, left = moved.x, left - max(1, moved.n_iter)
            turned = solver.minimize(of_metric, space, x, told.turn(_TURN))
            x = turned.x
            told.add(moved, turned)
            if before - told.value <= solver.tol * abs(told.value):
                break
        if not told.stop:
            last = solver.minimize(of_metric, space, x, told.turn(None))
            x = last.x
            told.add(last)
            if self.verbose:
                print(f"[ProxyNCA] {last.message}")
        self.objective_ = np.array(told.trace)
        self.n_iter_ = len(told.trace) - 1
        self.n_evaluations_ = told.n_evaluations
        return space.metric(x), A

    def _checked_solver(self) -> Solver:
        check_count("ProxyNCA", "n_proxies", self.n_proxies)
        check_count("ProxyNCA", "n_proxy_steps", self.n_proxy_steps, at_least=0)
        ProxySoftmax(self.temperature).check()
        if self.perturbation is not None:
            if not isinstance(self.perturbation, Perturbation):
                raise ValueError(
                    "perturbation must be None or a Perturbation, for example "
                    f"Perturbation(tau=0.2, weight=4.0); got {self.perturbation!r}."
                )
            self.perturbation.check()
        solver = LBFGS() if self.solver is None else clone(self.solver)
        if not isinstance(solver, Solver):
            raise ValueError(
                f"solver must be None or a solver such as holdfast.solvers.ProjectedGradient(); got {self.solver!r}."
            )
        return solver

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.target_tags.required = True
        return tags


class _Loss:
    """The objective as a function of M and free proxies, which it scales to unit length if asked to.

    A mean over n points, which may be spread over many geometries.
    """

    def __init__(self, softmax: ProxySoftmax, perturbation: Perturbation | None, unit: bool, n: int):
        self.softmax, self.perturbation, self.unit, self.n = softmax, perturbation, unit, n

    def scaled(self, A: np.ndarray) -> np.ndarray:
        return A / _norms(A) if self.unit else A

    def __call__(self, geometry, M: np.ndarray, A: np.ndarray):
        """Value, gradient in M and gradient in A."""
        S = self.scaled(A)
        value, GM, GS = gradients(geometry.total(self.sums, M, S), M, S, geometry.B)
        if not self.unit:
            return value, GM, GS
        # Through S = A/‖A‖: the part along A is lost.
        return value, GM, (GS - np.sum(GS * S, axis=1, keepdims=True) * S) / _norms(A)

    def sums(self, geometry: ProxyGeometry, M: np.ndarray, S: np.ndarray) -> tuple:
        """What the points of one geometry add."""
        n = self.n

        def partials(part: slice, d: np.ndarray, h: np.ndarray):
            y = geometry.y[part]
            value, C = self.softmax.value_and_partials(d, y, geometry.labels)
            if self.perturbation is None:
                return value / n, C / n, None
            same, other = nearest_proxies(d, y, geometry.labels)
            rows = np.arange(len(d))
            total, da, db, dh = self.perturbation.value_and_partials(
                d[rows, same], d[rows, other], h[same, other], signed=True
            )
            weight = self.perturbation.weight
            H = np.zeros_like(h)
            for partial, index in ((da, same), (db, other)):
                C[rows, index] += weight * np.asarray(partial)
            np.add.at(H, (same, other), weight * np.asarray(dh))
            return (value + weight * total) / n, C / n, H / n

        return geometry.sums(M, S, partials)


def _lengths(X: np.ndarray) -> tuple[float, float, int]:
    """Of some rows: the sum of lengths, that of squared lengths, and how many do not have length 1."""
    norms = np.linalg.norm(X, axis=1)
    return float(norms.sum()), float(np.sum(norms**2)), int(np.sum(np.abs(norms - 1.0) > 1e-9))


def _of_unit_length(X: np.ndarray) -> np.ndarray:
    """The rows, scaled to length 1; zeros stay."""
    norms = np.linalg.norm(X, axis=1, keepdims=True)
    return np.divide(X, norms, out=np.zeros_like(X), where=norms > 0)


def _norms(A: np.ndarray) -> np.ndarray:
    norm = np.linalg.norm(A, axis=1, keepdims=True)
    return np.where(norm > 0, norm, 1.0)


class _Told:
    """The run over several turns: one trace, one callback, and when to stop."""

    def __init__(self, learner: ProxyNCA):
        self._learner = learner
        self.trace: list[float] = []
        self.n_evaluations = 0
        self.stop = False

    @property
    def value(self) -> float:
        return self.trace[-1] if self.trace else np.inf

    def turn(self, steps: int | None) -> Callable[[Progress], bool]:
        """A callback that ends a turn after so many steps."""
        offset = len(self.trace)

        def callback(progress: Progress) -> bool:
            learner = self._learner
            if learner.verbose and (learner.verbose > 1 or progress.iteration % 10 == 0):
                print(f"[ProxyNCA] step {offset + progress.iteration:4d}   objective {progress.value:.6g}")
            asked = callable(learner.callback) and learner.callback(progress) is True
            self.stop = self.stop or asked or progress.value < _ENOUGH
            return self.stop or progress.iteration == steps

        return callback

    def add(self, *solutions: Solution) -> None:
        for solution in solutions:
            self.trace += solution.trace if not self.trace else solution.trace[1:]
            self.n_evaluations += solution.n_evaluations
