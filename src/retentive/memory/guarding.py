"""The wrappers that a Memory puts around its store."""

from retentive.encryption import EncryptedMemoryStore, EncryptionOption, encryption_of
from retentive.integrity import IntegrityOption, integrity_of, sealed_memories
from retentive.stores.base import MemoryStore


def guarded(store: MemoryStore, integrity: IntegrityOption, encryption: EncryptionOption) -> MemoryStore:
    """The store as the options ask for it.

    The seal lies next to the store, over what is encrypted, so an audit needs no right to read.
    """
    keyed, secret = integrity_of(integrity), encryption_of(encryption)
    if keyed is not None:
        store = sealed_memories(store, keyed)
    return store if secret is None else EncryptedMemoryStore(store, secret)
