"""The limits of extraction, by name."""

from dataclasses import dataclass, fields

from retentive.errors import InvalidInput


@dataclass(frozen=True, slots=True, kw_only=True)
class ExtractionLimits:
    """How much extraction takes on at a time, keeps waiting, and tries.

    Attributes:
        window_turns: turns an extractor sees at a time.
        window_tokens: about how many tokens these have together; one turn alone may have more.
        turns_before: turns shown ahead of them, so that they can be understood.
        known: memories shown as known.
        statements: statements taken from one window.
        statement_chars: length of one statement of a model; longer ones are refused.
        exchanges: exchanges without a thread that may wait in one scope; of more, the oldest is dropped, and
            an event tells it.
        exchange_chars: what is kept of each side of such an exchange.
        attempts: failures of one window after which it goes to the dead letters.
        outages: times the model was not to be reached after which it does so too.
        windows: windows done in one call of `extract`.
    """

    window_turns: int = 40
    window_tokens: int = 6_000
    turns_before: int = 4
    known: int = 12
    statements: int = 20
    statement_chars: int = 1_000
    exchanges: int = 100
    exchange_chars: int = 20_000
    attempts: int = 5
    outages: int = 100
    windows: int = 1_000

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            least = 0 if field.name in ("turns_before", "known") else 1
            if type(value) is not int or value < least:
                raise InvalidInput(f"{field.name} must be a whole number from {least}, not {value!r}")
