"""Every error Retentive raises.

    RetentiveError
    ├── InvalidInput (ValueError)       what you passed cannot be used; nothing was written
    │   ├── ArchiveCorrupt              the archive is damaged, was changed, or is none
    │   └── ArchiveTooNew               the archive was made by a newer Retentive
    ├── NotFound (LookupError)          no such memory, thread or turn in this scope
    ├── Conflict                        somebody else's write came first
    ├── NotTrusted (PermissionError)    a less trusted origin would correct a more trusted one
    ├── RedactionError                  the redactor failed; nothing unredacted was written
    ├── EmbedderError                   the embedder failed, or answered nonsense
    │   ├── EmbedderUnavailable         it cannot be reached, is too busy or too slow right now
    │   └── EmbedderMismatch            vectors of two models would have to be compared
    ├── ExtractionError                 the extractor failed, or its answer cannot be used
    │   └── ModelUnavailable            the model it asks cannot be reached right now
    └── StoreError                      the store could not do it
        ├── StoreUnavailable (OSError)  cannot be opened, reached, or written (disk full, no right)
        ├── StoreCorrupt                what is on disk cannot be trusted
        │   └── Tampered                somebody without the key edited, cut or rolled it back
        ├── WrongKey                    what is encrypted cannot be read with this key
        ├── SchemaTooNew                written by a newer Retentive; left untouched
        ├── StoreClosed                 used after close()
        └── ReadOnly (PermissionError)  opened without the right to write

Drivers' errors are translated into these with `from`, so the cause stays visible.
"""

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping


class RetentiveError(Exception):
    """Anything Retentive raises on purpose."""


class InvalidInput(RetentiveError, ValueError):
    """What was passed cannot be used. Nothing was written; the message says what to do."""


class ArchiveCorrupt(InvalidInput):
    """The archive is damaged, was changed after it was made, or is none. Nothing was written."""


class ArchiveTooNew(InvalidInput):
    """The archive was made by a newer Retentive. Nothing was written."""


class NotFound(RetentiveError, LookupError):
    """There is no such memory, thread or turn in this scope."""


class Conflict(RetentiveError):
    """Another write came first; read again and decide.

    `taken` gives, for each insert of a `whole` change that found its place taken, the id that holds it.
    """

    def __init__(self, message: str = "", *, taken: "Mapping[str, str] | None" = None) -> None:
        super().__init__(message)
        self.taken: Mapping[str, str] = taken or {}


class NotTrusted(RetentiveError, PermissionError):
    """A less trusted origin would take the place of a more trusted one's statement; nothing was written."""


class RedactionError(RetentiveError):
    """The redactor failed, or answered nonsense. Nothing was written: nothing is kept unredacted."""


class EmbedderError(RetentiveError):
    """The embedder failed, or its answer was refused (count, dimension, not finite)."""


class EmbedderUnavailable(EmbedderError):
    """The embedder cannot be reached, is too busy or too slow right now; the same call may succeed later."""


class EmbedderMismatch(EmbedderError):
    """Vectors of two different models would have to be compared."""


class ExtractionError(RetentiveError):
    """The extractor failed, or its answer cannot be used. Nothing was written; the turns wait."""


class ModelUnavailable(ExtractionError):
    """The model that an extractor asks cannot be reached, or has no room, right now."""


class StoreError(RetentiveError):
    """The store could not do what was asked."""


class StoreUnavailable(StoreError, OSError):
    """The store cannot be opened, reached or written right now."""


class StoreCorrupt(StoreError):
    """What is stored cannot be trusted; the message names where."""


class Tampered(StoreCorrupt):
    """A sealed store is not as its owner left it; nothing of that scope or thread is given out.

    `kind` is edited, missing, inserted, replaced, reordered, replayed, rolled back, unsealed, or other key.
    `place` says which scope or thread, `record` which memory or turn, where that can be told.
    """

    def __init__(
        self, message: str = "", *, kind: str = "edited", place: str = "", record: str | None = None
    ) -> None:
        super().__init__(message)
        self.kind = kind
        self.place = place
        self.record = record

    @classmethod
    def of(cls, kind: str, place: str, why: str, *, record: str | None = None) -> "Tampered":
        """The error with its message."""
        message = f"{place} was tampered with ({kind}): {why}"
        return cls(message, kind=kind, place=place, record=record)


class WrongKey(StoreError):
    """What is encrypted cannot be read: another key, or its namespace's key was shredded or lost."""


class SchemaTooNew(StoreError):
    """The store was written by a newer Retentive and was left untouched."""


class StoreClosed(StoreError):
    """The store, memory or thread was used after it was closed."""


class ReadOnly(StoreError, PermissionError):
    """It was opened without the right to write."""
