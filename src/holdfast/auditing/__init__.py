"""The main job: check a table, train models, certify and attack each, and write a report."""

from holdfast.auditing.candidates import CANDIDATES as CANDIDATES
from holdfast.auditing.candidates import Candidate as Candidate
from holdfast.auditing.result import AuditResult as AuditResult
from holdfast.auditing.result import summarise as summarise
from holdfast.auditing.result import write_audit as write_audit
from holdfast.auditing.run import audit as audit
from holdfast.auditing.run import train as train
