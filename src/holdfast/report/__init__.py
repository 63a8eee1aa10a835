"""The summary of an audit as JSON, HTML and Markdown; displays for notebooks.

Everything in a report is rendered from one dict, which :func:`holdfast.audit.summarise` makes, so a report
can be made again from ``report.json``.
"""

from holdfast.report.displays import BoundaryDisplay as BoundaryDisplay
from holdfast.report.displays import CertifiedAccuracyDisplay as CertifiedAccuracyDisplay
from holdfast.report.displays import MarginDisplay as MarginDisplay
from holdfast.report.displays import MetricDisplay as MetricDisplay
from holdfast.report.html import render_html as render_html
from holdfast.report.markdown import render_markdown as render_markdown
from holdfast.report.write import summarise as summarise
from holdfast.report.write import write_report as write_report
