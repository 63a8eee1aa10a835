"""The main job: tune, train, certify and attack a model and its robust twin, and write a report."""

from holdfast.audit.result import AuditResult as AuditResult
from holdfast.audit.run import audit as audit
from holdfast.audit.summary import summarise as summarise
from holdfast.audit.train import train as train
from holdfast.audit.write import write_audit as write_audit
