"""A store that writes nothing which cannot be audited."""

from collections.abc import Sequence
from pathlib import Path

from retentive.audit import AuditLog
from retentive.stores.base import (
    Changes,
    MemoryStore,
    Scan,
    StoredMemory,
    Written,
)
from retentive.stores.wrapped import files_of, ids_of
from retentive.types import Scope


class AuditedStore:
    """Wraps a `MemoryStore`: same laws, and each change is told to the log before it is made."""

    def __init__(self, inner: MemoryStore, log: AuditLog) -> None:
        """Wrap the store; it is closed with this one."""
        self.inner = inner
        self._log = log

    @property
    def url(self) -> str:
        """See `MemoryStore.url`."""
        return self.inner.url

    async def open(self) -> None:
        """See `MemoryStore.open`."""
        await self.inner.open()

    async def write(self, changes: Changes) -> Written:
        """See `MemoryStore.write`.

        Raises:
            StoreUnavailable: the log does not take it; nothing is written.
        """
        self._log.intend(changes)
        return await self.inner.write(changes)

    async def get(self, scope: Scope, ids: Sequence[str]) -> list[StoredMemory | None]:
        """See `MemoryStore.get`."""
        return await self.inner.get(scope, ids)

    async def scan(self, scope: Scope, since: int) -> Scan:
        """See `MemoryStore.scan`."""
        return await self.inner.scan(scope, since)

    async def notes(self, scope: Scope, prefix: str = "") -> dict[str, bytes]:
        """See `MemoryStore.notes`."""
        return await self.inner.notes(scope, prefix)

    async def scopes(self, namespace: str) -> list[Scope]:
        """See `MemoryStore.scopes`."""
        return await self.inner.scopes(namespace)

    async def namespaces(self) -> list[str]:
        """See `MemoryStore.namespaces`."""
        return await self.inner.namespaces()

    async def close(self) -> None:
        """See `MemoryStore.close`."""
        await self.inner.close()

    async def ids(self, scope: Scope) -> list[str]:
        """See `ListsIds.ids`."""
        return await ids_of(self.inner, scope)

    async def files(self, namespace: str) -> list[Path]:
        """See `KeepsFiles.files`.

        Raises:
            InvalidInput: the store wrapped does not say.
        """
        return await files_of(self.inner, namespace)
