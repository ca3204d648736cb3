"""Tamper-evident stores: sealed with a key, anchored outside, refused on the read path when changed."""

from retentive.integrity.anchor import Anchor, Head, InMemoryAnchor, ListsHeads
from retentive.integrity.audit import Audit, Checked, adopt, audit
from retentive.integrity.folder_anchor import FolderAnchor
from retentive.integrity.memories import SealedMemoryStore
from retentive.integrity.options import (
    Integrity,
    IntegrityOption,
    integrity_of,
    sealed_memories,
    sealed_threads,
)
from retentive.integrity.other_anchors import CallbackAnchor, EnvironmentAnchor, KeyringAnchor
from retentive.integrity.threads import SealedThreadStore

__all__ = [
    "Anchor",
    "Audit",
    "CallbackAnchor",
    "Checked",
    "EnvironmentAnchor",
    "FolderAnchor",
    "Head",
    "InMemoryAnchor",
    "Integrity",
    "IntegrityOption",
    "KeyringAnchor",
    "ListsHeads",
    "SealedMemoryStore",
    "SealedThreadStore",
    "adopt",
    "audit",
    "integrity_of",
    "sealed_memories",
    "sealed_threads",
]
