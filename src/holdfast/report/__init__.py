"""Tell: an audit as one dict, and the dict as JSON, HTML and Markdown; displays for notebooks.

``summarise`` makes the dict from an :class:`~holdfast.audit.AuditResult`; everything else is rendered from
it, so a report can be made again from ``report.json``.
"""

from holdfast.report.displays import BoundaryDisplay as BoundaryDisplay
from holdfast.report.displays import CertifiedAccuracyDisplay as CertifiedAccuracyDisplay
from holdfast.report.displays import MarginDisplay as MarginDisplay
from holdfast.report.displays import MetricDisplay as MetricDisplay
from holdfast.report.html import render_html as render_html
from holdfast.report.markdown import render_markdown as render_markdown
from holdfast.report.summary import summarise as summarise
from holdfast.report.write import write_report as write_report
