"""Anchors elsewhere: in the system's keyring, in a variable of the environment, in code of the caller's."""

import asyncio
import json
import os
from collections.abc import Awaitable, Callable
from pathlib import Path

from retentive.errors import InvalidInput, ReadOnly, StoreUnavailable
from retentive.integrity.anchor import Head, head_from_json
from retentive.keys import import_keyring, state_folder
from retentive.stores import log_file
from retentive.stores.file_lock import locked


class KeyringAnchor:
    """Heads in the operating system's keyring, one entry a scope or thread. Needs the extra `keyring`.

    A lock file in the state folder has the processes of this machine take turns.
    """

    def __init__(self, service: str = "retentive-anchor", *, lock_folder: Path | None = None) -> None:
        self._service = service
        self._lock_folder = lock_folder or state_folder()
        self._keyring = import_keyring()

    async def read(self, name: str) -> Head | None:
        """See `Anchor.read`."""
        return await asyncio.to_thread(self._read, name)

    async def advance(self, name: str, head: Head) -> Head:
        """See `Anchor.advance`."""
        return await asyncio.to_thread(self._advance, name, head)

    def _read(self, name: str) -> Head | None:
        try:
            text = self._keyring.get_password(self._service, name)
        except self._keyring.errors.KeyringError as error:
            raise StoreUnavailable(f"the keyring cannot be read: {error}") from error
        return None if text is None else head_from_json(text)

    def _advance(self, name: str, head: Head) -> Head:
        log_file.make_folder(self._lock_folder)
        with locked(self._lock_folder / self._service):
            kept = self._read(name)
            if kept is not None and not head.is_beyond(kept):
                return kept
            try:
                self._keyring.set_password(self._service, name, head.to_json())
            except self._keyring.errors.KeyringError as error:
                raise StoreUnavailable(f"the keyring cannot be written: {error}") from error
        return head


class EnvironmentAnchor:
    """Heads pinned in a variable: for a store that is only read, in the state in which it was shipped.

    The variable holds the JSON object `heads` that `retentive verify --json` prints. What has moved on from
    there is refused, and so is every write.
    """

    def __init__(self, variable: str = "RETENTIVE_ANCHOR") -> None:
        text = os.environ.get(variable)
        if not text:
            raise InvalidInput(
                f"{variable} is not set: put the heads there that `retentive verify --json` prints"
            )
        try:
            found: dict[str, dict[str, object]] = json.loads(text)
            self._heads = {name: head_from_json(json.dumps(head)) for name, head in found.items()}
        except (AttributeError, ValueError) as error:
            raise InvalidInput(f"{variable} does not hold the JSON object of heads: {error}") from error

    async def read(self, name: str) -> Head | None:
        """See `Anchor.read`."""
        return self._heads.get(name)

    async def advance(self, name: str, head: Head) -> Head:
        """The head that is pinned, where it is this one.

        Raises:
            ReadOnly: it is another.
        """
        kept = self._heads.get(name)
        if kept is None or kept != head:
            raise ReadOnly("the anchor is pinned in the environment: this store can be read, not written")
        return kept

    async def heads(self) -> dict[str, Head]:
        """See `ListsHeads.heads`."""
        return dict(self._heads)


class CallbackAnchor:
    """Heads kept by two functions of yours: in a database, a KMS, a ledger, another machine.

    `read(name)` gives the text kept, or None. `replace(name, old, new)` keeps `new` if what is kept is still
    `old` (None: nothing), at once and durably, and says whether it did.
    """

    def __init__(
        self,
        read: Callable[[str], Awaitable[str | None]],
        replace: Callable[[str, str | None, str], Awaitable[bool]],
    ) -> None:
        self._read = read
        self._replace = replace

    async def read(self, name: str) -> Head | None:
        """See `Anchor.read`."""
        text = await self._read(name)
        return None if text is None else head_from_json(text)

    async def advance(self, name: str, head: Head) -> Head:
        """See `Anchor.advance`."""
        while True:
            old = await self._read(name)
            kept = None if old is None else head_from_json(old)
            if kept is not None and not head.is_beyond(kept):
                return kept
            if await self._replace(name, old, head.to_json()):
                return head
