"""The named statements of queries.sql and the numbered files of migrations/."""

import re
from functools import cache
from importlib.resources import files

_PACKAGE = "retentive.stores.sqlite"
_NAME = re.compile(r"^-- name: (\w+)\n", re.MULTILINE)


def load_queries() -> dict[str, str]:
    """Each statement of queries.sql by its name."""
    parts = _NAME.split(_read("queries.sql"))
    return {name: statement.strip() for name, statement in zip(parts[1::2], parts[2::2], strict=True)}


@cache
def load_migrations() -> tuple[str, ...]:
    """The migrations in order; the n-th (from 1) leads to schema version n."""
    folder = files(_PACKAGE) / "migrations"
    names = sorted(entry.name for entry in folder.iterdir() if entry.name.endswith(".sql"))
    return tuple((folder / name).read_text(encoding="utf-8") for name in names)


def _read(name: str) -> str:
    return (files(_PACKAGE) / name).read_text(encoding="utf-8")
