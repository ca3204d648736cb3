"""Memories in one SQLite file."""

from retentive.stores.sqlite.store import SQLiteStore

__all__ = ["SQLiteStore"]
