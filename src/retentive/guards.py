"""How stores are guarded: one value for a Memory, its threads and the commands.

The rule: whoever opens a store by itself guards it as it was told to, by option or else by the environment; a
store that was passed in with guards keeps those it has.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Final, Literal

from retentive.errors import InvalidInput
from retentive.home import home as default_home
from retentive.stores.base import MemoryStore, ThreadStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.wrapped import layers

if TYPE_CHECKING:
    from retentive.encryption import Encryption, EncryptionOption
    from retentive.integrity import Integrity, IntegrityOption

INTEGRITY_VARIABLE: Final = "RETENTIVE_INTEGRITY"
ENCRYPTION_VARIABLE: Final = "RETENTIVE_ENCRYPTION"
OFF: Final[Literal["off"]] = "off"


@dataclass(frozen=True, slots=True)
class Guards:
    """Whether and how stores are sealed and encrypted; None is not at all."""

    integrity: "Integrity | None" = None
    encryption: "Encryption | None" = None

    def memories(self, store: MemoryStore) -> MemoryStore:
        """The store, guarded.

        The seal lies next to the store, over what is encrypted, so an audit needs no right to read.

        Raises:
            InvalidInput: there is no usable key, or the store is encrypted already, not sealed.
        """
        if self.integrity is not None:
            from retentive.integrity import SealedMemoryStore, sealed_memories

            if not _has(store, SealedMemoryStore):
                _check_not_encrypted(store)
                store = sealed_memories(store, self.integrity)
        if self.encryption is not None:
            from retentive.encryption import EncryptedMemoryStore

            if not _has(store, EncryptedMemoryStore):
                store = EncryptedMemoryStore(store, self.encryption)
        return store

    def threads(self, store: ThreadStore) -> ThreadStore:
        """The store, guarded; see `memories`."""
        if self.integrity is not None:
            from retentive.integrity import SealedThreadStore, sealed_threads

            if not _has(store, SealedThreadStore):
                _check_not_encrypted(store)
                store = sealed_threads(store, self.integrity)
        if self.encryption is not None:
            from retentive.encryption import EncryptedThreadStore

            if not _has(store, EncryptedThreadStore):
                store = EncryptedThreadStore(store, self.encryption)
        return store

    def threads_below(self, home: Path | None = None) -> ThreadStore:
        """The threads below the home folder, guarded; None is the default place, as for `open_thread`."""
        return self.threads(JsonlThreadStore((home or default_home()) / "threads"))


def guards_of(integrity: "IntegrityOption" = None, encryption: "EncryptionOption" = None) -> Guards:
    """The guards that the options ask for; where one is None, the environment.

    Raises:
        InvalidInput: an option or a variable cannot be used.
    """
    keyed = _told(INTEGRITY_VARIABLE) if integrity is None else integrity
    secret = _told(ENCRYPTION_VARIABLE) if encryption is None else encryption
    return Guards(_integrity(keyed), _encryption(secret))


def asked(integrity: "IntegrityOption", encryption: "EncryptionOption") -> tuple[object, object]:
    """What tells one way to ask for guards from another."""
    return (
        _told(INTEGRITY_VARIABLE) if integrity is None else integrity,
        _told(ENCRYPTION_VARIABLE) if encryption is None else encryption,
    )


def _told(variable: str) -> Literal["keyed", "off"]:
    """What the variable says; it alone switches on or off, and holds no key.

    Raises:
        InvalidInput: it says something else.
    """
    value = os.environ.get(variable) or OFF
    if value == OFF:
        return OFF
    if value == "keyed":
        return "keyed"
    raise InvalidInput(f"{variable} must be 'keyed' or {OFF!r}; it holds no key")


def _integrity(option: "IntegrityOption") -> "Integrity | None":
    if option == OFF:
        return None
    from retentive.integrity import integrity_of

    return integrity_of(option)


def _encryption(option: "EncryptionOption") -> "Encryption | None":
    if option == OFF:
        return None
    from retentive.encryption import encryption_of

    return encryption_of(option)


def _has(store: MemoryStore | ThreadStore, kind: type) -> bool:
    return any(isinstance(layer, kind) for layer in layers(store))


def _check_not_encrypted(store: MemoryStore | ThreadStore) -> None:
    """Nothing, if the seal may be put around the store.

    Raises:
        InvalidInput: it is encrypted; the seal belongs below that.
    """
    if any(getattr(layer, "encrypts", False) for layer in layers(store)):
        raise InvalidInput(
            f"{store.url} was passed encrypted but not sealed, and a seal belongs below encryption: pass the "
            "bare store with integrity= and encryption=, or seal it before it is encrypted"
        )
