"""Threads: ordered, durable conversations. `open_thread` is the way in."""

import asyncio
import functools
import logging
import threading
import time
import weakref
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from hashlib import blake2b
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final, TypeAlias

from retentive.checks import check_label, check_limit, check_metadata, check_text
from retentive.clock import Clock, NewId, new_id, utc_now
from retentive.conversation import MAX_TURNS, Conversation, check_role
from retentive.errors import Conflict, InvalidInput, ReadOnly
from retentive.events import Event, EventType, Subscriber, Subscribers, tell, told_to_nobody
from retentive.frozen import frozen
from retentive.guards import asked, guards_of
from retentive.home import home as default_home
from retentive.names import check_name, file_name
from retentive.redaction.base import Redactor, check_redactor
from retentive.redaction.fields import redacted_said
from retentive.stores.base import Damage, LeasesThreads, LogRead, NewTurn, ThreadStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.leases import HeldKeys, held
from retentive.stores.wrapped import check_guarded, check_readable
from retentive.types import Scope, Turn

if TYPE_CHECKING:
    from retentive.encryption import EncryptionOption
    from retentive.integrity import IntegrityOption

Say: TypeAlias = "str | Turn | Mapping[str, Any]"
"""A turn to append: its content (the user's), one to copy, or content, role, metadata and key by name."""

MAX_DAMAGE: Final = 1_000
MAX_KEY_CHARS: Final = 256
INLINE_CHARS: Final = 20_000
KEYED: Final = "key-"
"""How the id of a turn begins that was appended with a key."""

_SAY_NAMES: Final = frozenset(["content", "role", "metadata", "key"])
_log = logging.getLogger("retentive.threads")
_identity = id
_live: "weakref.WeakValueDictionary[tuple[Path | int | str | bool | None, ...], Thread]" = (
    weakref.WeakValueDictionary()
)
_live_lock = threading.Lock()
_leased_here = HeldKeys()


@functools.lru_cache(maxsize=8)
def _store_below(home: Path) -> JsonlThreadStore:
    return JsonlThreadStore(home / "threads")


async def open_thread(  # noqa: PLR0913 - where it is kept, and how
    id: str,
    namespace: str = "default",
    *,
    read_only: bool = False,
    home: Path | None = None,
    store: ThreadStore | None = None,
    integrity: "IntegrityOption" = None,
    encryption: "EncryptionOption" = None,
    redactor: Redactor | None = None,
) -> "Thread":
    """The thread of that name, with all turns it has so far; an unknown one is empty.

    While the thread is in use, the same name gives the same object. It is kept in `store`, else below
    `home`, else below RETENTIVE_HOME or `./.retentive`. `read_only` needs no right to write there and
    refuses appends. Nothing is made on disk before the first append.

    `integrity="keyed"` makes it tamper-evident, `encryption` (a key source, or an `Encryption`) keeps it
    unreadable without the key, `redactor` takes secrets and personal data out of each turn before it is
    kept; all as in `Memory`.

    Raises:
        InvalidInput: `id` or `namespace` is not a plain name, or both `home` and `store` are given.
        StoreUnavailable: there is such a thread, but it cannot be read.
        Tampered: it is sealed, and not as it was left.
        WrongKey: it is encrypted with another key.
    """
    check_name("thread id", id)
    check_name("namespace", namespace)
    if store is not None and home is not None:
        raise InvalidInput("pass home or store, not both: a store has its own place")
    place = (home or default_home()).absolute() if store is None else store
    with _live_lock:
        where = place if isinstance(place, Path) else _identity(place)
        marks = [_mark(option) for option in (*asked(integrity, encryption), redactor)]
        key = (where, namespace, id, read_only, *marks)
        thread = _live.get(key)
        if thread is None:
            bare = _store_below(place) if isinstance(place, Path) else place
            kept_in = guards_of(integrity, encryption).threads(bare)
            thread = _live[key] = Thread(kept_in, namespace, id, read_only=read_only, redactor=redactor)
    return await thread.refresh()


