"""The terms of an objective: triplet terms read a, b and h; matrix terms M; proxy terms the distances to proxies.

A term never sees where its numbers come from: it returns a sum and its derivatives, and geometry turns these into a
gradient in M.

Pull and push: Weinberger and Saul, "Distance metric learning for large margin nearest neighbor classification", JMLR
10, 2009. Perturbation: Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning". Trace, as
an L1 norm of weights: Shi, Bellet and Sha, "Sparse compositional metric learning", AAAI 2014. LogDet: Davis, Kulis,
Jain, Sra and Dhillon, "Information-theoretic metric learning", ICML 2007. CappedTrace: Huo, Nie and Huang, "Robust and
effective metric learning using capped trace norm", KDD 2016. SpectralNorm: Bartlett, Foster and Telgarsky,
"Spectrally-normalized margin bounds for neural networks", NeurIPS 2017. ProxySoftmax: Teh, DeVries and Taylor,
"ProxyNCA++", ECCV 2020.
"""

from abc import ABC, abstractmethod

import numpy as np
from scipy.linalg.lapack import dpotrf, dpotri
from sklearn.base import BaseEstimator, clone

from holdfast._core.compiling import entry
from holdfast.base.inputs import check_count, check_number
from holdfast.learn.margins import input_variances, linear_part, slope_matrix

# The sum, and its derivatives by a, b and h per triplet (None where they are zero).
Partials = tuple[float, np.ndarray | None, np.ndarray | None, np.ndarray | None]
EPS = 1e-10  # keeps r² finite where target and impostor coincide; the paper's value


class Term(BaseEstimator, ABC):
    """A scikit-learn object whose constructor stores its parameters; :meth:`check` refuses bad ones."""

    def check(self) -> None:
        """Raise ``ValueError`` if a parameter is out of range."""


class TripletTerm(Term):
    """``Σ φ(a, b, h)`` over triplets. A term is never given a matrix.

    The sum is not a mean: the objective divides by the size of the set, so that sums over chunks of triplets
    add up to the whole.

    Attributes
    ----------
    over : {"R", "S"}
        The set summed over: every triplet, or every distinct pair (i, j) of point and target. Over S only
        ``a`` is given; ``b`` and ``h`` are None.
    reads_h : bool
        True if the term reads h, which is not computed unless some term does.
    """

    over = "R"
    reads_h = False

    @abstractmethod
    def value_and_partials(self, a: np.ndarray, b: np.ndarray | None, h: np.ndarray | None) -> Partials:
        """The sum, and its derivatives by a, b and h per triplet (None where zero)."""


