"""Several redactors as one."""

from collections import Counter

from retentive.redaction.base import Redacted, Redactor, redacted


class Several:
    """Asks one redactor after the other, each about what the one before it left.

    Example:
        >>> from retentive.redaction import Several
        >>> from retentive.redaction import PersonalData, Secrets  # the extra "redaction"
        >>> Several(Secrets(), PersonalData()).redact("Mail jane@example.com").text
        'Mail [email]'
    """

    def __init__(self, *redactors: Redactor) -> None:
        self.redactors = redactors

    def redact(self, text: str) -> Redacted:
        """See `Redactor.redact`."""
        kinds: Counter[str] = Counter()
        for redactor in self.redactors:
            answer = redacted(redactor, text)
            text = answer.text
            kinds.update(answer.kinds)
        return Redacted(text, dict(kinds))
