"""From a URL, or nothing, to a store."""

import os
from collections.abc import Callable
from pathlib import Path
from urllib.parse import unquote

from retentive.errors import InvalidInput
from retentive.stores.base import MemoryStore

URL_VARIABLE = "RETENTIVE_URL"
_LATER = frozenset(["postgres", "postgresql", "redis", "rediss", "redis+cluster"])


def open_store(spec: str | MemoryStore | None, *, home: Path) -> MemoryStore:
    """The store that `spec` names; it is not opened yet. A store is given back as it is.

    None is the URL in the environment variable RETENTIVE_URL, else SQLite in `<home>/memory.db`. URLs:
    `sqlite:///relative.db`, `sqlite:////absolute.db`, `file:///folder` (absolute), `memory://`.

    Raises:
        InvalidInput: not a URL of a known kind.
    """
    if spec is None:
        spec = os.environ.get(URL_VARIABLE) or None
    if spec is None:
        return _sqlite_at(home / "memory.db")
    if not isinstance(spec, str):
        return spec
    scheme, separator, rest = spec.partition("://")
    opener = _OPENERS.get(scheme.lower()) if separator else None
    if opener is None:
        raise InvalidInput(_unknown(scheme.lower() if separator else None))
    return opener(unquote(rest))


def _unknown(scheme: str | None) -> str:
    known = ", ".join(("sqlite:///path.db", "file:///folder", "memory://"))
    if scheme is None:
        return f"the store must be a URL, one of {known}"
    if scheme in _LATER:
        return f"{scheme}:// stores come with a later release; use one of {known}"
    return f"unknown kind of store {scheme[:20]!r}; use one of {known} (postgresql and redis come later)"


def _sqlite(rest: str) -> MemoryStore:
    """`rest` is what follows `sqlite://`: a slash, then the path."""
    path = rest[1:] if rest.startswith("/") else ""
    if not path or path == ":memory:" or path.endswith("/"):
        raise InvalidInput(
            "name a file: sqlite:///relative.db or sqlite:////absolute.db; memory:// keeps nothing on disk"
        )
    return _sqlite_at(Path(path))


def _sqlite_at(path: Path) -> MemoryStore:
    from retentive.stores.sqlite import SQLiteStore

    return SQLiteStore(path)


def _folder(rest: str) -> MemoryStore:
    from retentive.stores.file import FileStore

    if not rest.startswith("/") or rest == "/":
        raise InvalidInput("name a folder by its absolute path: file:///home/me/memories")
    is_drive = rest[2:3] == ":"  # file:///C:/memories
    return FileStore(Path(rest[1:] if is_drive else rest))


def _in_memory(rest: str) -> MemoryStore:
    from retentive.stores.in_memory import InMemoryStore

    if rest:
        raise InvalidInput("memory:// takes nothing after it; each one is a store of its own")
    return InMemoryStore()


_OPENERS: dict[str, Callable[[str], MemoryStore]] = {
    "sqlite": _sqlite,
    "file": _folder,
    "memory": _in_memory,
}
