"""The keys of the namespaces in use, unwrapped once."""

from collections.abc import Awaitable, Callable
from typing import Final

from retentive.encryption.options import Encryption, NamespaceKeys
from retentive.errors import WrongKey

MAX_NAMESPACES: Final = 1_000


class Keeper:
    """Gives the keys of a namespace, as the ring has them now; they stay unwrapped until the store is closed.

    The ring is asked each time: another process may have shredded a key, and made another.
    """

    def __init__(self, encryption: Encryption) -> None:
        self._encryption = encryption
        self._keys: dict[str, tuple[bytes, NamespaceKeys]] = {}

    async def keys(self, namespace: str) -> NamespaceKeys | None:
        """The keys; None if the namespace has none.

        Raises:
            WrongKey: the master key is another.
        """
        wrapped = await self._encryption.keyring().read(namespace)
        if wrapped is None:
            self._keys.pop(namespace, None)
            return None
        known = self._keys.get(namespace)
        if known is not None and known[0] == wrapped:
            return known[1]
        return self._kept(namespace, wrapped, self._encryption.unwrapped(namespace, wrapped))

    async def check(self, namespace: str, keys: NamespaceKeys) -> None:
        """Refuse to call that written which was encrypted with these keys, if they are the ring's no more.

        Raises:
            WrongKey: they were shredded meanwhile.
        """
        now = await self.keys(namespace)
        if now is None or now.hash_key != keys.hash_key:
            raise WrongKey(
                f"the key of namespace {namespace!r} was shredded during this write: what it wrote cannot be "
                "read; try again once what is left was removed with `purge`"
            )

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
        return found or await self._encryption.make_keys(namespace)

    def forget(self) -> None:
        """Drop all keys."""
        self._keys.clear()

    def _kept(self, namespace: str, wrapped: bytes, keys: NamespaceKeys) -> NamespaceKeys:
        if len(self._keys) >= MAX_NAMESPACES:
            self._keys.clear()
        self._keys[namespace] = wrapped, keys
        return keys


def no_key(namespace: str) -> WrongKey:
    """The error for data whose key is not there."""
    return WrongKey(
        f"namespace {namespace!r} holds data and the key ring has no key for it: it was shredded (remove "
        "what is left with `purge`), the ring is another, or the data were written without encryption"
    )
