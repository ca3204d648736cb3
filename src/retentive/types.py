"""The values everything else speaks in: immutable, keyword-only, checked when they are made."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum

from retentive.checks import Json
from retentive.errors import InvalidInput
from retentive.names import check_name, check_user


class MemoryKind(StrEnum):
    """What sort of thing a memory is. Working and short-term memories expire unless told otherwise."""

    WORKING = "working"
    SHORT_TERM = "short_term"
    EPISODIC = "episodic"
    SEMANTIC = "semantic"
    PROCEDURAL = "procedural"


class Origin(StrEnum):
    """Who said it. Never raised by later processing."""

    USER = "user"
    ASSISTANT = "assistant"
    TOOL = "tool"
    DOCUMENT = "document"
    IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class Scope:
    """Whose data: a namespace (the tenant boundary) and one user in it.

    `user_id=None` is the namespace's own shared scope. It is not "everyone": it never returns a user's
    memories, and a user's scope never returns it.
    """

    namespace: str
    user_id: str | None = None

    def __post_init__(self) -> None:
        check_name("namespace", self.namespace)
        if self.user_id is not None:
            check_user("user_id", self.user_id)


@dataclass(frozen=True, slots=True, kw_only=True)
class Source:
    """Where a memory comes from: turns of a thread and who spoke them, or a place in a document."""

    thread: str | None = None
    turns: tuple[int, ...] = ()
    speaker: str | None = None
    document: str | None = None
    place: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryItem:
    """One stored statement that outlives threads. Times are aware and in UTC.

    `near` names the older memory of the scope that says nearly the same but differs in a fact.
    `embedder` is the fingerprint of the model that made its vector; None means it has no vector.
    """

    id: str
    scope: Scope
    kind: MemoryKind
    content: str
    importance: float = 0.5
    tags: tuple[str, ...] = ()
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    created_at: datetime
    updated_at: datetime
    occurred_at: datetime | None = None
    valid_from: datetime | None = None
    valid_until: datetime | None = None
    expires_at: datetime | None = None
    source: Source | None = None
    origin: Origin = Origin.USER
    success: bool | None = None
    supersedes: str | None = None
    superseded_by: str | None = None
    near: str | None = None
    embedder: str | None = None

    @property
    def is_turn(self) -> bool:
        """Whether it is a turn of a conversation, kept word for word, rather than a statement.

        True for an episodic memory whose source names a thread and a turn: it is ranked with its neighbours
        in the thread, and the same words in another turn are another memory.
        """
        source = self.source
        return (
            self.kind is MemoryKind.EPISODIC and source is not None and bool(source.thread and source.turns)
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class MemoryHit:
    """A memory that answers a query. `why` holds the parts of the score by name; they add up to it."""

    item: MemoryItem
    score: float
    rank: int
    why: Mapping[str, float]

    @property
    def id(self) -> str:
        """The memory's id."""
        return self.item.id

    @property
    def content(self) -> str:
        """The memory's text."""
        return self.item.content


@dataclass(frozen=True, slots=True, kw_only=True)
class Filters:
    """What may be returned at all; applied before ranking, exactly. None and empty ask for nothing.

    `tags` must all be present. `since` (inclusive) and `until` (exclusive) bound when it happened:
    `occurred_at`, or `created_at` where that is not known. `as_of` is the instant at which a memory must be
    valid and not expired; None is now. Superseded memories pass only when `include_superseded`.
    """

    kinds: frozenset[MemoryKind] = frozenset()
    tags: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    success: bool | None = None
    include_superseded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question to one scope, passed unchanged from the edge to the ranking."""

    text: str
    scope: Scope
    filters: Filters = Filters()
    limit: int = 10
    offset: int = 0
    min_score: float | None = None
    min_confidence: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"query must be text (str), not {type(self.text).__name__}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a forget removed, by place: rows, vectors, words, links. Falsy when nothing was there."""

    scope: Scope
    at: datetime
    ids: tuple[str, ...]
    removed: Mapping[str, int]

    def __bool__(self) -> bool:
        return bool(self.ids)


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Memories, newest first, and where the next page starts: pass `next` as `after`; None is the end."""

    items: tuple[MemoryItem, ...]
    next: str | None

    def __iter__(self) -> Iterator[MemoryItem]:
        return iter(self.items)

    def __len__(self) -> int:
        return len(self.items)


class Unset(Enum):
    """Stands for "not passed" where None has a meaning of its own."""

    UNSET = "unset"


UNSET = Unset.UNSET


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One appended step of a thread. `seq` counts from 1 without gaps; order comes from it, not from `at`."""

    seq: int
    id: str
    role: str
    content: str
    at: datetime
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
