"""Every error Retentive raises.

    RetentiveError
    ├── InvalidInput (ValueError)       what you passed cannot be used; nothing was written
    ├── NotFound (LookupError)          no such memory, thread or turn in this scope
    ├── Conflict                        somebody else's write came first
    ├── EmbedderError                   the embedder failed, or answered nonsense
    │   └── EmbedderMismatch            vectors of two models would have to be compared
    └── StoreError                      the store could not do it
        ├── StoreUnavailable (OSError)  cannot be opened, reached, or written (disk full, no right)
        ├── StoreCorrupt                what is on disk cannot be trusted
        ├── SchemaTooNew                written by a newer Retentive; left untouched
        ├── StoreClosed                 used after close()
        └── ReadOnly (PermissionError)  opened without the right to write

Drivers' errors are translated into these with `from`, so the cause stays visible.
"""


class RetentiveError(Exception):
    """Anything Retentive raises on purpose."""


class InvalidInput(RetentiveError, ValueError):
    """What was passed cannot be used. Nothing was written; the message says what to do."""


class NotFound(RetentiveError, LookupError):
    """There is no such memory, thread or turn in this scope."""


class Conflict(RetentiveError):
    """Another write came first; read again and decide."""


class EmbedderError(RetentiveError):
    """The embedder failed, or its answer was refused (count, dimension, not finite)."""


class EmbedderMismatch(EmbedderError):
    """Vectors of two different models would have to be compared."""


class StoreError(RetentiveError):
    """The store could not do what was asked."""


class StoreUnavailable(StoreError, OSError):
    """The store cannot be opened, reached or written right now."""


class StoreCorrupt(StoreError):
    """What is stored cannot be trusted; the message names where."""


class SchemaTooNew(StoreError):
    """The store was written by a newer Retentive and was left untouched."""


class StoreClosed(StoreError):
    """The store, memory or thread was used after it was closed."""


class ReadOnly(StoreError, PermissionError):
    """It was opened without the right to write."""
