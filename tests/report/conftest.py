"""The audits that reports are made from."""

from tests.auditing.conftest import audit_result as audit_result
from tests.auditing.conftest import hostile as hostile
