"""Tuning: families of classifiers by what they certify."""

from holdfast.search.families import FAMILIES as FAMILIES
from holdfast.search.families import Family as Family
from holdfast.search.robust_classifier import RobustClassifierCV as RobustClassifierCV
