"""Large-margin nearest neighbours with a penalty on the largest eigenvalue."""

from dataclasses import replace

import numpy as np

from holdfast.backends import ObjectiveLike
from holdfast.learn import Space, SpectralNorm
from holdfast.learn.solvers import Solution, Solver, StopReason
from holdfast.learners.minimise import minimise
from holdfast.learners.regularised import RegularisedLMNN

_SMOOTHING = (0.3, 0.1, 0.03, 0.01, 0.003)  # ε log p as a share of the norm, stage by stage


class SpectralNormLMNN(RegularisedLMNN):
    """``push + weight · λ_max(M) + perturbation``, over positive semi-definite M: the paper's SN.

    The spectral norm takes the place of LMNN's pull.

    With more features than rows, M is learned on the span of the differences between rows, as for
    :class:`~holdfast.LMNN`: weight outside cannot lower the norm.

    Parameters
    ----------
    n_neighbors, n_impostors
        Targets and impostors per point, as for :class:`~holdfast.LMNN`.
    weight : float, default=0.01
        Weight of the norm; push has weight 1.
    solver : solver or None, default=None
        None is :class:`~holdfast.learn.solvers.LBFGS` in five stages, each from where the last ended, with the norm
        smoothed less and less (in one stage, without smoothing, for Dask collections and with ``validation_fraction``):
        its steps stop short of a kink. ``PrimalDual(tol=1e-6)`` takes longer and proves how far it is from the minimum.
    perturbation, init, neighbors, n_jobs, callback, verbose, validation_fraction
        As for :class:`~holdfast.LMNN`.

    Attributes
    ----------
    lower_bound_ : float or None
        Not above the minimum of the objective, but for rounding, by duality; None from other solvers.
    components_, objective_, n_iter_, n_evaluations_, validation_loss_, n_features_in_, feature_names_in_
        As for :class:`~holdfast.LMNN`.

    References
    ----------
    Yang, Guo, Dong and Xue, "Towards certified robustness of distance metric learning", section 4.2.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from holdfast import SpectralNormLMNN
    >>> X, y = load_iris(return_X_y=True)
    >>> bool(SpectralNormLMNN(weight=0.01).fit(X, y).objective_[-1] < 0.5)
    True
    """

    lower_bound_: float | None

    def make_regulariser(self) -> SpectralNorm:
        """The spectral norm."""
        return SpectralNorm()

    def _minimise(self, objective: ObjectiveLike, space: Space, solver: Solver, start, report, validation) -> Solution:
        norms = [term for _, term in getattr(objective, "terms", ()) if isinstance(term, SpectralNorm)]
        if self.solver is not None or validation is not None or not norms:
            return super()._minimise(objective, space, solver, start, report, validation)
        norm, x, evaluations, smoothing = norms[0], start, 0, np.inf
        stages: list[Solution] = []
        for share in _SMOOTHING:
            M = space.metric(x)
            smoothing = min(smoothing, share * float(np.linalg.eigvalsh(M)[-1]) / np.log(len(M) + 1))
            norm.smoothing = smoothing
            stages.append(minimise(objective, space, solver, x, report))
            x, evaluations = stages[-1].x, evaluations + stages[-1].n_evaluations
            if stages[-1].reason is StopReason.CALLBACK:
                break
        norm.smoothing = 0.0
        value = objective(space.metric(x))[0]
        trace = stages[0].trace[:1] + [v for stage in stages for v in stage.trace[1:]]
        return replace(stages[-1], value=value, trace=[*trace[:-1], value], n_evaluations=evaluations + 1)

    def _store(self, solution: Solution) -> None:
        self.lower_bound_ = solution.lower_bound
