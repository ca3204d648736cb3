"""The memory an AI agent keeps: durable threads, scoped memories, exact recall, offline."""

from retentive._version import __version__
from retentive.conversation import Conversation
from retentive.drafts import NewMemory
from retentive.errors import (
    Conflict,
    EmbedderError,
    EmbedderMismatch,
    InvalidInput,
    NotFound,
    ReadOnly,
    RetentiveError,
    SchemaTooNew,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
)
from retentive.events import Event, EventType
from retentive.memory import Memory
from retentive.ranking.profiles import Profiles, RankingProfile
from retentive.recall import Recall
from retentive.stores.base import Damage, MemoryStore, ThreadStore
from retentive.threads import Thread, open_thread
from retentive.types import (
    MemoryHit,
    MemoryItem,
    MemoryKind,
    Origin,
    Page,
    Receipt,
    Scope,
    Source,
    Turn,
)

__all__ = [
    "Conflict",
    "Conversation",
    "Damage",
    "EmbedderError",
    "EmbedderMismatch",
    "Event",
    "EventType",
    "InvalidInput",
    "Memory",
    "MemoryHit",
    "MemoryItem",
    "MemoryKind",
    "MemoryStore",
    "NewMemory",
    "NotFound",
    "Origin",
    "Page",
    "Profiles",
    "RankingProfile",
    "ReadOnly",
    "Recall",
    "Receipt",
    "RetentiveError",
    "SchemaTooNew",
    "Scope",
    "Source",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreUnavailable",
    "Thread",
    "ThreadStore",
    "Turn",
    "__version__",
    "open_thread",
]
