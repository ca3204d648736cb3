"""What an importer is given and gives: records with their places in, memories, threads and refusals out."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, TypeAlias, cast

from retentive.archive.lines import MAX_ID_CHARS, check_turn
from retentive.archive.report import Refusal
from retentive.codec import time_from_text
from retentive.drafts import NewMemory, clean_query
from retentive.errors import InvalidInput
from retentive.names import check_name
from retentive.types import Turn

MAX_TITLE_CHARS = 500


@dataclass(frozen=True, slots=True, kw_only=True)
class Record:
    """One parsed entry of a file, and where it stands there."""

    place: str
    data: object


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignMemory:
    """A memory to be; `user_id` is whom the file names, None where it names nobody."""

    place: str
    user_id: str | None
    new: NewMemory


@dataclass(frozen=True, slots=True, kw_only=True)
class ForeignThread:
    """A thread to be, its turns numbered from 1."""

    place: str
    thread: str
    turns: tuple[Turn, ...]


Found: TypeAlias = ForeignMemory | ForeignThread | Refusal
Importer: TypeAlias = Callable[[Iterable[Record]], Iterator[Found]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """What one message of a conversation says; `at` None takes the time of the one before it."""

    place: str
    id: str | None
    role: str
    text: str
    at: datetime | None
    metadata: Mapping[str, Any]


def fields(record: Record) -> Mapping[str, Any]:
    """The entry's fields.

    Raises:
        InvalidInput: it is no JSON object.
    """
    if not isinstance(record.data, dict):
        raise InvalidInput(f"a JSON object was expected, not {type(record.data).__name__}")
    return cast("dict[str, Any]", record.data)


def entry(record: Record, looks_like: Callable[[object], bool], wanted: str) -> Mapping[str, Any]:
    """The entry's fields, if it looks as it should.

    Raises:
        InvalidInput: it does not; the message says what is wanted.
    """
    if not looks_like(record.data):
        raise InvalidInput(f"an entry needs {wanted}")
    return fields(record)


def text(data: Mapping[str, Any], *names: str) -> str | None:
    """The first of the named fields that is some text, fit to be stored; None if none is."""
    for name in names:
        value = data.get(name)
        if isinstance(value, str) and value.strip():
            return clean_query(value)
    return None


def objects(value: object) -> list[Mapping[str, Any]]:
    """The JSON objects in a list; none where it is no list."""
    return (
        [one for one in cast("list[Any]", value) if isinstance(one, dict)] if isinstance(value, list) else []
    )


def when(value: object) -> datetime | None:
    """The instant of seconds since 1970 or of an ISO 8601 text with a zone; None where it is not known.

    A text without a zone is not known: the zone would have to be guessed.
    """
    try:
        if isinstance(value, str):
            return time_from_text(value)
        if isinstance(value, (int, float)) and not isinstance(value, bool):
            return datetime.fromtimestamp(value, UTC)
    except (ValueError, OverflowError, OSError):
        return None
    return None


def kept(**values: object) -> dict[str, Any]:
    """The values that say something."""
    return {name: value for name, value in values.items() if value not in (None, "", [], {})}


@dataclass(frozen=True, slots=True, kw_only=True)
class Talk:
    """A conversation of a file: its id and title as they stand there, when it began, what was said."""

    place: str
    id: object
    title: object = None
    begun: datetime | None = None
    said: Sequence[Said]


def thread_of(talk: Talk) -> Iterator[Found]:
    """The thread, without the messages that cannot be used: those are refused one by one.

    The title goes into the metadata of the first turn. A conversation without a message gives nothing.
    """
    try:
        name = check_name("conversation id", talk.id)
    except InvalidInput as error:
        yield Refusal(place=talk.place, reason=str(error))
        return
    turns: list[Turn] = []
    last = next((one.at for one in talk.said if one.at is not None), talk.begun)
    for one in talk.said:
        last = one.at or last
        try:
            turns.append(_turn(one, name, len(turns) + 1, last))
        except InvalidInput as error:
            yield Refusal(place=one.place, reason=str(error))
    if not turns:
        return
    if isinstance(talk.title, str) and talk.title.strip():
        named = clean_query(talk.title)[:MAX_TITLE_CHARS]
        turns[0] = replace(turns[0], metadata={**turns[0].metadata, "title": named})
    yield ForeignThread(place=talk.place, thread=name, turns=tuple(turns))


def _turn(said: Said, thread: str, seq: int, at: datetime | None) -> Turn:
    if at is None:
        raise InvalidInput("it has no time with a zone, and neither has any message of its conversation")
    id = said.id or f"{thread}-{seq}"
    if len(id) > MAX_ID_CHARS:
        raise InvalidInput(f"its id has {len(id)} characters; the limit is {MAX_ID_CHARS}")
    return check_turn(Turn(seq=seq, id=id, role=said.role, content=said.text, at=at, metadata=said.metadata))
