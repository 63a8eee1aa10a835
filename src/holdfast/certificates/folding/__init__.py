"""Steps before a vote, rewritten into the user's columns: rows after a step become rows before it."""

from holdfast.certificates.folding.encoding import Encoding as Encoding
from holdfast.certificates.folding.fold import Fold as Fold
from holdfast.certificates.folding.fold import fold as fold
from holdfast.certificates.folding.front import Front as Front
from holdfast.certificates.folding.normalizer import unit_rows as unit_rows
