"""The summary of an audit as JSON, HTML and Markdown; displays for notebooks.

Everything in a report is rendered from one dict, which :func:`holdfast.auditing.summarise` makes, so a report
can be made again from ``report.json``.
"""

from holdfast.displays import BoundaryDisplay as BoundaryDisplay
from holdfast.displays import CertifiedAccuracyDisplay as CertifiedAccuracyDisplay
from holdfast.displays import MarginDisplay as MarginDisplay
from holdfast.displays import MetricDisplay as MetricDisplay
from holdfast.report.html import render_html as render_html
from holdfast.report.html import summarise as summarise
from holdfast.report.html import write_report as write_report
from holdfast.report.markdown import render_markdown as render_markdown
