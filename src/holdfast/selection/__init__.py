"""``RobustClassifierCV``: of several families of models, the one that certifies most."""

from holdfast.selection.families import FAMILIES as FAMILIES
from holdfast.selection.families import Family as Family
from holdfast.selection.robust_classifier import RobustClassifierCV as RobustClassifierCV
