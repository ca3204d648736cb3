"""The values everything else speaks in: immutable, keyword-only, checked when they are made."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import Enum, StrEnum
from typing import Final

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
    `superseded_by` names the memory that took its place, `superseded_at` when that was written, and
    `planned_until` the `valid_until` it had until then; `supersedes` names the one whose place it took (of
    several the first). `merged_from` names, for one that `consolidate` made, those that it says as one,
    and `merged_sources` all that those came from, which stays known when they are purged.
    `embedder` is the fingerprint of the model that was asked for its vector (it may have had none for this
    text); None means that none has answered yet, and that the vector follows.
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
    superseded_at: datetime | None = None
    planned_until: datetime | None = None
    merged_from: tuple[str, ...] = ()
    merged_sources: tuple[Source, ...] = ()
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

    @property
    def sources(self) -> tuple[Source, ...]:
        """All that it comes from, its own `source` first; each once."""
        own = () if self.source is None else (self.source,)
        return tuple(dict.fromkeys((*own, *self.merged_sources)))

    @property
    def stated_period(self) -> tuple[datetime | None, datetime | None]:
        """For when it is stated, as far as that sets it apart from others in the same words.

        Since when a memory holds that took another's place follows from that alone: saying the same words
        again says nothing new.
        """
        begun = self.supersedes is not None and self.valid_from and self.valid_from <= self.created_at
        return None if begun else self.valid_from, self.valid_until


@dataclass(frozen=True, slots=True, kw_only=True)
class Disagreement:
    """Two living memories worded alike that state different facts; both may be true, or one is out of date.

    `why` says where they differ, the older first: "numbers differ: 4 / 5". It is for people and logs.
    """

    newer: MemoryItem
    older: MemoryItem
    why: str


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
    valid and not expired; None is `known_at`, or else now. With `known_at` only what was recorded by then
    counts, and what was superseded later counts as it did before. `min_trust` is the least trusted origin
    that passes. A superseded memory passes only for an instant before it ended, or as if nothing had taken
    its place when `include_superseded`.
    """

    kinds: frozenset[MemoryKind] = frozenset()
    tags: frozenset[str] = frozenset()
    since: datetime | None = None
    until: datetime | None = None
    as_of: datetime | None = None
    known_at: datetime | None = None
    success: bool | None = None
    min_trust: Origin | None = None
    include_superseded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Query:
    """One question to one scope, passed unchanged from the edge to the ranking.

    `patience_s` is how long the embedder may take; then the words alone decide. None is no limit.
    """

    text: str
    scope: Scope
    filters: Filters = Filters()
    limit: int = 10
    offset: int = 0
    min_score: float | None = None
    min_confidence: float | None = None
    patience_s: float | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.text, str):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise InvalidInput(f"query must be text (str), not {type(self.text).__name__}")


class Traces:
    """Fingerprints of what was forgotten, by which `verify_forgotten` looks for its bytes.

    They hold no text: each is 64 bits of a few bytes, mixed with a random key. They stay in this process: a
    copy or a pickle of them is None, as who has key and fingerprints can tell a good guess from a bad one.
    `words` are those of memories and turns, `notes` those of notes; `turns` are the ids of turns.
    """

    __slots__ = ("key", "notes", "turns", "words")

    def __init__(self, key: int, words: bytes, notes: bytes, turns: frozenset[str]) -> None:
        self.key = key
        self.words = words
        self.notes = notes
        self.turns = turns

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        return type(None), ()

    def __deepcopy__(self, _: object) -> None:
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Receipt:
    """What a forget removed. Falsy when nothing was there.

    `removed` counts by place: rows, words, vectors, links, history; and notes, threads, turns where some were
    removed. `threads` names the threads that were deleted, `turns` the numbers of those redacted by thread,
    each as `namespace/thread`. It holds no text. With `everyone` the ids are those of all scopes of the
    namespace. `traces` is for `verify_forgotten` in this process; a copy made elsewhere has none.
    """

    scope: Scope
    at: datetime
    ids: tuple[str, ...]
    removed: Mapping[str, int]
    threads: tuple[str, ...] = ()
    turns: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    everyone: bool = False
    traces: Traces | None = field(default=None, repr=False, compare=False)

    def __bool__(self) -> bool:
        return bool(self.ids or any(self.removed.values()))


@dataclass(frozen=True, slots=True, kw_only=True)
class Checked:
    """A place that was searched for what was forgotten, and how much of it: `size` of `unit`s."""

    place: str
    size: int
    unit: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """Whether what was forgotten is gone: truthy when all was searched and nothing was found.

    `found` says where something is, and `skipped` what could not be searched and why: then the verdict is no
    proof, and falsy, whatever was found (see `complete`). `shared` counts the fingerprints met in files that
    living memories or turns account for: others say the same in part. Where a store is `encrypted`, files
    were searched for the encrypted bytes of what was removed, and for its words in clear.
    """

    checked: tuple[Checked, ...]
    found: tuple[str, ...] = ()
    skipped: tuple[str, ...] = ()
    shared: int = 0
    encrypted: bool = False

    @property
    def complete(self) -> bool:
        """Whether all was searched that had to be."""
        return not self.skipped

    def __bool__(self) -> bool:
        return self.complete and not self.found


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


REDACTED: Final = "[redacted]"
"""What stands in a turn in place of what was said there."""

REDACTED_AT: Final = "redacted_at"
"""The one entry that the metadata of a redacted turn has: when that was done, as ISO 8601 in UTC."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Turn:
    """One appended step of a thread. `seq` counts from 1 without gaps; order comes from it, not from `at`.

    A turn that was redacted keeps its number, id, role and time; what it said is `REDACTED`.
    """

    seq: int
    id: str
    role: str
    content: str
    at: datetime
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])

    @property
    def is_redacted(self) -> bool:
        """Whether what was said here was taken out."""
        return self.content == REDACTED and REDACTED_AT in self.metadata
