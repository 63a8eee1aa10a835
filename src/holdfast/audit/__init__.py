"""The main job: check a table, train models, certify and attack each, and write a report.

The module can be called: ``holdfast.audit(table, target)`` is :func:`holdfast.audit.audit`.
"""

import sys
import types

from holdfast.audit.candidates import CANDIDATES as CANDIDATES
from holdfast.audit.candidates import Candidate as Candidate
from holdfast.audit.result import AuditResult as AuditResult
from holdfast.audit.run import audit as audit
from holdfast.audit.summary import summarise as summarise
from holdfast.audit.train import train as train
from holdfast.audit.write import write_audit as write_audit


class _CallableModule(types.ModuleType):
    """The package itself as the function, because both are named ``holdfast.audit``."""

    def __call__(self, *args, **kwargs) -> AuditResult:
        """See :func:`holdfast.audit.audit`."""
        return audit(*args, **kwargs)


sys.modules[__name__].__class__ = _CallableModule
