"""Certified bounds on the smallest move of an input that changes a prediction.

``engine(problem, queries, prediction, *, inputs=None, n_jobs=None, budget=None) -> Bounds(lower, upper, delta)``
is what they all are; the import line is the registry, and ``engines`` says which exist.
"""

from holdfast.certificates.certificate import Certificate as Certificate
from holdfast.certificates.certify import certify as certify
from holdfast.certificates.exact_1nn import exact_1nn as exact_1nn
from holdfast.certificates.exact_knn import exact_knn as exact_knn
from holdfast.certificates.knn_lower import knn_lower as knn_lower
from holdfast.certificates.norms import L1 as L1
from holdfast.certificates.norms import L2 as L2
from holdfast.certificates.norms import Ellipsoid as Ellipsoid
from holdfast.certificates.norms import LInf as LInf
from holdfast.certificates.poisoning import poisoning_tolerance as poisoning_tolerance
from holdfast.certificates.problem import Bounds as Bounds
from holdfast.certificates.problem import Budget as Budget
from holdfast.certificates.problem import NeighborProblem as NeighborProblem
from holdfast.certificates.prototypes import nearest_prototype as nearest_prototype
from holdfast.certificates.scoring import CertifiedAccuracy as CertifiedAccuracy
from holdfast.certificates.votes import votes as votes

# Name -> engine; those that certify the one nearest point only.
engines = {
    "exact_1nn": exact_1nn,
    "exact_knn": exact_knn,
    "knn_lower": knn_lower,
    "nearest_prototype": nearest_prototype,
}
single_neighbor = ("exact_1nn", "nearest_prototype")
