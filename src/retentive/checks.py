"""The one boundary for what callers pass: refuse it with a reason, or give back a clean copy."""

import math
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from typing import TypeAlias, Union, cast

from retentive.errors import InvalidInput

Json: TypeAlias = Union[bool, int, float, str, "list[Json]", "dict[str, Json]", None]

MAX_TEXT_CHARS = 1_000_000
MAX_METADATA_DEPTH = 32
MAX_METADATA_VALUES = 10_000
MAX_METADATA_CHARS = 100_000
MAX_INT_BITS = 4_096
MAX_TAGS = 64
MAX_TAG_CHARS = 128
MAX_LIMIT = 1_000


def check_text(field: str, value: object, *, max_chars: int = MAX_TEXT_CHARS) -> str:
    """The text itself, if every store can keep it exactly.

    Raises:
        InvalidInput: it is not a str, is blank, is longer than `max_chars` characters, or holds U+0000 or
            half of a surrogate pair (no database and no JSON reader takes those; replace them first).
    """
    text = _storable(field, value)
    if not text or text.isspace():
        raise InvalidInput(f"{field} is empty; pass some text")
    if len(text) > max_chars:
        raise InvalidInput(f"{field} has {len(text):,} characters; the limit is {max_chars:,}: split it")
    return text


def _storable(field: str, value: object) -> str:
    if not isinstance(value, str):
        raise InvalidInput(f"{field} must be text (str), not {type(value).__name__}")
    if "\x00" in value:
        raise InvalidInput(f"{field} holds U+0000 at position {value.index(chr(0))}; remove or replace it")
    if not value.isascii():
        try:
            value.encode()
        except UnicodeEncodeError as error:
            raise InvalidInput(
                f"{field} holds half of a surrogate pair at position {error.start}; "
                "the text was cut inside a character: decode it again, or replace it"
            ) from error
    return value


def check_metadata(field: str, value: object) -> dict[str, Json]:
    """A deep copy of a JSON object; None gives an empty one. Tuples become lists.

    Raises:
        InvalidInput: something in it is not JSON (bytes, dates, sets, NaN, keys that are not text, ...);
            the message names the place, for example `metadata.answers[2]`. Or it is nested deeper, or holds
            more values or characters, than `MAX_METADATA_DEPTH`, `_VALUES` and `_CHARS`.
    """
    if value is None:
        return {}
    if not isinstance(value, Mapping):
        raise InvalidInput(f"{field} must be a mapping of names to JSON values, not {type(value).__name__}")
    budget = [MAX_METADATA_VALUES, MAX_METADATA_CHARS]
    return cast("dict[str, Json]", _copy_json(field, cast("object", value), MAX_METADATA_DEPTH, budget))


def _copy_json(path: str, value: object, depth: int, budget: list[int]) -> Json:
    budget[0] -= 1
    if depth < 0 or budget[0] < 0:
        raise InvalidInput(
            f"{path} is nested deeper than {MAX_METADATA_DEPTH} levels or has more than "
            f"{MAX_METADATA_VALUES:,} values; keep large data elsewhere and store a reference"
        )
    if value is None or value is True or value is False:
        return value
    kind = type(value)
    if kind is str:
        return _afforded(path, _storable(path, value), budget)
    if kind is int:
        return _writable(path, cast("int", value))
    if kind is float:
        return _finite(path, cast("float", value))
    return _copy_container(path, value, depth, budget)


def _copy_container(path: str, value: object, depth: int, budget: list[int]) -> Json:
    if isinstance(value, Mapping):
        copied: dict[str, Json] = {}
        for key, inner in cast("Mapping[object, object]", value).items():
            if type(key) is not str:
                raise InvalidInput(f"{path} has the key {key!r}; JSON keys are text (str)")
            name = _afforded(path, _storable(f"a key of {path}", key), budget)
            copied[name] = _copy_json(f"{path}.{name}", inner, depth - 1, budget)
        return copied
    if isinstance(value, (list, tuple)):
        items = cast("Iterable[object]", value)
        return [_copy_json(f"{path}[{i}]", inner, depth - 1, budget) for i, inner in enumerate(items)]
    raise InvalidInput(
        f"{path} is a {type(value).__name__}, which JSON cannot hold; convert it first "
        "(for example isoformat() for a date, str() for a UUID, list() for a set)"
    )


