"""From what a caller passes to a checked memory: every rule about a memory's fields is here."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from enum import StrEnum
from hashlib import blake2b
from typing import TypeAlias, TypeVar, cast

from retentive import checks
from retentive.errors import InvalidInput
from retentive.names import check_name
from retentive.ranking.dedupe import text_key
from retentive.tokens import truncate
from retentive.types import UNSET, Filters, MemoryItem, MemoryKind, Origin, Scope, Source

Lifetimes: TypeAlias = Mapping[MemoryKind, timedelta]
_E = TypeVar("_E", bound=StrEnum)

DEFAULT_LIFETIMES: Lifetimes = {
    MemoryKind.WORKING: timedelta(hours=1),
    MemoryKind.SHORT_TERM: timedelta(days=1),
}
MAX_EMBEDDED_CHARS = 2_000
MAX_KEY_CHARS = 256
MAX_LABEL_CHARS = 512
MAX_TURNS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class NewMemory:
    """A memory to be: what `remember` takes, as one value for `remember_many`. Checked when remembered."""

    content: str
    kind: MemoryKind | str = MemoryKind.SEMANTIC
    importance: float = 0.5
    tags: Iterable[str] = ()
    metadata: Mapping[str, object] | None = None
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    ttl: timedelta | None = None
    expires_at: datetime | None = None
    source: Source | None = None
    origin: Origin | str = Origin.USER
    success: bool | None = None
    key: str | None = None


def make_item(
    draft: NewMemory, scope: Scope, now: datetime, lifetimes: Lifetimes, new_id: Callable[[], str]
) -> MemoryItem:
    """The memory, checked, with its id and times; its vector is not made yet.

    Raises:
        InvalidInput: a field cannot be used; the message names it.
    """
    kind = check_kind(draft.kind)
    if draft.key is not None:
        checks.check_label("key", draft.key, max_chars=MAX_KEY_CHARS)
    item = MemoryItem(
        id=new_id(),
        scope=scope,
        kind=kind,
        content=checks.check_text("content", draft.content),
        importance=checks.check_unit("importance", draft.importance),
        tags=checks.check_tags(draft.tags),
        metadata=checks.check_metadata("metadata", draft.metadata),
        created_at=now,
        updated_at=now,
        occurred_at=_optional_time("occurred_at", draft.occurred_at),
        valid_from=_optional_time("valid_from", draft.valid_from),
        valid_until=_optional_time("valid_until", draft.valid_until),
        expires_at=_expiry(draft, now, lifetimes.get(kind)),
        source=None if draft.source is None else check_source(draft.source),
        origin=_member("origin", Origin, draft.origin),
        success=check_success(draft.success),
    )
    check_validity(item)
    return item


def make_items(
    new: Sequence[NewMemory], scope: Scope, now: datetime, lifetimes: Lifetimes, new_id: Callable[[], str]
) -> list[MemoryItem]:
    """The memories, in order.

    Raises:
        InvalidInput: as `make_item`; of several, the message says which.
    """
    items: list[MemoryItem] = []
    for number, draft in enumerate(new, start=1):
        try:
            items.append(make_item(draft, scope, now, lifetimes, new_id))
        except InvalidInput as error:
            if len(new) == 1:
                raise
            raise InvalidInput(f"memory {number} of {len(new)}: {error}") from error
    return items


def key_of(item: MemoryItem) -> bytes | None:
    """What must be unique in its scope and kind: the normalised text, and what else sets it apart.

    Of a turn that is which turn it is, of a memory that holds for some time only that time, and whose word it
    is if not the user's: what a tool said must not stand in the way of the user saying it. None for a
    superseded memory: what it says may be said anew.
    """
    if item.superseded_by is not None:
        return None
    apart: list[object] = []
    if item.source is not None and item.is_turn:
        apart += [item.source.thread, item.source.turns]
    if any(period := item.stated_period):
        apart += period
    if item.origin is not Origin.USER:
        apart.append(str(item.origin))
    if not apart:
        return text_key(item.content)
    return blake2b(text_key(item.content) + repr(apart).encode(), digest_size=16).digest()


def text_to_embed(item: MemoryItem) -> str:
    """What the embedder is given: the content, led by the speaker's name where one is known.

    Of a long text only the first `MAX_EMBEDDED_CHARS`, which every known model takes; its words are all kept.
    """
    speaker = item.source.speaker if item.source is not None else None
    return truncate(f"{speaker}: {item.content}" if speaker else item.content, MAX_EMBEDDED_CHARS)


def check_kind(value: object) -> MemoryKind:
    """The kind.

    Raises:
        InvalidInput: no such kind; the message lists them.
    """
    return _member("kind", MemoryKind, value)


def check_source(value: object) -> Source:
    """The source, if its names are plain and its turns are numbers from 1.

    Raises:
        InvalidInput: anything else.
    """
    if not isinstance(value, Source):
        raise InvalidInput(f"source must be a retentive.Source, not {type(value).__name__}")
    if value.thread is not None:
        check_name("source.thread", value.thread)
    for field in ("speaker", "document", "place"):
        label = cast("str | None", getattr(value, field))
        if label is not None:
            checks.check_label(f"source.{field}", label, max_chars=MAX_LABEL_CHARS)
    turns = tuple(value.turns)
    if len(turns) > MAX_TURNS or any(type(turn) is not int or not 1 <= turn < 2**31 for turn in turns):
        raise InvalidInput(f"source.turns must be at most {MAX_TURNS} turn numbers, each from 1")
    return replace(value, turns=turns)


def check_success(value: object) -> bool | None:
    """True, False or None.

    Raises:
        InvalidInput: anything else.
    """
    if value is None or isinstance(value, bool):
        return value
    raise InvalidInput(f"success must be True, False or None, not {value!r}")


def _yes_or_no(field: str, value: object) -> bool:
    if isinstance(value, bool):
        return value
    raise InvalidInput(f"{field} must be True or False, not {value!r}")


def check_validity(item: MemoryItem) -> None:
    """Refuse a memory that would never be valid.

    Raises:
        InvalidInput: `valid_until` does not lie after `valid_from`.
    """
    if item.valid_from and item.valid_until and item.valid_until <= item.valid_from:
        raise InvalidInput("valid_until must lie after valid_from")


def check_filters(  # noqa: PLR0913 - the verbs' keywords, turned into one value at once
    *,
    kinds: Iterable[MemoryKind | str] | MemoryKind | str | None = None,
    tags: Iterable[str] | None = None,
    since: datetime | None = None,
    until: datetime | None = None,
    as_of: datetime | None = None,
    known_at: datetime | None = None,
    success: bool | None = None,
    min_trust: Origin | str | None = None,
    include_superseded: bool = False,
) -> Filters:
    """The filters of a query.

    Raises:
        InvalidInput: a field cannot be used; the message names it.
    """
    if isinstance(kinds, str):
        kinds = (kinds,)
    return Filters(
        kinds=frozenset(check_kind(kind) for kind in kinds or ()),
        tags=frozenset(checks.check_tags(tags)),
        since=_optional_time("since", since),
        until=_optional_time("until", until),
        as_of=_optional_time("as_of", as_of),
        known_at=_optional_time("known_at", known_at),
        success=check_success(success),
        min_trust=None if min_trust is None else _member("min_trust", Origin, min_trust),
        include_superseded=_yes_or_no("include_superseded", include_superseded),
    )


def check_id(value: object) -> str:
    """The id as passed; an id that was never given out is simply not found.

    Raises:
        InvalidInput: it is not text.
    """
    if not isinstance(value, str):
        raise InvalidInput(f"a memory's id is text (str), not {type(value).__name__}")
    return clean_query(value)


def clean_query(value: str) -> str:
    """The text with U+0000 and halves of surrogate pairs replaced by U+FFFD: it is looked for, not stored."""
    if "\x00" not in value and value.isascii():
        return value
    return value.replace("\x00", "\ufffd").encode("utf-8", "replace").decode()


_EDITS: Mapping[str, Callable[[object], object]] = {
    "content": lambda value: checks.check_text("content", value),
    "importance": lambda value: checks.check_unit("importance", value),
    "tags": checks.check_tags,
    "metadata": lambda value: checks.check_metadata("metadata", value),
    "success": lambda value: check_success(value),
    **{
        name: lambda value, name=name: None if value is None else checks.check_time(name, value)
        for name in ("occurred_at", "valid_from", "valid_until", "expires_at")
    },
}


def check_edit(**fields: object) -> dict[str, object]:
    """The fields that were passed, checked; those that are UNSET are left out.

    Raises:
        InvalidInput: a field cannot be used or changed, or none was passed.
    """
    if unknown := fields.keys() - _EDITS.keys():
        raise InvalidInput(f"{', '.join(sorted(unknown))} cannot be changed; what can: {', '.join(_EDITS)}")
    edit = {name: _EDITS[name](value) for name, value in fields.items() if value is not UNSET}
    if not edit:
        raise InvalidInput(f"update needs a field to change: {', '.join(_EDITS)}")
    return edit


def _optional_time(field: str, value: datetime | None) -> datetime | None:
    return None if value is None else checks.check_time(field, value)


def _expiry(draft: NewMemory, now: datetime, lifetime: timedelta | None) -> datetime | None:
    if draft.ttl is not None and draft.expires_at is not None:
        raise InvalidInput("pass ttl or expires_at, not both")
    if draft.expires_at is not None:
        expires_at = checks.check_time("expires_at", draft.expires_at)
        if expires_at <= now:
            raise InvalidInput(f"expires_at {expires_at.isoformat()} has passed already")
        return expires_at
    ttl = draft.ttl if draft.ttl is not None else lifetime
    if ttl is None:
        return None
    if not isinstance(ttl, timedelta) or ttl <= timedelta(0):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"ttl must be a timedelta above zero, for example timedelta(days=7), not {ttl!r}")
    try:
        return now + ttl
    except OverflowError as error:
        raise InvalidInput(f"ttl {ttl} reaches beyond the year 9999; leave it out") from error


def _member(field: str, members: type[_E], value: object) -> _E:
    if isinstance(value, str) and value in list(members):
        return members(value)
    raise InvalidInput(f"{field} must be one of {', '.join(members)}, not {value!r}")
