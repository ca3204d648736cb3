"""A store of threads whose turns are encrypted before the store sees them."""

import asyncio
import base64
import functools
import json
from collections.abc import Mapping, Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import datetime
from pathlib import Path
from typing import Final

from retentive.checks import Json
from retentive.codec import time_to_text
from retentive.encryption.keeper import Keeper, no_key
from retentive.encryption.options import Encryption, NamespaceKeys
from retentive.errors import InvalidInput, WrongKey
from retentive.frozen import frozen
from retentive.stores.base import (
    ENCRYPTED,
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

_INLINE_TURNS: Final = 256


class EncryptedThreadStore:
    """Wraps a `ThreadStore`: same laws, and a turn's number, id, role and time are kept in clear.

    What was said, and its metadata, are encrypted and bound to thread, id, role and time. That a turn was
    redacted, and when, is in clear.
    """

    encrypts: Final = True

    def __init__(self, inner: ThreadStore, encryption: Encryption) -> None:
        """Wrap the store; it is closed with this one."""
        self.inner = inner
        self._keeper = Keeper(encryption)
        self._turns = WriteTurns()
        self._leased = HeldKeys()

    @property
    def url(self) -> str:
        """See `ThreadStore.url`."""
        return self.inner.url

    async def append(self, namespace: str, thread: str, turns: Sequence[NewTurn], since: int) -> LogRead:
        """See `ThreadStore.append`.

        Raises:
            WrongKey: the namespace holds turns that this key does not open; nothing is kept.
        """
        if not turns:
            return await self.turns(namespace, thread, since)

        async def holds_data() -> bool:
            return bool(await self.inner.threads(namespace))

        turns = [replace(turn, metadata=frozen(turn.metadata)) for turn in turns]
        async with self._turns.turn((namespace, thread)):
            keys = await self._keeper.keys_to_write(namespace, holds_data)
            sealed = [_sealed(keys, namespace, thread, turn) for turn in turns]
            appending = asyncio.ensure_future(self.inner.append(namespace, thread, sealed, since))
        appended = await appending
        await self._keeper.check(namespace, keys)
        return await self._opened(namespace, thread, appended)

    async def turns(self, namespace: str, thread: str, since: int = 0) -> LogRead:
        """See `ThreadStore.turns`.

        Raises:
            WrongKey: they cannot be read with this key.
        """
        return await self._opened(namespace, thread, await self.inner.turns(namespace, thread, since))

    async def threads(self, namespace: str) -> list[str]:
        """See `ThreadStore.threads`."""
        return await self.inner.threads(namespace)

    async def namespaces(self) -> list[str]:
        """See `ThreadStore.namespaces`."""
        return await self.inner.namespaces()

    async def delete(self, namespace: str, thread: str) -> bool:
        """See `ThreadStore.delete`."""
        return await self.inner.delete(namespace, thread)

    async def redact(
        self, namespace: str, thread: str, seqs: Sequence[int], at: datetime, leaving: Leaving | None = None
    ) -> list[Turn]:
        """See `Redacts.redact`.

        Raises:
            WrongKey: the turns cannot be read with this key; nothing was redacted.
            InvalidInput: the store wrapped cannot redact.
        """
        inner = self.inner
        if not isinstance(inner, Redacts):
            raise InvalidInput(f"{inner.url} cannot redact turns: use a store that can")
        keys = await self._keeper.keys(namespace)
        opened: list[Turn] = []

        def left(turns: Sequence[Turn], taken: Sequence[Turn]) -> Mapping[int, Mapping[str, Json]]:
            if keys is None:
                raise no_key(namespace)
            plain = [_opened_turn(keys, namespace, thread, turn) for turn in (turns if leaving else taken)]
            numbers = {turn.seq for turn in taken}
            opened[:] = [turn for turn in plain if turn.seq in numbers]
            return leaving(plain, opened) if leaving is not None else {}

        await inner.redact(namespace, thread, seqs, at, left)
        return opened

    async def files(self, namespace: str) -> list[Path]:
        """See `KeepsFiles.files`.

        Raises:
            InvalidInput: the store wrapped does not say.
        """
        return await files_of(self.inner, namespace)

    async def close(self) -> None:
        """See `ThreadStore.close`."""
        await self.inner.close()
        self._keeper.forget()

    def lease(self, namespace: str, thread: str, timeout_s: float) -> AbstractAsyncContextManager[None]:
        """See `LeasesThreads.lease`; within this process where the store wrapped gives none."""
        if isinstance(self.inner, LeasesThreads):
            return self.inner.lease(namespace, thread, timeout_s)
        return held(functools.partial(self._leased.take, (namespace, thread)), thread, timeout_s)

    async def _opened(self, namespace: str, thread: str, read: LogRead) -> LogRead:
        if not read.turns:
            return read
        keys = await self._keeper.keys(namespace)
        if keys is None:
            raise no_key(namespace)

        def opened() -> tuple[Turn, ...]:
            return tuple(_opened_turn(keys, namespace, thread, turn) for turn in read.turns)

        few = len(read.turns) <= _INLINE_TURNS
        return replace(read, turns=opened() if few else await asyncio.to_thread(opened))


def _sealed(keys: NamespaceKeys, namespace: str, thread: str, turn: NewTurn) -> NewTurn:
    plain = json.dumps([turn.content, turn.metadata]).encode()
    body = keys.cipher.encrypt(plain, *_place(namespace, thread, turn))
    return replace(turn, content=base64.b64encode(body).decode(), metadata={ENCRYPTED: True})


def _opened_turn(keys: NamespaceKeys, namespace: str, thread: str, turn: Turn) -> Turn:
    if turn.is_redacted:
        return turn
    try:
        body = base64.b64decode(turn.content, validate=True)
    except ValueError as error:
        why = f"turn {turn.seq} of thread {thread!r} is not encrypted: somebody wrote without the key"
        raise WrongKey(why) from error
    content, metadata = json.loads(keys.cipher.decrypt(body, *_place(namespace, thread, turn)))
    return replace(turn, content=content, metadata=frozen(metadata))


def _place(namespace: str, thread: str, turn: NewTurn | Turn) -> tuple[str, ...]:
    return "turn", namespace, thread, turn.id, turn.role, time_to_text(turn.at)
