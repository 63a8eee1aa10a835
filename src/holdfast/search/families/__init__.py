"""The families that a search chooses among; a new one is one class here and one line in :data:`FAMILIES`."""

from holdfast.search.families.base import Facts as Facts
from holdfast.search.families.base import Family as Family
from holdfast.search.families.base import Recipe as Recipe
from holdfast.search.families.euclidean import EuclideanNeighbors
from holdfast.search.families.given import Given as Given
from holdfast.search.families.linear import Linear
from holdfast.search.families.margin_prototypes import MarginPrototypes
from holdfast.search.families.metrics import CappedTraceFamily, LMNNFamily, SCMLFamily
from holdfast.search.families.prototypes import Prototypes

#: By name, in the order of preference between equals: the cheaper to fit and to certify comes first.
FAMILIES: dict[str, Family] = {
    family.name: family
    for family in (
        Linear(), EuclideanNeighbors(), MarginPrototypes(), Prototypes(),
        LMNNFamily(), CappedTraceFamily(), SCMLFamily(),
    )
}  # fmt: skip
