"""What a store must do. It keeps bytes and order; it does not rank, embed, validate or read a clock.

Every extension point for storage is on this page. `retentive.testing` has the conformance suites that an
implementation must pass.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Final, Protocol, TypeAlias, runtime_checkable

from retentive.checks import Json, check_text
from retentive.errors import InvalidInput
from retentive.types import MemoryItem, Scope, Turn

MAX_NOTE_NAME_CHARS = 512
MAX_NOTE_BYTES = 1 << 20

SEAL: Final = "retentive:seal"
"""The name in a stored turn's metadata under which its seal stands; only the bare store shows it."""

ENCRYPTED: Final = "retentive:encrypted"
"""The name in a stored turn's metadata that says what was said is encrypted; only the bare store shows it."""


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredMemory:
    """A memory and what is kept beside it.

    `text_key` is unique among the memories of one scope and kind (None: it does not take part), `key` among
    those of one scope: the caller's idempotency key. `packed` is what ranking needs of it, opaque to a store.
    `vector` is float32, little-endian; None while it has none.
    """

    item: MemoryItem
    text_key: bytes | None
    key: str | None
    packed: bytes
    vector: bytes | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Changes:
    """One atomic change of one scope: all of it happens, or none.

    Deletes happen first, then updates, then inserts. An update replaces the memory of that id, if that one's
    `updated_at` is still the one named in `unchanged` (where it is named). An insert whose id, `key` or
    (kind, `text_key`) is taken is not written; the rest still is, unless `whole`: then nothing is,
    and the Conflict's `taken` says who holds the first such place. A delete
    of an unknown id does nothing. Deleting a memory sets the `near` of those that name it to None (in the
    item; the packed bytes stay as they are, so this is no change that a scan tells).

    `notes` are small named records of the scope that change together with its memories: how far a thread was
    extracted, what waits. None removes one; removing one that is not there does nothing. `expected` names
    notes that must be as given (None: not there) for anything to be written. A scope is there as long as it
    holds a memory or a note.

    What is deleted, removed or replaced leaves no bytes behind where the store keeps them.

    Raises:
        InvalidInput: a memory of another scope, a note's name that is not text of 1 to `MAX_NOTE_NAME_CHARS`
            characters, or a note that is not bytes, `MAX_NOTE_BYTES` at most.
    """

    scope: Scope
    deletes: Sequence[str] = ()
    updates: Sequence[StoredMemory] = ()
    inserts: Sequence[StoredMemory] = ()
    unchanged: Mapping[str, datetime] = field(default_factory=dict[str, datetime])
    notes: Mapping[str, bytes | None] = field(default_factory=dict[str, "bytes | None"])
    expected: Mapping[str, bytes | None] = field(default_factory=dict[str, "bytes | None"])
    whole: bool = False

    def __post_init__(self) -> None:
        for memory in (*self.updates, *self.inserts):
            if memory.item.scope != self.scope:
                raise InvalidInput(f"memory {memory.item.id!r} is of another scope than the change")
        for name in (*self.notes, *self.expected):
            check_text("a note's name", name, max_chars=MAX_NOTE_NAME_CHARS)
        for name, note in self.notes.items():
            _check_note(name, note)


