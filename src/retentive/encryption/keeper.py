"""The keys of the namespaces in use, read once."""

from collections.abc import Awaitable, Callable
from typing import Final

from retentive.encryption.options import Encryption, NamespaceKeys
from retentive.errors import WrongKey

MAX_NAMESPACES: Final = 1_000


class Keeper:
    """Gives the keys of a namespace; they stay in memory until the store is closed."""

    def __init__(self, encryption: Encryption) -> None:
        self._encryption = encryption
        self._keys: dict[str, NamespaceKeys] = {}

    async def keys(self, namespace: str) -> NamespaceKeys | None:
        """The keys; None if the namespace has none.

        Raises:
            WrongKey: the master key is another.
        """
        found = self._keys.get(namespace) or await self._encryption.keys_of(namespace)
        return None if found is None else self._kept(namespace, found)

    async def keys_to_write(self, namespace: str, holds_data: Callable[[], Awaitable[bool]]) -> NamespaceKeys:
        """The keys, made now for a namespace that holds nothing yet.

        Raises:
            WrongKey: the master key is another, or the namespace holds data and its key is gone.
        """
        found = await self.keys(namespace)
        if found is None and await holds_data():
            found = await self.keys(namespace)  # the first writer may have made it just now
            if found is None:
                raise no_key(namespace)
        return found or self._kept(namespace, await self._encryption.make_keys(namespace))

    def forget(self) -> None:
        """Drop all keys."""
        self._keys.clear()

    def _kept(self, namespace: str, keys: NamespaceKeys) -> NamespaceKeys:
        if len(self._keys) >= MAX_NAMESPACES:
            self._keys.clear()
        self._keys[namespace] = keys
        return keys


def no_key(namespace: str) -> WrongKey:
    """The error for data whose key is not there."""
    return WrongKey(
        f"namespace {namespace!r} holds data and the key ring has no key for it: it was shredded (remove "
        "what is left with `purge`), the ring is another, or the data were written without encryption"
    )
