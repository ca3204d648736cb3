"""Personal data by their form, found by DataFog (the extra "redaction"). Offline, without a model."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Final

from retentive.errors import InvalidInput
from retentive.redaction.base import Redacted
from retentive.redaction.extra import missing
from retentive.redaction.spans import Span, without

KINDS: Final = {
    "email": "EMAIL",
    "phone": "PHONE",
    "card": "CREDIT_CARD",
    "ssn": "SSN",
    "iban": "DE_IBAN",
    "ip": "IP_ADDRESS",
    "date": "DATE",
    "zip": "ZIP_CODE",
}
DEFAULT: Final = ("email", "phone", "card", "ssn", "iban")


class PersonalData:
    """Takes out mail addresses, phone and card numbers, US social security numbers and German IBANs.

    What has no form of its own (names, addresses, illnesses) it cannot see. A number of another meaning that
    has such a form is taken out too: nine digits in a row look like a social security number.

    Args:
        kinds: of "email", "phone", "card", "ssn", "iban", "ip", "date", "zip". The last three are off, for
            dates and versions are what memories are about.
        spare: texts that stay, such as the address of your own support.

    Raises:
        InvalidInput: the extra is not installed, or there is no such kind.
    """

    def __init__(self, kinds: Iterable[str] = DEFAULT, *, spare: Sequence[str] = ()) -> None:
        wanted = [kinds] if isinstance(kinds, str) else list(kinds)
        if unknown := set(wanted) - KINDS.keys():
            raise InvalidInput(
                f"no kind is called {', '.join(sorted(unknown))}; there are {', '.join(KINDS)}"
            )
        self._names = {KINDS[kind]: kind for kind in wanted}
        self._spare = list(spare)
        self._scan = _scan()

    def redact(self, text: str) -> Redacted:
        """See `Redactor.redact`. Each thing found leaves its kind: "[email]"."""
        found: Any = self._scan(
            text, engine="regex", entity_types=list(self._names), locales=["de"], allowlist=self._spare
        )
        return without(text, [Span(one.start, one.end, self._names[one.type]) for one in found.entities])


def _scan() -> Callable[..., Any]:
    try:
        from datafog import scan
    except ImportError as error:
        raise missing("PersonalData", "datafog") from error
    return scan
