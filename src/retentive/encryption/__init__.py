"""Encryption at rest: a key for each namespace, wrapped by a master key; shred it and the data are gone."""

from retentive.encryption.memories import EncryptedMemoryStore, purge
from retentive.encryption.options import Encryption, EncryptionOption, encryption_of
from retentive.encryption.ring import FolderRing, KeyRing
from retentive.encryption.threads import EncryptedThreadStore

__all__ = [
    "EncryptedMemoryStore",
    "EncryptedThreadStore",
    "Encryption",
    "EncryptionOption",
    "FolderRing",
    "KeyRing",
    "encryption_of",
    "purge",
]
