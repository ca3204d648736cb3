"""What a redactor is, and how its answer is checked."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Protocol, runtime_checkable

from retentive.errors import InvalidInput, RedactionError


@dataclass(frozen=True, slots=True)
class Redacted:
    """A text as it may be kept, and how often something of each kind was taken out: `{"email": 2}`."""

    text: str
    kinds: Mapping[str, int] = field(default_factory=dict[str, int])


@runtime_checkable
class Redactor(Protocol):
    """Takes out of a text what is not to be kept."""

    def redact(self, text: str) -> Redacted:
        """The text without it; the same text, and no kinds, where there is nothing to take out.

        The same text gives the same answer: a retry must be known again. It is called from several threads.
        What it raises refuses the whole write.
        """
        ...


def check_redactor(value: object) -> Redactor | None:
    """The redactor, or None.

    Raises:
        InvalidInput: it has no method `redact`.
    """
    if value is None or (isinstance(value, Redactor) and not isinstance(value, type)):
        return value
    raise InvalidInput("redactor must be an object with a method redact(text) that gives a Redacted, or None")


def redacted(redactor: Redactor, text: str) -> Redacted:
    """What the redactor makes of the text, checked.

    Raises:
        RedactionError: it failed, or answered nonsense. Neither message nor cause hold any of the text.
    """
    name = type(redactor).__name__
    try:
        answer = redactor.redact(text)
    except Exception as error:  # noqa: BLE001 - a redactor is the caller's code, and may raise anything
        failure = type(error).__name__
    else:
        return _checked(name, text, answer)
    # outside of the handler: what a redactor raises may quote the text, and must not get into logs with this
    raise RedactionError(f"the redactor {name} failed with {failure}; nothing was written")


def _checked(name: str, text: str, answer: object) -> Redacted:
    if not isinstance(answer, Redacted) or not isinstance(answer.text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise RedactionError(f"the redactor {name} must give a Redacted with a text; nothing was written")
    kinds = {str(kind): count for kind, count in answer.kinds.items() if count}
    if any(type(count) is not int or count < 0 for count in kinds.values()):
        raise RedactionError(f"the redactor {name} must count kinds in whole numbers; nothing was written")
    if (answer.text != text) != bool(kinds):
        raise RedactionError(
            f"the redactor {name} must name what it took out of a text, and only then; nothing was written"
        )
    return Redacted(answer.text, kinds)