def _mark(option: object) -> str | int | None:
    """What tells one way to open a thread from another."""
    return option if option is None or isinstance(option, str) else _identity(option)


class Thread:
    """An append-only conversation. Its turns are read from memory; appends are durable when they return.

    Safe to use from several tasks, threads and event loops at once. Turns of other processes come in with
    each append and `refresh`.
    """

    def __init__(  # noqa: PLR0913
        self,
        store: ThreadStore,
        namespace: str,
        id: str,
        *,
        read_only: bool = False,
        redactor: Redactor | None = None,
        clock: Clock = utc_now,
        new_id: NewId = new_id,
    ) -> None:
        """A thread without turns until `refresh`. Use `open_thread`, unless you inject a clock."""
        self.id = id
        self.namespace = namespace
        self.read_only = read_only
        self._store = store
        self._redactor = check_redactor(redactor)
        self._clock = clock
        self._new_id = new_id
        self._lock = threading.Lock()
        self._turns: list[Turn] = []
        self._keyed: set[str] = set()
        self._conversation: Conversation | None = None
        self._damage: dict[int, Damage] = {}
        self._redactions = 0
        self._subscribers = Subscribers()

    @property
    def store(self) -> ThreadStore:
        """What keeps it."""
        return self._store

    @property
    def url(self) -> str:
        """Where it is, without secrets."""
        place = self._store.url
        slash = "" if place.endswith("/") else "/"
        return f"{place}{slash}{file_name(self.namespace)}/{file_name(self.id)}"

    @property
    def damage(self) -> tuple[Damage, ...]:
        """What could not be read of the log so far, by line; empty when all is well."""
        with self._lock:
            return tuple(self._damage[line] for line in sorted(self._damage))

    def messages(self, limit: int | None = None) -> Conversation:
        """The turns known here, or the latest `limit` of them, in order. Reads memory only.

        Raises:
            InvalidInput: `limit` is not a whole number from 0.
        """
        with self._lock:
            if self._conversation is None:
                self._conversation = Conversation(self._turns)
            conversation = self._conversation
        if limit is None:
            return conversation
        return conversation[max(0, len(conversation) - check_limit("limit", limit, maximum=MAX_TURNS)) :]

    async def append(
        self,
        content: str,
        role: str = "user",
        metadata: Mapping[str, Any] | None = None,
        *,
        key: str | None = None,
    ) -> "Thread":
        """This thread, with the turn at its end: on disk, and in `messages()`.

        Turns are kept in the order of the calls; those that wait together share the cost. If the caller is
        cancelled, the turn is there wholly or not at all; `refresh` tells.

        Args:
            content: what was said; some text.
            role: user, assistant, system or tool.
            metadata: a JSON object, copied.
            key: makes a retry harmless: a turn that was appended with the same key stays the only one,
                whoever appended it. The turn's id follows from it.

        Raises:
            InvalidInput: nothing was written.
            RedactionError: the thread's redactor failed; nothing was written.
            ReadOnly: opened `read_only`, or without the right to write; nothing was written.
            Conflict: the key was used for another turn, of another role or content; or somebody deleted or
                shortened the log, and `messages()` now gives what is left. Nothing was written.
            StoreUnavailable: disk full or the like; nothing was written.
        """
        return await self._append([self._new_turn(content, role, metadata, key)])

    async def append_many(self, turns: Iterable[Say]) -> "Thread":
        """This thread, with the turns at its end, in order: all of them or, on an error, none.

        Turns whose key was used already are left out, as in `append`.

        Raises:
            InvalidInput, RedactionError, ReadOnly, Conflict, StoreUnavailable: as `append`.
        """
        if isinstance(turns, (str, Mapping)):
            raise InvalidInput("append_many takes a list of turns; append takes one")
        return await self._append([self._new_turn(**_said(turn)) for turn in turns])

    async def refresh(self) -> "Thread":
        """This thread, with the turns that others have appended meanwhile, and without what was redacted.

        If the log was replaced by another one, the turns are those of the new one.

        Raises:
            StoreUnavailable: it cannot be read.
        """
        started = time.perf_counter()
        new = await self._read_on()
        self._tell(EventType.THREAD_READ, "refresh", started, [turn.id for turn in new])
        return self

    async def _read_on(self) -> Sequence[Turn]:
        """The turns that were not known here before."""
        known = self._last()
        if known is not None:
            read = await self._store.turns(self.namespace, self.id, known.seq - 1)
            is_same = bool(read.turns) and (read.turns[0].seq, read.turns[0].id) == (known.seq, known.id)
            if is_same and read.redactions == self._redactions:
                return self._take(read)
        read = await self._store.turns(self.namespace, self.id, 0)
        with self._lock:
            is_current = (self._turns[-1] if self._turns else None) is known
            if is_current:
                self._turns, self._conversation, self._damage, self._keyed = [], None, {}, set()
                self._redactions = read.redactions
        if not is_current:
            return await self._read_on()
        return self._take(read)

    def subscribe(self, subscriber: Subscriber) -> Callable[[], None]:
        """Have every append and refresh of this object told to `subscriber(event)`, once it has happened.

        Gives a function that ends it. What a subscriber raises is logged and goes no further.
        """
        return self._subscribers.add(subscriber)

    def _tell(self, type: EventType, verb: str, started: float, ids: Sequence[str]) -> None:
        if told_to_nobody(self._subscribers):
            return
        event = Event(
            type=type,
            verb=verb,
            at=self._clock(),
            duration_ms=(time.perf_counter() - started) * 1000,
            memory=self.namespace,
            store=self._store.url,
            scope=Scope(self.namespace),
            ids=tuple(ids),
            thread=self.id,
        )
        tell(event, self._subscribers)

    async def _append(self, turns: Sequence[NewTurn]) -> "Thread":
        if self.read_only:
            raise ReadOnly(f"thread {self.id!r} was opened read_only; open it without to append")
        with self._lock:
            known = self._turns[-1:]
        check_guarded(self.id, known)
        turns = await self._redacted(turns)
        while True:
            turns, since = self._not_there(turns)
            if not turns:
                return self
            started = time.perf_counter()
            try:
                read = await self._store.append(self.namespace, self.id, turns, since)
            except Conflict:
                await self.refresh()
                raise
            self._take(read)
            if read.redactions != self._redactions:
                await self.refresh()
            there = {turn.id: turn for turn in read.turns}
            for turn in turns:
                _check_same_call(turn, there.get(turn.id))
            written = [turn.id for turn in turns if turn.id in there]
            self._tell(EventType.THREAD_WRITE, "append", started, written)
            turns = [turn for turn in turns if turn.id not in there]

    def _not_there(self, turns: Sequence[NewTurn]) -> tuple[list[NewTurn], int]:
        """The turns but for those whose key was used already, and the last number known here."""
        with self._lock:
            wanted = {turn.id for turn in turns if turn.id in self._keyed}
            used: dict[str, Turn | NewTurn] = (
                {one.id: one for one in self._turns if one.id in wanted} if wanted else {}
            )
            left: list[NewTurn] = []
            for turn in turns:
                if turn.id in used:
                    _check_same_call(turn, used[turn.id])
                else:
                    left.append(turn)
                    if turn.once:
                        used[turn.id] = turn
            return left, self._turns[-1].seq if self._turns else 0

    async def _redacted(self, turns: Sequence[NewTurn]) -> Sequence[NewTurn]:
        redactor = self._redactor
        if redactor is None:
            return turns
        chars = sum(len(turn.content) for turn in turns)

        def redact() -> list[NewTurn]:
            return [_redacted(redactor, turn) for turn in turns]

        return redact() if chars <= INLINE_CHARS else await asyncio.to_thread(redact)

    def _new_turn(
        self,
        content: str,
        role: str = "user",
        metadata: Mapping[str, Any] | None = None,
        key: str | None = None,
    ) -> NewTurn:
        return NewTurn(
            id=self._new_id() if key is None else _id_of_key(key),
            role=check_role(role),
            content=check_text("content", content),
            at=self._clock(),
            metadata=check_metadata("metadata", metadata),
            once=key is not None,
        )

    def _last(self) -> Turn | None:
        with self._lock:
            return self._turns[-1] if self._turns else None

    def _take(self, read: LogRead) -> Sequence[Turn]:
        """Add and give what is not known yet; answers may come in any order, without holes before an end."""
        with self._lock:
            last = self._turns[-1].seq if self._turns else 0
            new = [turn for turn in read.turns if turn.seq > last]
            check_readable(self.id, new)
            if new:
                self._turns += map(_shared, new)
                self._keyed.update(turn.id for turn in new if turn.id.startswith(KEYED))
                self._conversation = None
            for damage in read.damage:
                self._take_damage(damage)
        return new

    def _take_damage(self, damage: Damage) -> None:
        known = self._damage.get(damage.line)
        if known is None and len(self._damage) < MAX_DAMAGE:
            _log.warning("%s: line %d: %s", self.url, damage.line, damage.reason)
        if known is not None or len(self._damage) < MAX_DAMAGE:
            self._damage[damage.line] = damage

    def __len__(self) -> int:
        with self._lock:
            return len(self._turns)

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        how = ", read-only" if self.read_only else ""
        return f"<Thread {self.id!r} in {self.namespace!r}: {len(self)} turns{how}>"


