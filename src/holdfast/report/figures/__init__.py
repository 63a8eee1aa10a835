"""Figures as lists of marks, which a template turns into SVG."""

from holdfast.report.figures.curve import accuracy_curve as accuracy_curve
from holdfast.report.figures.heat_map import heat_map as heat_map
from holdfast.report.figures.histogram import histograms as histograms
from holdfast.report.figures.lines import lines as lines