def _afforded(path: str, text: str, budget: list[int]) -> str:
    budget[1] -= len(text)
    if budget[1] < 0:
        raise InvalidInput(
            f"the texts up to {path} have more than {MAX_METADATA_CHARS:,} characters together; "
            "keep large data elsewhere and store a reference"
        )
    return text


def _writable(path: str, value: int) -> int:
    if value.bit_length() > MAX_INT_BITS:
        raise InvalidInput(
            f"{path} has more than {MAX_INT_BITS} bits, which not every JSON reader takes: use text"
        )
    return value


def _finite(path: str, value: float) -> float:
    if not math.isfinite(value):
        raise InvalidInput(f"{path} is {value}; JSON has no such number: use None")
    return value


def check_tags(value: object) -> tuple[str, ...]:
    """The tags once each, in the order given; None gives none.

    Raises:
        InvalidInput: a lone string, a tag that is not plain text, more than `MAX_TAGS` of them.
    """
    if value is None:
        return ()
    if isinstance(value, str) or not isinstance(value, Iterable):
        raise InvalidInput('tags must be a list of texts, for example tags=["billing"]')
    tags = tuple(dict.fromkeys(check_label("tag", tag) for tag in cast("Iterable[object]", value)))
    if len(tags) > MAX_TAGS:
        raise InvalidInput(f"{len(tags)} tags; the limit is {MAX_TAGS}")
    return tags


def check_label(field: str, value: object, *, max_chars: int = MAX_TAG_CHARS) -> str:
    """A short text without control characters: a tag, a speaker's name, a key.

    Raises:
        InvalidInput: blank, longer than `max_chars`, or with control characters.
    """
    text = check_text(field, value, max_chars=max_chars)
    if not text.isprintable():
        raise InvalidInput(f"{field} {text!r} holds a character that cannot be printed; leave it out")
    return text


def check_time(field: str, value: object) -> datetime:
    """The same instant in UTC.

    Raises:
        InvalidInput: not a datetime, or a naive one (its zone would have to be guessed).
    """
    if not isinstance(value, datetime):
        raise InvalidInput(f"{field} must be a datetime, not {type(value).__name__}")
    if value.utcoffset() is None:
        raise InvalidInput(
            f"{field} {value.isoformat()} has no time zone; say which, for example "
            "value.replace(tzinfo=UTC) or value.astimezone()"
        )
    try:
        return value.astimezone(UTC)
    except OverflowError as error:
        raise InvalidInput(f"{field} {value.isoformat()} lies outside the years 1 to 9999 in UTC") from error


def check_unit(field: str, value: object) -> float:
    """A finite number from 0 to 1.

    Raises:
        InvalidInput: anything else (bool counts as anything else).
    """
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= 1:
        raise InvalidInput(f"{field} must be a number from 0 to 1, not {value!r}")
    return float(value)


def check_score(field: str, value: object) -> float | None:
    """A finite number, or None.

    Raises:
        InvalidInput: anything else (bool counts as anything else).
    """
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        raise InvalidInput(f"{field} must be a finite number, not {value!r}")
    return float(value)


def check_share(field: str, value: object) -> float | None:
    """A number from 0 to 1, or None.

    Raises:
        InvalidInput: anything else (bool counts as anything else).
    """
    share = check_score(field, value)
    if share is not None and not 0.0 <= share <= 1.0:
        raise InvalidInput(f"{field} must be from 0 to 1, not {value!r}")
    return share


def check_limit(field: str, value: object, *, maximum: int = MAX_LIMIT) -> int:
    """A whole number from 0 to `maximum`.

    Raises:
        InvalidInput: anything else, also 2.0, "3" and True.
    """
    if type(value) is not int or not 0 <= value <= maximum:
        raise InvalidInput(f"{field} must be a whole number from 0 to {maximum:,}, not {value!r}")
    return value
