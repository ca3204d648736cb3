"""Taking secrets and personal data out of what is to be kept, before it is kept."""

from retentive.redaction.base import Redacted, Redactor
from retentive.redaction.personal import PersonalData
from retentive.redaction.secrets import Secrets
from retentive.redaction.several import Several

__all__ = ["PersonalData", "Redacted", "Redactor", "Secrets", "Several"]
