"""Steps before a vote, folded into one map: halfspaces after the steps become halfspaces in the user's columns."""

from holdfast.certificates.folding.encoding import Encoding as Encoding
from holdfast.certificates.folding.fold import Fold as Fold
from holdfast.certificates.folding.fold import fold as fold
from holdfast.certificates.folding.front import Front as Front
from holdfast.certificates.folding.normalizer import unit_rows as unit_rows
