"""What ranking needs of one memory, computed once at write and packed beside its row."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from struct import Struct
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from retentive.errors import StoreCorrupt
from retentive.text import surfaces
from retentive.types import MemoryItem, MemoryKind, Origin

PACKING = 2
NO_TIME = np.iinfo(np.int64).min

FIRST_PERSON, TIME_WORDS, ENDS_ASKING, ASKS, IS_TURN, SUPERSEDED = 1, 2, 4, 8, 16, 32

KINDS = tuple(MemoryKind)
ORIGINS = tuple(Origin)
_SUCCESS = {None: -1, False: 0, True: 1}

_FIRST_FIELDS = [
    ("packing", "u1"),
    ("kind", "u1"),
    ("origin", "u1"),
    ("success", "i1"),
    ("flags", "<u4"),
    ("importance", "<f4"),
    ("turn", "<i4"),
    ("created", "<i8"),
    ("updated", "<i8"),
    ("occurred", "<i8"),
    ("valid_from", "<i8"),
    ("valid_until", "<i8"),
    ("expires", "<i8"),
]
HEAD = np.dtype([*_FIRST_FIELDS, ("superseded", "<i8"), ("planned_until", "<i8")])
_HEAD = Struct("<BBBbIfi8q")  # the same, field for field: much cheaper to fill
_HEADS = {1: np.dtype(_FIRST_FIELDS), PACKING: HEAD}
_TAIL_PARTS = 6
_SEPARATOR, _TAG_SEPARATOR = "\x1f", "\x1e"
_CONTROLS = re.compile("[\x1c-\x1f]")

_MONTHS = "january|february|march|april|may|june|july|august|september|october|november|december"
_WEEKDAYS = "monday|tuesday|wednesday|thursday|friday|saturday|sunday"
_FIRST_PERSON = re.compile(r"\b(?:i|my|we|our|me)\b")
_TIME_WORDS = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|last|next|ago|weekends?|weeks?|months?|years?|days|since|recently|soon"
    rf"|morning|{_WEEKDAYS}|{_MONTHS}|just|(?:19|20)\d\d|summer|winter|spring|fall|birthday|anniversary)\b"
)
_ASKING = ("?", "？", "؟")  # noqa: RUF001  the question marks of three scripts

Heads: TypeAlias = "NDArray[np.void]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Features:
    """What the ranking looks at. Times are microseconds since 1970 in UTC, `NO_TIME` where there is none.

    `words` are the kept words in order, repeats included, as they stand in the folded text; stems are made
    when they are read, so that a newer stemmer needs no new packing. `turn` is the first turn number, 0 where
    there is none.
    """

    words: tuple[str, ...]
    flags: int
    kind: MemoryKind
    origin: Origin
    importance: float
    success: bool | None
    created: int
    updated: int
    occurred: int
    valid_from: int
    valid_until: int
    expires: int
    superseded: int
    planned_until: int
    thread: str
    turn: int
    speaker: str
    tags: tuple[str, ...]
    near: str
    successor: str


@dataclass(frozen=True, slots=True)
class Columns:
    """Many packed features side by side, row for row: fixed fields, and the texts."""

    heads: Heads
    words: Sequence[list[str]]
    threads: Sequence[str]
    speakers: Sequence[str]
    nears: Sequence[str]
    tags: Sequence[str]
    successors: Sequence[str]


def features(item: MemoryItem) -> Features:
    """What the ranking needs of the memory."""
    source = item.source
    return Features(
        words=tuple(surfaces(item.content, stored=True)),
        flags=_flags(item),
        kind=item.kind,
        origin=item.origin,
        importance=item.importance,
        success=item.success,
        created=microseconds(item.created_at),
        updated=microseconds(item.updated_at),
        occurred=_optional(item.occurred_at),
        valid_from=_optional(item.valid_from),
        valid_until=_optional(item.valid_until),
        expires=_optional(item.expires_at),
        superseded=_optional(item.superseded_at),
        planned_until=_optional(item.planned_until),
        thread=(source.thread or "") if source else "",
        turn=source.turns[0] if source and source.turns else 0,
        speaker=(source.speaker or "") if source else "",
        tags=item.tags,
        near=item.near or "",
        successor=item.superseded_by or "",
    )


def microseconds(instant: datetime) -> int:
    """The instant as whole microseconds since 1970 in UTC, exactly."""
    delta = instant.astimezone(UTC) - _EPOCH
    return (delta.days * 86_400 + delta.seconds) * 1_000_000 + delta.microseconds


def pack(features: Features) -> bytes:
    """The features as bytes for a store to keep; `unpack_many` reads them."""
    head = _HEAD.pack(
        PACKING,
        KINDS.index(features.kind),
        ORIGINS.index(features.origin),
        _SUCCESS[features.success],
        features.flags,
        features.importance,
        features.turn,
        features.created,
        features.updated,
        features.occurred,
        features.valid_from,
        features.valid_until,
        features.expires,
        features.superseded,
        features.planned_until,
    )
    tail = (
        " ".join(features.words),
        _plain(features.thread),
        _plain(features.speaker),
        _plain(features.near),
        _TAG_SEPARATOR.join(_plain(tag) for tag in features.tags),
        _plain(features.successor),
    )
    return head + _SEPARATOR.join(tail).encode()


def is_current(packed: bytes) -> bool:
    """Whether this version can read it; if not, make the features anew from the memory."""
    return bool(packed) and packed[0] in _HEADS and len(packed) >= _HEADS[packed[0]].itemsize


def unpack_many(packed: Sequence[bytes]) -> Columns:
    """The features of many memories, in the order given. Those packed by older versions are read too.

    Raises:
        StoreCorrupt: some were packed by another version (see `is_current`) or are damaged.
    """
    if not all(map(is_current, packed)):
        raise StoreCorrupt(
            "what is stored for ranking was packed by another version: make it anew from the memories"
        )
    try:
        tails = [_tail(one) for one in packed]
    except UnicodeDecodeError as error:
        raise StoreCorrupt("what is stored for ranking is damaged: make it anew from the memories") from error
    parts = _TAIL_PARTS
    if any(len(tail) != parts for tail in tails):
        raise StoreCorrupt("what is stored for ranking is damaged: make it anew from the memories")
    texts, threads, speakers, nears, tags, successors = zip(*tails, strict=True) if tails else ((),) * parts
    words = [text.split() for text in texts]
    return Columns(_unpack_heads(packed), words, threads, speakers, nears, tags, successors)


def _unpack_heads(packed: Sequence[bytes]) -> Heads:
    """The fixed fields, those of older packings with `NO_TIME` for the times they do not have."""
    size = HEAD.itemsize
    if all(one[0] == PACKING for one in packed):
        return np.frombuffer(b"".join([one[:size] for one in packed]), dtype=HEAD)
    heads = np.zeros(len(packed), dtype=HEAD)
    heads["superseded"] = heads["planned_until"] = NO_TIME
    for version, dtype in _HEADS.items():
        rows = [row for row, one in enumerate(packed) if one[0] == version]
        found = np.frombuffer(b"".join([packed[row][: dtype.itemsize] for row in rows]), dtype=dtype)
        for name in dtype.names or ():
            heads[name][rows] = found[name]
    return heads


def _tail(packed: bytes) -> list[str]:
    version = packed[0]
    parts = str(packed[_HEADS[version].itemsize :], "utf-8").split(_SEPARATOR)
    return [*parts, ""] if version == 1 else parts


def split_tags(tags: str) -> list[str]:
    """The tags of one row of `Columns.tags`."""
    return tags.split(_TAG_SEPARATOR) if tags else []


def _flags(item: MemoryItem) -> int:
    lowered = item.content.lower()
    flags = IS_TURN if item.is_turn else 0
    flags |= FIRST_PERSON if _FIRST_PERSON.search(lowered) else 0
    flags |= TIME_WORDS if _TIME_WORDS.search(lowered) else 0
    flags |= ENDS_ASKING if lowered.rstrip().endswith(_ASKING) else 0
    flags |= ASKS if any(mark in lowered for mark in _ASKING) else 0
    return flags | (SUPERSEDED if item.superseded_by is not None else 0)


_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _optional(instant: datetime | None) -> int:
    return NO_TIME if instant is None else microseconds(instant)


def _plain(label: str) -> str:
    return _CONTROLS.sub(" ", label)