def lease(thread: Thread, timeout_s: float) -> AbstractAsyncContextManager[None]:
    """Holds the thread for one run while the block runs; others that ask wait. Appends are not held back.

    Between processes where the thread's store can (`LeasesThreads`), within this one always.

    Raises:
        Conflict: another run holds it, and still did after `timeout_s`.
        StoreUnavailable, ReadOnly: no lease can be had where the thread is kept.
    """
    store = thread.store
    if isinstance(store, LeasesThreads):
        return store.lease(thread.namespace, thread.id, timeout_s)
    key = (_identity(store), thread.namespace, thread.id)
    return held(functools.partial(_leased_here.take, key), thread.id, timeout_s)


def _said(turn: Say) -> dict[str, Any]:
    if isinstance(turn, str):
        return {"content": turn}
    if isinstance(turn, Turn):
        return {"content": turn.content, "role": turn.role, "metadata": turn.metadata}
    if not isinstance(turn, Mapping) or "content" not in turn:  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput("a turn is a text, a Turn, or a mapping with content, role and metadata")
    if unknown := turn.keys() - _SAY_NAMES:
        raise InvalidInput(f"a turn has no {', '.join(sorted(map(str, unknown)))}; put that into metadata")
    return dict(turn)


def _id_of_key(key: str) -> str:
    checked = check_label("key", key, max_chars=MAX_KEY_CHARS)
    return KEYED + blake2b(checked.encode(), digest_size=16).hexdigest()


def _check_same_call(turn: NewTurn, there: "Turn | NewTurn | None") -> None:
    """Refuse a turn whose key was used for another one; of a redacted one nobody can tell any more."""
    if there is None or (isinstance(there, Turn) and there.is_redacted):
        return
    if (turn.role, turn.content) != (there.role, there.content):
        raise Conflict(f"the key of the turn {turn.id!r} was used for another turn: give each turn its own")


def _redacted(redactor: Redactor, turn: NewTurn) -> NewTurn:
    content, metadata = redacted_said(redactor, turn.content, turn.metadata)
    return replace(turn, content=content, metadata=metadata)


def _shared(turn: Turn) -> Turn:
    metadata = frozen(turn.metadata)
    if metadata is turn.metadata:
        return turn
    return Turn(seq=turn.seq, id=turn.id, role=turn.role, content=turn.content, at=turn.at, metadata=metadata)