def _check_note(name: str, note: object) -> None:
    if note is not None and type(note) is not bytes:
        raise InvalidInput(f"note {name!r} must be bytes or None, not {type(note).__name__}")
    if note is not None and len(note) > MAX_NOTE_BYTES:
        raise InvalidInput(
            f"note {name!r} has {len(note):,} bytes; the limit is {MAX_NOTE_BYTES:,}: split it into several"
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class Written:
    """What a change did: ids deleted, and for each insert, in order, the id now stored under its key.

    That is the insert's own id when it was written, else the id of the memory that was there already: the
    one with its id, else with its key, else with its text.
    """

    deleted: Sequence[str] = ()
    inserted: Sequence[str] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class IndexRow:
    """What the index needs of one memory, in one scan."""

    id: str
    packed: bytes
    vector: bytes | None
    embedder: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Scan:
    """The changes of a scope since a position, oldest first.

    When `reset`, `rows` are the whole scope: drop what you had. Else drop `gone` first, then put `rows` (one
    with a known id replaces it). `position` is where to go on from next time.
    """

    position: int
    rows: Sequence[IndexRow]
    gone: Sequence[str] = ()
    reset: bool = False


class MemoryStore(Protocol):
    """Keeps memories. Everything takes the scope and never returns or touches another scope's data."""

    @property
    def url(self) -> str:
        """Where it is, without secrets; for messages and events."""
        ...

    async def open(self) -> None:
        """Make ready; harmless when open already.

        Raises:
            StoreUnavailable, StoreCorrupt, SchemaTooNew: it cannot be used.
        """
        ...

    async def write(self, changes: Changes) -> Written:
        """Make one atomic change, durable before this returns.

        Raises:
            NotFound: an update names an id that is not in the scope; nothing is written.
            Conflict: an update would take a `key` or (kind, `text_key`) that another memory has, or the
                memory is no longer as in `unchanged`, or a note not as in `expected`, or the change is to be
                `whole` and an insert's place is taken; nothing is written.
            StoreUnavailable: nothing is written (disk full, no right).
        """
        ...

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[StoredMemory | None]:
        """The memories, in the order asked; None where the scope has no such id."""
        ...

    async def scan(self, scope: Scope, since: int) -> Scan:
        """What changed in the scope after position `since`; 0 gives everything. Sees every finished write."""
        ...

    async def notes(self, scope: Scope, prefix: str = "") -> dict[str, bytes]:
        """The notes of the scope whose names begin with `prefix`, by name, sorted."""
        ...

    async def scopes(self, namespace: str) -> list[Scope]:
        """The scopes of a namespace that hold memories or notes; the shared one first, then by user id."""
        ...

    async def namespaces(self) -> list[str]:
        """The namespaces that hold memories or notes, sorted."""
        ...

    async def close(self) -> None:
        """Let go of files and threads; harmless when closed. Later use raises StoreClosed."""
        ...


@runtime_checkable
class KeepsFiles(Protocol):
    """The extra power of a store, of memories or threads, to say in which files its data are."""

    async def files(self, namespace: str) -> list[Path]:
        """The files there are that hold data of the namespace, or held some and may not be clean; sorted.

        Copies, logs and left-over temporary files count. What can be wiped of them was wiped before this
        returns.

        Raises:
            StoreUnavailable: the place cannot be read.
        """
        ...


@runtime_checkable
class ReadsFiles(Protocol):
    """The extra power of a store whose files must not be opened beside it while it is open."""

    def pieces(self, path: Path) -> Iterator[bytes]:
        """The bytes of one of the store's files, piece after piece; blocking.

        Raises:
            OSError, StoreError: it cannot be read.
        """
        ...


@runtime_checkable
class KeepsCopies(Protocol):
    """The extra power of a MemoryStore to look into the copies that it made of itself."""

    async def copies_with(self, scope: Scope, ids: Sequence[str], *, everyone: bool) -> dict[Path, int]:
        """How many of these memories each copy holds, in whatever wording; by file, all copies there are.

        `everyone` asks for them in the whole namespace.

        Raises:
            StoreError: a copy cannot be read.
        """
        ...


@runtime_checkable
class ListsIds(Protocol):
    """The extra power of a MemoryStore to list a scope without reading it, for an export of any size."""

    async def ids(self, scope: Scope) -> list[str]:
        """The ids of all memories of the scope, sorted."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class NewTurn:
    """A turn before it has a number.

    One that is to be there `once` has an id that says so itself: whoever appends it again uses the same.
    """

    id: str
    role: str
    content: str
    at: datetime
    metadata: Mapping[str, Json] = field(default_factory=dict[str, Json])
    once: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Damage:
    """A part of a log that could not be read: its line (from 1), what was wrong, where its bytes are."""

    line: int
    reason: str
    kept_at: str | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class LogRead:
    """Turns in order of `seq`, the damage met on the way, and the position to go on from.

    The position is the `seq` of the last turn given, or of the last one there if none is given; 0 if the
    thread has none. `redactions` counts how often turns of the thread were redacted; who has read the thread
    when it was another number holds words that are gone, and reads it anew from 0.
    """

    turns: Sequence[Turn]
    position: int
    damage: Sequence[Damage] = ()
    redactions: int = 0


class ThreadStore(Protocol):
    """Keeps threads: append-only logs named by (namespace, thread id)."""

    @property
    def url(self) -> str:
        """Where it is, without secrets; for messages and events."""
        ...

    async def append(self, namespace: str, thread: str, turns: Sequence[NewTurn], since: int) -> LogRead:
        """Number the turns after the last one there and keep them, all or none, durable before this returns.

        Gives every turn after position `since`, other writers' first; the last are the ones appended. If one
        of them is to be there `once` and a turn after `since` has its id, none is kept, and what is given
        ends with the turns that were there.
        Metadata is copied on its way in, and what is given cannot change what is kept.

        Raises:
            Conflict: the thread no longer reaches `since` (deleted, or shortened); nothing was kept.
            StoreUnavailable, ReadOnly: nothing was kept.
        """
        ...

    async def turns(self, namespace: str, thread: str, since: int = 0) -> LogRead:
        """The turns after position `since`; 0 gives all. An unknown thread has none."""
        ...

    async def threads(self, namespace: str) -> list[str]:
        """The ids of the namespace's threads, sorted."""
        ...

    async def namespaces(self) -> list[str]:
        """The namespaces that hold threads, sorted."""
        ...

    async def delete(self, namespace: str, thread: str) -> bool:
        """Remove the thread and all that was kept of it; False when there was none."""
        ...

    async def close(self) -> None:
        """Let go of files; harmless when closed. Later use raises StoreClosed."""
        ...


Leaving: TypeAlias = Callable[[Sequence[Turn], Sequence[Turn]], Mapping[int, Mapping[str, Json]]]
"""Says of turns that are being redacted, by number, what is to stay in their metadata.

It is called with all turns of the thread as they are, then with those that will be redacted.
"""

NOTHING_LEFT: Final[Mapping[int, Mapping[str, Json]]] = {}


@runtime_checkable
class Redacts(Protocol):
    """The extra power of a ThreadStore to take out what was said in a turn."""

    async def redact(
        self, namespace: str, thread: str, seqs: Sequence[int], at: datetime, leaving: Leaving | None = None
    ) -> list[Turn]:
        """The turns of these numbers that were redacted just now, as they were, in order.

        Each keeps its number, id, role and time; its content is `REDACTED`, and its metadata says `at` and
        nothing else (see `Turn.is_redacted`). All of them are redacted or none, durable before this returns,
        and what was said leaves no bytes in the store's files. Unknown numbers and turns that were redacted
        before are passed over. Numbers stay, so positions stay good; `LogRead.redactions` tells readers.

        `leaving` is for wrappers that keep something of their own beside each turn. It is called once, where
        nobody else can write to the thread until all is done; what it gives is kept beside `at`, and what it
        raises leaves all as it was.

        Raises:
            StoreUnavailable, ReadOnly: nothing was redacted.
        """
        ...


@runtime_checkable
class LeasesThreads(Protocol):
    """The extra power of a ThreadStore to give a thread to one run at a time, also between processes."""

    def lease(self, namespace: str, thread: str, timeout_s: float) -> AbstractAsyncContextManager[None]:
        """Hold the thread while the block runs; appends and reads by others go on.

        Not re-entrant. A lease ends with its process, however that ends. Serves any number of event loops.

        Raises:
            Conflict: another holds it, and still did after `timeout_s`.
            StoreUnavailable, ReadOnly: no lease can be had here.
        """
        ...
