"""The floating-point budget: how much rounding can change a comparison of distances or of scores (Lemmas F2 and F5).

Let ``S`` bound the magnitudes behind a query: ``‖u‖``, every ``‖u_j‖``, and the terms that cancel when u is
computed from an input. After a move of length R they are at most ``S + g R`` (``g`` is ``MoveCoordinates.growth``).
With ``m`` additions in the longest sum, each sum has relative error at most ``γ = (m + 8) ω``, ``ω = 2⁻⁵³``, of the sum
of the absolute values. A float64 evaluation of any of the usual kinds can call l nearer than j only where
``f_lj ≤ κ (S + gR)²``, ``κ = K γ``. K counts what is rounded, in units of ``γ (S + gR)²``; Lemma F2 has the table:

===========================================================================  ============================
the model's two distances, our level, our sums of rows, our slopes                  33 (in a box 36, charged always)
the singular value decomposition behind the coordinates                             √rank
each affine step (the metric is one): the model's query, ours, our folded map        3 a step
each step, where model and certificate map the reference rows separately             4 more a step
pruning by a ball tree, scikit-learn only                                            8
===========================================================================  ============================

K is at least 64, which covers seven steps at rank 100 for holdfast's classifiers and two for scikit-learn's; longer
chains are counted. Every certificate is of the form "``a · δ ≥ c`` is needed", so with rounding
``a · δ ≥ c − ½ κ (S + gR)²`` is, and the radius that is left is the root of
``½κg² R² + (‖a‖* + κSg) R − (c − ½κS²) = 0`` (Lemma F3).

References
----------
Higham, "Accuracy and stability of numerical algorithms", 2nd ed., chapter 3.
"""

import numpy as np

from holdfast.certificates.kernels.rounding import Rounding
from holdfast.certificates.problems import LinearProblem, NeighborProblem
from holdfast.numerics.sums import product_by_rows

UNIT_ROUNDOFF = 2.0**-53
LEAST_UNITS = 64.0  # K where few steps come before the vote


def error_units(rank: int, n_steps: int, shared: bool) -> float:
    """K of Lemma F2: roundings behind one comparison, in units of ``γ (S + gR)²``.

    Parameters
    ----------
    rank : int
        Coordinates of the moves.
    n_steps : int
        Affine steps before the vote, the metric included.
    shared : bool
        Whether the model and the certificate use one array of reference points (holdfast's classifiers).
    """
    counted = 36.0 + np.sqrt(rank) + (3.0 if shared else 7.0) * n_steps + (0.0 if shared else 8.0)
    return max(LEAST_UNITS, counted)


def kappa(n_coordinates: int, n_inputs: int, n_steps: int = 1, shared: bool = True, n_terms: int = 0) -> float:
    """``K (m + 8) ω``, m the terms of the longest sum: ``n_terms`` if there are more than coordinates and inputs."""
    units = error_units(min(n_coordinates, n_inputs), n_steps, shared)
    return units * (max(n_coordinates, n_inputs, n_terms) + 8) * UNIT_ROUNDOFF


def query_rounding(problem: NeighborProblem, queries: np.ndarray, inputs: np.ndarray | None) -> Rounding:
    """The rounding of each query: κ and g are numbers, S and w arrays (m,).

    The inputs, if given, enter S through ``‖ |W_2| |W_1| |x| ‖``.
    """
    S = np.maximum(problem.largest, np.linalg.norm(queries, axis=1)) + problem.scale
    if inputs is not None:
        S = S + np.linalg.norm(product_by_rows(np.abs(inputs), problem.absolute), axis=1)
    coordinates = problem.coordinates
    return Rounding(
        kappa(problem.T.shape[0], problem.T.shape[1], problem.n_steps, problem.shared, problem.n_terms),
        S * (1 + 1e-12),  # the rounding of S itself
        coordinates.growth,
        2 * coordinates.map_error * S,
    )


def score_rounding(problem: LinearProblem, inputs: np.ndarray | None, m: int) -> tuple[np.ndarray, np.ndarray]:
    """Error of each score (m, C), and its growth for each unit of a move (C,) (Lemma F5).

    A score is one sum of products after the steps before it: its error is at most ``κ (|W_2| |W_1| |x| + constants)``.
    """
    unit = kappa(problem.T.shape[0], problem.T.shape[1], problem.n_steps, n_terms=problem.n_terms)
    size = np.broadcast_to(problem.cancellation, (m, problem.n_classes))
    if inputs is not None:
        size = size + product_by_rows(np.abs(inputs), problem.absolute)
    rate = problem.moves.free_norm.absolute_lengths(problem.moves.in_units(problem.absolute))
    return unit * size * (1 + 1e-12), unit * rate * (1 + 1e-12)


def rounding_of(rounding: Rounding, t: int) -> Rounding:
    """The rounding of query t."""
    return Rounding(rounding.kappa, float(rounding.size[t]), rounding.growth, float(rounding.map_error[t]))  # type: ignore[index]


def as_batch(rounding: Rounding) -> Rounding:
    """The rounding of one query as that of a batch of one."""
    size, map_error = np.array([rounding.size]), np.array([rounding.map_error])
    return Rounding(rounding.kappa, size, rounding.growth, map_error)  # type: ignore[arg-type]
