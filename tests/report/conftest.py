"""The audits that reports are made from."""

from tests.audit.conftest import audit_result as audit_result
from tests.audit.conftest import hostile as hostile