class MatrixTerm(Term):
    """A function of the metric M itself, such as a norm or a divergence."""

    @abstractmethod
    def value_and_grad(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The value, and its (symmetric) gradient, or a subgradient, at M."""


class Gauge(MatrixTerm):
    """A convex matrix term g over ``M ⪰ 0`` with ``g(cM) = c g(M)`` for c ≥ 0, such as a norm of the eigenvalues."""

    @abstractmethod
    def prox(self, M: np.ndarray, t: float) -> np.ndarray:
        """``argmin over Z ⪰ 0 of ½ ‖Z − M‖² + t g(Z)``."""

    @abstractmethod
    def polar(self, S: np.ndarray) -> float:
        """``g°(S) = max ⟨S, M⟩ over M ⪰ 0 with g(M) ≤ 1``."""


class ProxyTerm(Term):
    """``Σ_i φ(d_i, y_i)`` over points, where row d_i holds the squared distances of point i to all proxies.

    φ must not change when a constant is added to d_i, so that each row of derivatives sums to 0:
    ``ProxyGeometry`` computes distances only up to such a constant.
    """

    @abstractmethod
    def value_and_partials(self, d: np.ndarray, y: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
        """The sum, and its derivatives by d.

        Parameters
        ----------
        d : ndarray of shape (n_points, n_proxies)
        y : int ndarray of shape (n_points,)
            Class codes of the points.
        labels : int ndarray of shape (n_proxies,)
            Class codes of the proxies.
        """


# -- terms of triplets ------------------------------------------------------------------------------


class Pull(TripletTerm):
    """``Σ_S a``: the squared distances from points to their targets."""

    over = "S"

    def value_and_partials(self, a, b, h) -> Partials:
        """The sum of a; ∂a = 1."""
        return float(a.sum()), np.ones_like(a), None, None


class Push(TripletTerm):
    """``Σ_R [1 − f]₊``, ``f = b − a``: the hinge of large-margin nearest neighbours."""

    def value_and_partials(self, a, b, h) -> Partials:
        """The hinge sum; ∂a = 1 and ∂b = −1 where f ≤ 1."""
        da, db = np.empty_like(a), np.empty_like(a)
        return _push(a, b, da, db), da, db, None


@entry(fastmath={"reassoc", "contract"})  # a sum in any order can run in vectors
def _push(a, b, da, db):
    total = 0.0
    for t in range(a.size):
        gap = 1.0 - (b[t] - a[t])
        active = 1.0 if gap >= 0.0 else 0.0
        total += gap if gap >= 0.0 else 0.0
        da[t] = active
        db[t] = -active
    return total


class Perturbation(TripletTerm):
    """``Σ_R ([τ² − r²]₊ if f > 0 else τ²)``, ``f = b − a``, ``r² = f² / (4(h + ε))``.

    r is the adversarial margin (Eq. 3): the distance, in the input space, from a point to the nearest
    point where its target is no longer nearer than its impostor. Any learner on triplets takes the term:
    ``LMNN(perturbation=Perturbation(tau=0.2, weight=4.0))``.

    Parameters
    ----------
    tau : float
        Margin to reach, in the units of the input (of the shape, if one is given). The ε of 1e-10 assumes
        features of about unit size: standardise features measured in millions.
    weight : float
        Weight of the term in the objective, the paper's λ.
    shape : array-like of shape (n_inputs, n_inputs) or (n_inputs,), "variance", or None
        ``A_0``: perturbations of equal size lie on ``δᵀ A_0 δ = r²``. A vector is its diagonal. "variance"
        is ``diag(v̄ / v_k)``, v_k being the variance of input feature k in the training data and v̄ their
        mean: a feature that varies more may be perturbed more, a constant one not at all. None is the
        identity, the Euclidean ball.
    reduction : fitted transformer, array-like of shape (n_features, n_inputs), or None
        ``D``, if the learner is trained on ``z = D x + d`` while perturbations change x: a matrix, or any
        fitted affine transformer (PCA, whitened or not; a scaler; a pipeline of such). Cloning the learner
        keeps it fitted. :class:`~holdfast.Reduced` sets it itself.

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", Eq. 4 and
    supplement A.

    Examples
    --------
    >>> import numpy as np
    >>> from holdfast import Perturbation
    >>> a, b, h = np.array([1.0]), np.array([3.0]), np.array([4.0])      # r² = 4 / 16
    >>> value, *_ = Perturbation(tau=1.0).value_and_partials(a, b, h)
    >>> round(value, 9)
    0.75
    """

    reads_h = True

    def __init__(self, tau: float = 0.2, weight: float = 1.0, shape=None, reduction=None):
        self.tau = tau
        self.weight = weight
        self.shape = shape
        self.reduction = reduction

    def value_and_partials(self, a, b, h, signed: bool = False) -> Partials:
        """The sum; where f > 0 and r ≤ τ: ∂b = −f/2(h+ε) = −∂a, ∂h = f²/4(h+ε)².

        ``signed`` is the paper's revision for proxies: ``τ² + r²`` where f ≤ 0, all three signs flipped.
        """
        da, db, dh = np.empty_like(a), np.empty_like(a), np.empty_like(a)
        return _perturbation(a, b, h, float(self.tau), signed, da, db, dh), da, db, dh

    @property
    def reads_variances(self) -> bool:
        """True if :meth:`slope_matrix` needs the variances of the training data, which cost a pass over it."""
        return isinstance(self.shape, str) and self.reduction is None

    def slope_matrix(self, n_features: int, variances: np.ndarray | None = None) -> np.ndarray | None:
        """``B = D A_0⁻¹ Dᵀ``, the inverse shape in the learner's coordinates; None for the identity.

        Parameters
        ----------
        n_features : int
            Number of features of the points the metric is learned on.
        variances : ndarray of shape (n_features,) or None
            Variances of these features in the training data; needed only where ``reads_variances``.

        Returns
        -------
        ndarray of shape (n_features, n_features), or None
        """
        D = None if self.reduction is None else linear_part(self.reduction)
        if not isinstance(self.shape, str):
            return slope_matrix(n_features, self.shape, D)
        if self.shape != "variance":
            raise ValueError(
                f'Perturbation: shape must be a matrix A_0, its diagonal, "variance" or None; got {self.shape!r}.'
            )
        # A_0⁻¹ = diag(v / v̄), which also exists where a feature is constant (v_k = 0).
        v = input_variances(variances, n_features, self.reduction)
        if not v.mean() > 0:
            raise ValueError('Perturbation: shape="variance" needs a feature that varies; all are constant.')
        inverse = v / v.mean()
        return np.diag(inverse) if D is None else (D * inverse) @ D.T

    def __sklearn_clone__(self):
        """A clone that keeps the fitted reduction; the default clone would return it unfitted."""
        parameters = self.get_params(deep=False)
        kept = parameters.pop("reduction")
        return type(self)(reduction=kept, **{name: clone(value, safe=False) for name, value in parameters.items()})

    def check(self) -> None:
        """Refuse a margin or weight that is not positive."""
        check_number("Perturbation", "tau", self.tau, above=0)
        check_number("Perturbation", "weight", self.weight, above=0)


@entry
def _perturbation(a, b, h, tau, signed, da, db, dh):
    limit = tau * tau
    total = 0.0
    for t in range(a.size):  # selections, no branches: the loop runs in vectors
        f = b[t] - a[t]
        half = f / (2.0 * (h[t] + EPS))
        r2 = half * half * (h[t] + EPS)
        wrong = f <= 0.0
        near = f > 0.0 and r2 <= limit
        total += limit - r2 if near else (limit + r2 if signed else limit) if wrong else 0.0
        slope = half if near else -half if wrong and signed else 0.0
        da[t] = slope
        db[t] = -slope
        dh[t] = slope * half
    return total


# -- terms of the metric ----------------------------------------------------------------------------


class Trace(MatrixTerm):
    """``tr M``; over non-negative weights of unit-norm bases, the L1 norm of the weights.

    For ``M = Σ_k w_k b_k b_kᵀ`` with ``w ≥ 0`` and ``‖b_k‖ = 1``, ``tr M = Σ_k w_k = ‖w‖₁``.
    """

    def value_and_grad(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The trace; gradient ``I``."""
        return float(np.trace(M)), np.eye(M.shape[0])


class SquaredFrobenius(MatrixTerm):
    """``½ ‖M/scale − I‖²_F``.

    It is strongly convex, so that the objective has one minimiser, and it spreads M over many directions where a
    trace would leave few of them.

    Parameters
    ----------
    scale : float, default=1.0
        Of the metric that is not penalised, ``scale · I``.
    """

    def __init__(self, scale: float = 1.0):
        self.scale = scale

    def value_and_grad(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """Half the squared norm; gradient ``(M/scale − I)/scale``."""
        D = M / self.scale - np.eye(M.shape[0])
        return 0.5 * float(np.vdot(D, D)), D / self.scale

    def check(self) -> None:
        """Refuse a scale that is not positive."""
        check_number("SquaredFrobenius", "scale", self.scale, above=0)


class LogDet(MatrixTerm):
    """``tr M − log det M − p``: the log-determinant divergence from M to the identity.

    It is zero at the identity and infinite where M is singular, so a minimum is always positive definite.
    """

    def value_and_grad(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The divergence; gradient ``I − M⁻¹``. Infinite, with gradient I, where M is singular."""
        p = M.shape[0]
        identity = np.eye(p)
        C, failed = dpotrf(M, lower=1, clean=0)
        diagonal = C.diagonal()
        if failed or not diagonal.min() > 0.0:
            return np.inf, identity
        value = float(np.trace(M) - 2.0 * np.log(diagonal).sum() - p)
        inverse = np.tril(dpotri(C, lower=1)[0])
        return value, identity - inverse - np.tril(inverse, -1).T


class CappedTrace(MatrixTerm):
    """``Σ_{k > rank} λ_k(M)``: the sum of all but the ``rank`` largest eigenvalues.

    It is zero exactly where the rank of M is at most ``rank``. Like a trace norm it favours a low rank, but
    it does not shrink the largest eigenvalues. Not convex.

    Parameters
    ----------
    rank : int or None
        Number of eigenvalues that are not penalised; None is four fifths of them, rounded up.
    """

    def __init__(self, rank: int | None = None):
        self.rank = rank

    def value_and_grad(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The sum; gradient ``V_s V_sᵀ`` over the eigenvectors of the p − rank smallest."""
        n_small = len(M) - self.rank_among(len(M))
        values, V = np.linalg.eigh(M)
        small = V[:, :n_small]
        return float(values[:n_small].sum()), small @ small.T

    def rank_among(self, n_features: int) -> int:
        """How many of so many eigenvalues are not penalised."""
        rank = -(-4 * n_features // 5) if self.rank is None else self.rank
        if rank > n_features:
            raise ValueError(f"CappedTrace: rank={rank} exceeds the number of features, which is {n_features}.")
        return rank

    def check(self) -> None:
        """Refuse a rank that is not a positive integer."""
        if self.rank is not None:
            check_count("CappedTrace", "rank", self.rank)


class SpectralNorm(Gauge):
    """``λ_max(M)``, the largest eigenvalue; smoothed, ``ε log Σ_k e^{λ_k/ε}``.

    At a minimum several eigenvalues are usually equal, and the norm has a kink there. With ``smoothing`` ε > 0 it has
    none; the smoothed norm is larger by at most ``ε log p``.

    Parameters
    ----------
    smoothing : float, default=0.0
        ε.
    """

    tie = 1e-10  # eigenvalues this close to the largest, relatively, count as equal to it

    def __init__(self, smoothing: float = 0.0):
        self.smoothing = smoothing

    def value_and_grad(self, M: np.ndarray) -> tuple[float, np.ndarray]:
        """The norm; subgradient ``V Vᵀ / m`` over the m eigenvectors that share it, or their softmax."""
        values, V = np.linalg.eigh(M)
        if self.smoothing > 0.0:
            shares = np.exp((values - values[-1]) / self.smoothing)
            total = shares.sum()
            return float(values[-1] + self.smoothing * np.log(total)), (V * (shares / total)) @ V.T
        top = V[:, values >= values[-1] - self.tie * abs(values[-1])]
        return float(values[-1]), top @ top.T / top.shape[1]

    def prox(self, M: np.ndarray, t: float) -> np.ndarray:
        """``V min(Λ₊, θ) Vᵀ``, θ such that they lose t together; 0 if they sum to no more than t. Not smoothed."""
        values, V = np.linalg.eigh(M)
        positive = np.maximum(values, 0.0)
        if positive.sum() <= t:
            return np.zeros_like(M)
        largest = positive[::-1]
        theta = (np.cumsum(largest) - t) / np.arange(1, len(largest) + 1)
        theta = theta[np.flatnonzero(largest > theta)[-1]]
        return (V * np.minimum(positive, theta)) @ V.T

    def check(self) -> None:
        """Refuse a negative smoothing."""
        check_number("SpectralNorm", "smoothing", self.smoothing, at_least=0)

    def polar(self, S: np.ndarray) -> float:
        """The sum of the positive eigenvalues."""
        values = np.linalg.eigvalsh(S)
        return float(values[values > 0].sum())


# -- terms of proxies -------------------------------------------------------------------------------


class ProxySoftmax(ProxyTerm):
    """``Σ_i −log (Σ_{k of i's class} e^{−d_ik/T} / Σ_k e^{−d_ik/T})``: ProxyNCA++.

    ``d_ik`` is the squared distance from point i to proxy k. With one proxy per class this is the loss of
    ProxyNCA++; with several, the probabilities of a class's proxies add up, as those of neighbours do in NCA.

    Parameters
    ----------
    temperature : float
        T: the smaller it is, the more the nearest proxies dominate.
    """

    def __init__(self, temperature: float = 1.0):
        self.temperature = temperature

    def value_and_partials(self, d: np.ndarray, y: np.ndarray, labels: np.ndarray) -> tuple[float, np.ndarray]:
        """The sum; ``∂d_ik = (q_ik − p_ik)/T``: softmax of −d/T over the proxies of i's class, minus that over all."""
        out = np.empty_like(d)
        return _softmax(d, y, labels, float(self.temperature), out), out

    def check(self) -> None:
        """Refuse a temperature that is not positive."""
        check_number("ProxySoftmax", "temperature", self.temperature, above=0)


@entry
def _softmax(d, y, labels, temperature, out):
    n, m = d.shape
    total = 0.0
    for i in range(n):
        # Logs of the two sums, each relative to its own nearest proxy, so that neither underflows.
        nearest = nearest_own = np.inf
        for k in range(m):
            if d[i, k] < nearest:
                nearest = d[i, k]
            if labels[k] == y[i] and d[i, k] < nearest_own:
                nearest_own = d[i, k]
        every = own = 0.0
        for k in range(m):
            e = np.exp((nearest - d[i, k]) / temperature)
            every += e
            out[i, k] = e
            if labels[k] == y[i]:
                own += np.exp((nearest_own - d[i, k]) / temperature)
        total += (nearest_own - nearest) / temperature + np.log(every) - np.log(own)
        for k in range(m):
            p = out[i, k] / every
            q = np.exp((nearest_own - d[i, k]) / temperature) / own if labels[k] == y[i] else 0.0
            out[i, k] = (q - p) / temperature
    return total
