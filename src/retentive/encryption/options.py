"""`encryption=`: with which master key, and where the namespaces' own keys are kept."""

import hashlib
import os
from dataclasses import dataclass, field, replace
from typing import Final, TypeAlias

from retentive.encryption.cipher import Cipher
from retentive.encryption.ring import FolderRing, KeyRing
from retentive.errors import Conflict, WrongKey
from retentive.keys import KEY_BYTES, KeySource, derive, load_key, state_folder

KEY_VARIABLE: Final = "RETENTIVE_ENCRYPTION_KEY"
OFF: Final = "off"


@dataclass(frozen=True, slots=True, kw_only=True)
class NamespaceKeys:
    """What is made of one namespace's key."""

    cipher: Cipher
    hash_key: bytes

    def hashed(self, *parts: bytes) -> bytes:
        """A keyed hash: equal for equal parts, and nothing else can be told from it."""
        data = b"".join(len(part).to_bytes(8, "little") + part for part in parts)
        return hashlib.blake2b(data, key=self.hash_key, digest_size=KEY_BYTES).digest()


@dataclass(frozen=True, slots=True, kw_only=True)
class Encryption:
    """How stores are encrypted: a random key for each namespace, wrapped by the master key.

    Args:
        key: the master key: bytes, text, a file that only its owner may read, or a callable such as
            `KeyringKey` or one that asks a KMS. None is RETENTIVE_ENCRYPTION_KEY, else a file in the state
            folder, made at first use. Who loses it loses the data.
        ring: where the wrapped keys are kept; None is the folder `keys` in the state folder. All stores that
            share a ring share the keys of its namespaces.
    """

    key: KeySource = field(default=None, repr=False)
    ring: KeyRing | None = None

    def keyring(self) -> KeyRing:
        """Where the wrapped keys are kept."""
        return self.ring or FolderRing(state_folder() / "keys")

    async def keys_of(self, namespace: str) -> NamespaceKeys | None:
        """The namespace's keys; None if it has none.

        Raises:
            WrongKey: the master key is not the one that wrapped them.
        """
        wrapped = await self.keyring().read(namespace)
        return None if wrapped is None else self.unwrapped(namespace, wrapped)

    def unwrapped(self, namespace: str, wrapped: bytes) -> NamespaceKeys:
        """What is made of the namespace's wrapped key.

        Raises:
            WrongKey: the master key is not the one that wrapped it.
        """
        return _keys(self._unwrap(namespace, wrapped))

    async def make_keys(self, namespace: str) -> NamespaceKeys:
        """The namespace's keys, made now if it has none."""
        master = self._master()
        fresh = os.urandom(KEY_BYTES)
        await self.keyring().replace(namespace, None, master.encrypt(fresh, "key", namespace))
        found = await self.keys_of(namespace)
        if found is None:
            raise Conflict(f"the key of namespace {namespace!r} was shredded just now")
        return found

    async def shred(self, namespace: str) -> bool:
        """Destroy the namespace's key: all its memories and turns are unreadable from then on, for ever.

        False when it had none. `purge` then removes what is left of them. Copies of the ring's files, in
        backups or snapshots, still open copies of the data: destroy those too.
        """
        ring = self.keyring()
        while (wrapped := await ring.read(namespace)) is not None:
            if await ring.replace(namespace, wrapped, None):
                return True
        return False

    async def rotate(self, new: KeySource) -> int:
        """Wrap every namespace's key with a new master key; gives how many. The data are not rewritten.

        A kill on the way leaves some wrapped with the old and some with the new: call it again, it goes on.

        Raises:
            WrongKey: a key was wrapped with neither.
        """
        ring, other = self.keyring(), replace(self, key=new)
        count = 0
        for namespace in await ring.namespaces():
            wrapped = await ring.read(namespace)
            if wrapped is None or other.opens(namespace, wrapped):
                continue
            again = other._master().encrypt(self._unwrap(namespace, wrapped), "key", namespace)
            count += await ring.replace(namespace, wrapped, again)
        return count

    def opens(self, namespace: str, wrapped: bytes) -> bool:
        """Whether the master key opens this wrapped key."""
        try:
            self._unwrap(namespace, wrapped)
        except WrongKey:
            return False
        return True

    def _unwrap(self, namespace: str, wrapped: bytes) -> bytes:
        try:
            return self._master().decrypt(wrapped, "key", namespace)
        except WrongKey as error:
            raise WrongKey(
                f"the master key does not open the key of namespace {namespace!r}: pass the one with which "
                "it was made, or to which it was rotated. Nothing was read or written"
            ) from error

    def _master(self) -> Cipher:
        key = load_key(self.key, variable=KEY_VARIABLE, default=state_folder() / "encryption.key")
        return Cipher(derive(key, "master"))


EncryptionOption: TypeAlias = "Encryption | KeySource"
"""A key source alone is `Encryption(key=...)`; the word `keyed` is `Encryption()`, the word `off` none.

None is none here; for a Memory or thread, what the variable RETENTIVE_ENCRYPTION says.
"""


def encryption_of(option: EncryptionOption) -> Encryption | None:
    """The settings that the option names; None is none."""
    if option is None or isinstance(option, Encryption):
        return option
    if option == OFF:
        return None
    return Encryption(key=None if option == "keyed" else option)


def _keys(key: bytes) -> NamespaceKeys:
    return NamespaceKeys(cipher=Cipher(derive(key, "data")), hash_key=derive(key, "hash"))
