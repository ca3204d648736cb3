"""Copies of the database file beside it, each made before its schema is changed."""

from collections.abc import Sequence
from json import dumps
from pathlib import Path
from typing import Any, cast

import apsw

from retentive.errors import StoreUnavailable
from retentive.stores.log_file import sync_folder
from retentive.stores.sqlite.clean_pages import NAME
from retentive.stores.sqlite.queries import load_queries
from retentive.types import Scope


def backup_path(path: Path, version: int) -> Path:
    """Where the copy of schema version `version` of the database at `path` is kept: `memory.db.v1.bak`."""
    return path.with_name(f"{path.name}.v{version}.bak")


def backups_of(path: Path) -> list[Path]:
    """The copies beside the database, sorted by name. They hold what it held when they were made."""
    beginning, end = f"{path.name}.v", ".bak"
    if not path.parent.is_dir():
        return []
    return sorted(
        other
        for other in path.parent.iterdir()
        if other.name.startswith(beginning)
        and other.name.endswith(end)
        and other.name[len(beginning) : -len(end)].isdecimal()
    )


def back_up(path: Path, version: int) -> Path:
    """The whole, durable copy of what is committed now; it takes the place of an older one of this version.

    Raises:
        apsw.Error, OSError: it could not be made; an older one is as it was.
    """
    copy = backup_path(path, version)
    unfinished = copy.with_name(copy.name + ".new")
    unfinished.unlink(missing_ok=True)
    source = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
    try:
        target = apsw.Connection(str(unfinished), vfs=NAME)
        try:
            cast("Any", target).pragma("journal_mode", "off")  # what is unfinished is thrown away
            with target.backup("main", source, "main") as copying:
                copying.step()
        finally:
            target.close()
        unfinished.replace(copy)
    except BaseException:
        unfinished.unlink(missing_ok=True)
        raise
    finally:
        source.close()
    sync_folder(path.parent)
    return copy


def memories_in(copy: Path, scope: Scope, ids: Sequence[str], *, everyone: bool) -> int:
    """How many of these memories of the scope the copy holds; with `everyone` of the whole namespace.

    Raises:
        StoreUnavailable: it cannot be read.
    """
    flags = apsw.SQLITE_OPEN_READONLY | apsw.SQLITE_OPEN_URI
    asked = (scope.namespace, scope.user_id, dumps(list(ids)), everyone)
    try:
        connection = apsw.Connection(f"{copy.as_uri()}?immutable=1", flags=flags)
        try:
            return int(cast("Any", connection).execute(load_queries()["count_in_copy"], asked).fetchone()[0])
        finally:
            connection.close()
    except apsw.Error as error:
        raise StoreUnavailable(f"the backup {copy} cannot be read ({error}): delete it") from error
