"""Perturbation: penalise small adversarial margins in the input space."""

import numpy as np
from sklearn.base import clone

from holdfast.geometry.shape import input_variances, linear_part, slope_matrix
from holdfast.numerics.compile import entry
from holdfast.parameters import check_number
from holdfast.terms.base import Partials, TripletTerm

EPS = 1e-10  # keeps r² finite where target and impostor coincide; the paper's value


class Perturbation(TripletTerm):
    """``Σ_R ([τ² − r²]₊ if f > 0 else τ²)``, ``f = b − a``, ``r² = f² / (4(h + ε))``.

    r is the adversarial margin (Eq. 3): the distance, in the input space, from a point to the nearest
    place where its target is no longer nearer than its impostor. Any learner on triplets takes the term:
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
