"""A store of threads that is sealed: what somebody without the key changed is refused when it is read."""

import asyncio
import functools
import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from retentive.errors import Conflict, InvalidInput, StoreUnavailable, Tampered
from retentive.integrity.anchor import Anchor, Head
from retentive.integrity.mac import Mac
from retentive.integrity.redacting import Redacting
from retentive.integrity.thread_seal import ThreadSeal, check_anchor, check_end
from retentive.names import check_name
from retentive.stores.base import (
    LeasesThreads,
    Leaving,
    LogRead,
    NewTurn,
    Redacts,
    ThreadStore,
)
from retentive.stores.leases import HeldKeys, held
from retentive.stores.wrapped import files_of
from retentive.stores.write_turns import WriteTurns
from retentive.types import Turn

MAX_THREADS: Final = 1_000
"""How many threads' chains are held in memory; one used again is read anew."""

_TRIES = 8
_log = logging.getLogger(__name__)


class SealedThreadStore:
    """Wraps a `ThreadStore`: same laws, and every read is checked against the anchor's head.

    A thread is read whole once and then followed. Several processes with the same key and anchor may append.
    """

    def __init__(self, inner: ThreadStore, mac: Mac, anchor: Anchor) -> None:
        """Wrap the store; it is closed with this one."""
        self.inner = inner
        self._mac = mac
        self._anchor = anchor
        self._seals: OrderedDict[tuple[str, str], ThreadSeal] = OrderedDict()
        self._lock = threading.Lock()
        self._leased = HeldKeys()
        self._turns = WriteTurns()

    @property
    def url(self) -> str:
        """See `ThreadStore.url`."""
        return self.inner.url

    async def append(self, namespace: str, thread: str, turns: Sequence[NewTurn], since: int) -> LogRead:
        """See `ThreadStore.append`. Durable in the store and in the anchor before this returns.

        Raises:
            Tampered: the thread is not as it was left.
            StoreUnavailable: as of the store; or the anchor cannot be written, and what was appended is
                taken as genuine once it can be.
        """
        if not turns:
            return await self.turns(namespace, thread, since)
        name = self._name(check_name("namespace", namespace), check_name("thread id", thread))
        async with self._turns.turn(name):
            anchored = await self._anchor.read(name)
            seal = self._known(namespace, thread)
            base = anchored.base if anchored else 0
            if seal is None or len(seal) < since or seal.base != base:
                seal, _ = await self._follow(namespace, thread, None)
            with self._lock:
                sealed = seal.seal(turns)
            appending = asyncio.ensure_future(self.inner.append(namespace, thread, sealed, since))
        read = await appending
        if since > len(seal) or read.redactions != seal.rewrites:
            return (await self._follow(namespace, thread, since))[1]
        with self._lock:
            taken = seal.take(read.turns)
            head = self._head(namespace, thread, seal, len(seal))
        kept = await self._anchor.advance(name, head)
        if kept != head and not self._agrees(seal, kept):
            await self._follow(namespace, thread, None)
        return replace(read, turns=tuple(taken))

    async def turns(self, namespace: str, thread: str, since: int = 0) -> LogRead:
        """See `ThreadStore.turns`.

        Raises:
            Tampered: the thread is not as it was left.
        """
        return (await self._follow(namespace, thread, since))[1]

    async def threads(self, namespace: str) -> list[str]:
        """See `ThreadStore.threads`."""
        return await self.inner.threads(namespace)

    async def namespaces(self) -> list[str]:
        """See `ThreadStore.namespaces`."""
        return await self.inner.namespaces()

    async def delete(self, namespace: str, thread: str) -> bool:
        """See `ThreadStore.delete`. A kill on the way leaves it whole or deleted, and either is genuine."""
        name = self._name(check_name("namespace", namespace), check_name("thread id", thread))
        head = await self._anchor.read(name)
        if head is not None and not head.going and head.label:
            head = await self._anchor.advance(name, replace(head, going=True))
        was_there = await self.inner.delete(namespace, thread)
        if head is not None and head.label:
            await self._end(name, namespace, thread, head)
        self._forget(namespace, thread)
        return was_there

    async def redact(
        self, namespace: str, thread: str, seqs: Sequence[int], at: datetime, leaving: Leaving | None = None
    ) -> list[Turn]:
        """See `Redacts.redact`. The redacted turns are sealed anew in the same step, then it is anchored.

        Raises:
            Tampered: the thread is not as it was left; nothing was redacted.
            InvalidInput: the store wrapped cannot redact.
            StoreUnavailable: as of the store; or the anchor cannot be written, and what was redacted is taken
                as genuine once it can be.
        """
        inner = self.inner
        if not isinstance(inner, Redacts):
            raise InvalidInput(f"{inner.url} cannot redact turns: use a store that can")
        name = self._name(check_name("namespace", namespace), check_name("thread id", thread))
        async with self._turns.turn(name):
            for attempt in range(_TRIES):
                await self._follow(namespace, thread, None)
                anchored = await self._anchor.read(name)
                seal = ThreadSeal(self._mac, namespace, thread, anchored)
                redacting = Redacting(seal, at, leaving)
                try:
                    await inner.redact(namespace, thread, seqs, at, redacting)
                except Tampered:
                    if attempt and await self._anchor.read(name) == anchored:
                        raise
                    continue
                finally:
                    self._forget(namespace, thread)
                await self._anchor_redactions(namespace, thread, seal, None)
                return redacting.taken
        raise Conflict(f"thread {thread!r} kept changing while it was redacted; try again")

    async def files(self, namespace: str) -> list[Path]:
        """See `KeepsFiles.files`.

        Raises:
            InvalidInput: the store wrapped does not say.
        """
        return await files_of(self.inner, namespace)

    async def close(self) -> None:
        """See `ThreadStore.close`."""
        await self.inner.close()
        with self._lock:
            self._seals.clear()

    def lease(self, namespace: str, thread: str, timeout_s: float) -> AbstractAsyncContextManager[None]:
        """See `LeasesThreads.lease`; within this process where the store wrapped gives none."""
        if isinstance(self.inner, LeasesThreads):
            return self.inner.lease(namespace, thread, timeout_s)
        return held(functools.partial(self._leased.take, (namespace, thread)), thread, timeout_s)

    async def adopt(self, namespace: str, thread: str) -> int:
        """Take the turns that are there as they are found, and anchor them; gives how many that are."""
        name = self._name(namespace, thread)
        kept = await self._anchor.read(name)
        read = await self.inner.turns(namespace, thread, 0)
        base = kept.version + 1 if kept else 0
        count = len(read.turns)
        seal = ThreadSeal(self._mac, namespace, thread, Head(version=base, mac="", base=base, adopted=count))
        seal.take(read.turns)
        if count:
            await self._anchor.advance(name, self._head(namespace, thread, seal, count))
            if kept is not None:
                await self._end_redactions(namespace, thread, kept.base)
        self._forget(namespace, thread)
        return count

    async def _follow(self, namespace: str, thread: str, since: int | None) -> tuple[ThreadSeal, LogRead]:
        """The thread's seal as the store is now, and the turns after `since` (None: it does not matter)."""
        name = self._name(check_name("namespace", namespace), check_name("thread id", thread))
        for attempt in range(_TRIES):
            anchored = await self._anchor.read(name)
            seal = self._seal(namespace, thread, anchored, fresh=attempt > 0)
            known = len(seal)
            redacted = await self._anchor.read(self._redactions_name(namespace, thread, seal.base))
            start = known if since is None else min(since, known)
            read = await self.inner.turns(namespace, thread, start)
            if not read.position and anchored is not None and anchored.going:
                await self._end(name, namespace, thread, anchored)
                continue
            if known and read.redactions != seal.rewrites:
                self._forget(namespace, thread)
                continue
            try:
                taken = self._take(seal, read)
                check_end(seal, read.position, known)
                check_anchor(seal, anchored)
                seal.redactions.check(redacted)
            except Tampered:
                self._forget(namespace, thread)
                if attempt and await self._anchor.read(name) == anchored:
                    raise
                continue
            await self._catch_up_anchor(name, namespace, thread, seal, anchored)
            await self._catch_up_redactions(namespace, thread, seal, redacted)
            turns = [turn for turn in taken if turn.seq > (since or 0)]
            position = turns[-1].seq if turns else read.position
            return seal, replace(read, turns=tuple(turns), position=position)
        raise Conflict(f"thread {thread!r} kept changing while it was read; try again")

    async def _catch_up_anchor(
        self, name: str, namespace: str, thread: str, seal: ThreadSeal, anchored: Head | None
    ) -> None:
        """Anchor what a writer that was killed had appended."""
        if seal.base + len(seal) <= (anchored.version if anchored else 0):
            return
        try:
            await self._anchor.advance(name, self._head(namespace, thread, seal, len(seal)))
        except StoreUnavailable as error:  # it was never acknowledged, so reading may go on
            _log.warning("%s", error)

    async def _catch_up_redactions(
        self, namespace: str, thread: str, seal: ThreadSeal, anchored: Head | None
    ) -> None:
        """Anchor what was redacted by one that was killed."""
        try:
            await self._anchor_redactions(namespace, thread, seal, anchored)
        except StoreUnavailable as error:  # it was never acknowledged, so reading may go on
            _log.warning("%s", error)

    async def _anchor_redactions(
        self, namespace: str, thread: str, seal: ThreadSeal, anchored: Head | None
    ) -> None:
        if len(seal.redactions) > (anchored.version if anchored else 0):
            label = json.dumps([self._mac.place_id, "redactions", namespace, thread], ensure_ascii=False)
            name = self._redactions_name(namespace, thread, seal.base)
            await self._anchor.advance(name, seal.redactions.head(label))

    async def _end(self, name: str, namespace: str, thread: str, head: Head) -> None:
        """Anchor that the thread is gone."""
        await self._end_redactions(namespace, thread, head.base)
        await self._anchor.advance(name, _deleted(head))

    async def _end_redactions(self, namespace: str, thread: str, base: int) -> None:
        name = self._redactions_name(namespace, thread, base)
        kept = await self._anchor.read(name)
        if kept is not None and kept.label:
            await self._anchor.advance(name, _deleted(kept))

    def _take(self, seal: ThreadSeal, read: LogRead) -> list[Turn]:
        with self._lock:
            seal.rewrites = read.redactions
            return seal.take(read.turns)

    def _agrees(self, seal: ThreadSeal, kept: Head) -> bool:
        """Whether a later head is known here already."""
        number = kept.version - kept.base
        with self._lock:
            return kept.base == seal.base and number <= len(seal) and seal.link(number) == kept.mac

    def _head(self, namespace: str, thread: str, seal: ThreadSeal, number: int) -> Head:
        label = json.dumps([self._mac.place_id, "thread", namespace, thread], ensure_ascii=False)
        return Head(
            version=seal.base + number,
            mac=seal.link(number),
            base=seal.base,
            adopted=seal.adopted,
            label=label,
        )

    def _known(self, namespace: str, thread: str) -> ThreadSeal | None:
        with self._lock:
            return self._seals.get((namespace, thread))

    def _seal(self, namespace: str, thread: str, anchored: Head | None, *, fresh: bool) -> ThreadSeal:
        key = (namespace, thread)
        with self._lock:
            seal = None if fresh else self._seals.get(key)
            if seal is None or (anchored is not None and seal.base != anchored.base):
                seal = self._seals[key] = ThreadSeal(self._mac, namespace, thread, anchored)
                if len(self._seals) > MAX_THREADS:
                    self._seals.popitem(last=False)
            self._seals.move_to_end(key)
            return seal

    def _forget(self, namespace: str, thread: str) -> None:
        with self._lock:
            self._seals.pop((namespace, thread), None)

    def _name(self, namespace: str, thread: str) -> str:
        return self._mac.name_of("thread", namespace, thread)

    def _redactions_name(self, namespace: str, thread: str, base: int) -> str:
        """Each life of a thread has its own."""
        return self._mac.name_of("redactions", namespace, thread, str(base))


def _deleted(head: Head) -> Head:
    """The head after the thread is gone: its name is forgotten, its age is not."""
    return Head(version=head.version + 1, mac="", base=head.version + 1)
