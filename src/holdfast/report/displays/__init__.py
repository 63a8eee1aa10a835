"""Plots for notebooks, in the style of scikit-learn's displays; matplotlib is imported when one is drawn."""

from holdfast.report.displays.boundary import BoundaryDisplay as BoundaryDisplay
from holdfast.report.displays.certified_accuracy import CertifiedAccuracyDisplay as CertifiedAccuracyDisplay
from holdfast.report.displays.margin import MarginDisplay as MarginDisplay
from holdfast.report.displays.metric import MetricDisplay as MetricDisplay
