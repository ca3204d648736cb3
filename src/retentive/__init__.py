"""The memory an AI agent keeps: durable threads, scoped memories, exact recall, offline."""

from retentive._version import __version__
from retentive.archive.report import ExportReport, ImportReport, Refusal
from retentive.audit import AuditLog
from retentive.conversation import Conversation
from retentive.drafts import NewMemory
from retentive.errors import (
    ArchiveCorrupt,
    ArchiveTooNew,
    Conflict,
    EmbedderError,
    EmbedderMismatch,
    EmbedderUnavailable,
    ExtractionError,
    InvalidInput,
    ModelUnavailable,
    NotFound,
    NotTrusted,
    ReadOnly,
    RedactionError,
    RetentiveError,
    SchemaTooNew,
    StoreClosed,
    StoreCorrupt,
    StoreError,
    StoreUnavailable,
    Tampered,
    WrongKey,
)
from retentive.events import Event, EventType
from retentive.life.batch import Applied, Batch
from retentive.life.reports import ConsolidateReport, PruneReport
from retentive.memory import Memory
from retentive.ranking.profiles import Profiles, RankingProfile
from retentive.ranking.retention import RetentionPolicy, RetentionRule
from retentive.recall import Recall
from retentive.stores.base import Damage, MemoryStore, ThreadStore
from retentive.threads import Thread, open_thread
from retentive.types import (
    Checked,
    Disagreement,
    MemoryHit,
    MemoryItem,
    MemoryKind,
    Origin,
    Page,
    Receipt,
    Scope,
    Source,
    Turn,
    Verdict,
)

__all__ = [
    "Applied",
    "ArchiveCorrupt",
    "ArchiveTooNew",
    "AuditLog",
    "Batch",
    "Checked",
    "Conflict",
    "ConsolidateReport",
    "Conversation",
    "Damage",
    "Disagreement",
    "EmbedderError",
    "EmbedderMismatch",
    "EmbedderUnavailable",
    "Event",
    "EventType",
    "ExportReport",
    "ExtractionError",
    "ImportReport",
    "InvalidInput",
    "Memory",
    "MemoryHit",
    "MemoryItem",
    "MemoryKind",
    "MemoryStore",
    "ModelUnavailable",
    "NewMemory",
    "NotFound",
    "NotTrusted",
    "Origin",
    "Page",
    "Profiles",
    "PruneReport",
    "RankingProfile",
    "ReadOnly",
    "Recall",
    "Receipt",
    "RedactionError",
    "Refusal",
    "RetentionPolicy",
    "RetentionRule",
    "RetentiveError",
    "SchemaTooNew",
    "Scope",
    "Source",
    "StoreClosed",
    "StoreCorrupt",
    "StoreError",
    "StoreUnavailable",
    "Tampered",
    "Thread",
    "ThreadStore",
    "Turn",
    "Verdict",
    "WrongKey",
    "__version__",
    "open_thread",
]
