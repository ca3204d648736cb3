"""The options that commands share, and how their texts become values."""

import json
import re
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import Annotated, Any, NoReturn, TypeVar, cast

import typer

from retentive import checks
from retentive.checks import Json
from retentive.errors import InvalidInput
from retentive.types import MemoryKind, Origin

KINDS = ", ".join(MemoryKind)
ORIGINS = ", ".join(Origin)
_UNITS = {"s": "seconds", "m": "minutes", "h": "hours", "d": "days", "w": "weeks"}
_TTL = re.compile(r"\s*(\d{1,12})\s*([smhdw])\s*", re.IGNORECASE | re.ASCII)
_WHOLE = re.compile(r"\s*(-?\d{1,18})(?:\.0{1,9})?\s*", re.ASCII)
_T = TypeVar("_T")

Namespace = Annotated[
    str, typer.Option(help="The tenant. Nothing crosses from one to another.", metavar="NAME")
]
User = Annotated[
    str | None, typer.Option(help="Whose memories; without it the namespace's shared ones.", metavar="ID")
]
Store = Annotated[
    str | None,
    typer.Option(
        help="sqlite:///file.db, file:///folder or memory://; else RETENTIVE_URL, else memory.db in "
        "RETENTIVE_HOME or ./.retentive.",
        metavar="URL",
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON value; errors too, on stderr.")]

Kinds = Annotated[
    list[str] | None,
    typer.Option("--kind", help=f"Only this kind; repeat for more: {KINDS}.", metavar="KIND"),
]
Tags = Annotated[
    list[str] | None, typer.Option("--tag", help="Only with this tag; repeat to demand more.", metavar="TAG")
]
Since = Annotated[str | None, typer.Option(help="Only what happened at or after this time.", metavar="TIME")]
Until = Annotated[str | None, typer.Option(help="Only what happened before this time.", metavar="TIME")]
AsOf = Annotated[
    str | None, typer.Option("--as-of", help="What held at this time, instead of now.", metavar="TIME")
]
KnownAt = Annotated[
    str | None, typer.Option("--known-at", help="What was known here at this time.", metavar="TIME")
]
MinTrust = Annotated[
    str | None,
    typer.Option("--min-trust", help=f"Only from this origin or one before it: {ORIGINS}.", metavar="WHO"),
]
IncludeSuperseded = Annotated[
    bool,
    typer.Option("--include-superseded", help="Also what another memory took the place of."),
]
Limit = Annotated[str, typer.Option(help=f"At most this many, 0 to {checks.MAX_LIMIT:,}.", metavar="N")]
MinScore = Annotated[
    str | None, typer.Option("--min-score", help="Only hits that score this much.", metavar="NUMBER")
]
MinConfidence = Annotated[
    str | None,
    typer.Option(
        "--min-confidence",
        help="0 to 1: find nothing when it is less sure than this that the memories speak of it at all.",
        metavar="NUMBER",
    ),
]
Why = Annotated[bool, typer.Option("--why", help="Show the parts that add up to each score.")]


def optional(parse: Callable[[str, str], _T], field: str, text: str | None) -> _T | None:
    """What `parse(field, text)` gives; None for None."""
    return None if text is None else parse(field, text)


def whole_number(field: str, text: str, *, maximum: int = checks.MAX_LIMIT) -> int:
    """The number: "5", " 5 " and "5.0" are 5.

    Raises:
        InvalidInput: not a whole number from 0 to `maximum`.
    """
    found = _WHOLE.fullmatch(text)
    return checks.check_limit(field, int(found[1]) if found else text, maximum=maximum)


def number(field: str, text: str) -> float:
    """The finite number.

    Raises:
        InvalidInput: anything else.
    """
    try:
        value = float(text)
    except ValueError:
        value = float("nan")
    if value - value != 0:
        raise InvalidInput(f"{field} must be a finite number, not {text!r}")
    return value


def moment(field: str, text: str) -> datetime:
    """The instant of an ISO 8601 text with its zone, in UTC.

    Raises:
        InvalidInput: not such a text, or without a zone.
    """
    try:
        value = datetime.fromisoformat(text.strip())
    except ValueError as error:
        raise InvalidInput(f"{field} must be a time like 2026-03-01T09:30:00+01:00, not {text!r}") from error
    if value.utcoffset() is None:
        raise InvalidInput(
            f"{field} {text!r} has no time zone; add one: {value.isoformat()}Z for UTC, or for example "
            f"{value.isoformat()}+01:00"
        )
    return checks.check_time(field, value)


def lifetime(field: str, text: str) -> timedelta:
    """The span: "90s", "30m", "12h", "7d" or "2w".

    Raises:
        InvalidInput: anything else.
    """
    found = _TTL.fullmatch(text)
    if found is None:
        raise InvalidInput(f"{field} must be a number and a unit, such as 30m, 12h, 7d or 2w, not {text!r}")
    try:
        return timedelta(**{_UNITS[found[2].lower()]: int(found[1])})
    except OverflowError as error:
        raise InvalidInput(f"{field} {text!r} is too long; leave it out to keep the memory") from error


def json_object(field: str, text: str) -> dict[str, Json]:
    """The JSON object.

    Raises:
        InvalidInput: not strict JSON, or not an object.
    """
    try:
        value = cast("object", json.loads(text, parse_constant=_no_such_number, object_pairs_hook=_once))
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise InvalidInput(f"{field} is not JSON: {reason}") from error
    if not isinstance(value, dict):
        raise InvalidInput(f'{field} must be a JSON object such as {{"page": 3}}')
    return checks.check_metadata(field, cast("object", value))


def _no_such_number(name: str) -> NoReturn:
    raise ValueError(f"{name} is no JSON number")


def _once(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    named = dict(pairs)
    if len(named) < len(pairs):
        names = [name for name, _ in pairs]
        raise ValueError(f"the name {next(n for n in names if names.count(n) > 1)!r} stands there twice")
    return named
