"""Opening the database file, bringing its schema up to date, and putting SQLite's errors into ours."""

import contextlib
import logging
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, cast

import apsw

from retentive.errors import SchemaTooNew, StoreCorrupt, StoreError, StoreUnavailable
from retentive.stores.sqlite.backup import back_up
from retentive.stores.sqlite.clean_pages import NAME, clean_pages
from retentive.stores.sqlite.queries import load_migrations

APPLICATION_ID = 0x52544E56  # "RTNV": what `file` and we know the database by
PAGE_SIZE = 8192
_LOG = logging.getLogger("retentive.stores.sqlite")
_LONGEST_WAIT_S = 0.005

_UNAVAILABLE = {
    apsw.BusyError: "another process kept it locked too long; try again, or end that process",
    apsw.LockedError: "it is locked; try again",
    apsw.FullError: "the disk is full; make room and try again",
    apsw.ReadOnlyError: "it may not be written; check the rights of the file and its folder",
    apsw.PermissionsError: "it may not be used; check the rights of the file and its folder",
    apsw.CantOpenError: "it cannot be opened; check the path and the rights of its folder",
    apsw.IOError: "the disk refused a read or write",
    apsw.NoMemError: "out of memory",
    apsw.InterruptError: "it was interrupted",
}


def translated(error: apsw.Error, path: Path) -> StoreError:
    """Our error for SQLite's; raise it `from` the given one."""
    for kind, advice in _UNAVAILABLE.items():
        if isinstance(error, kind):
            return StoreUnavailable(f"{path}: {advice} ({error})")
    return StoreCorrupt(
        f"{path} is damaged or is not a Retentive database ({error}). Nothing was changed. "
        "Restore it from a backup, or move it aside to start anew"
    )


def run(connection: apsw.Connection, statement: str, values: Sequence[object] = ()) -> list[tuple[Any, ...]]:
    """All rows of a statement (the one door to SQLite: the driver's own types are too loose to check)."""
    return cast("Any", connection).execute(statement, values).fetchall()


def open_writer(path: Path, *, busy_timeout_s: float) -> apsw.Connection:
    """A connection that may write, with the newest schema; makes the folder and the file where missing.

    Raises:
        StoreUnavailable, StoreCorrupt, SchemaTooNew: it cannot be used; an existing file is unchanged.
    """
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StoreUnavailable(f"{path.parent} cannot be made: {error.strerror}") from error
    try:
        clean_pages()
        connection = apsw.Connection(str(path), vfs=NAME)
        try:
            _prepare_writer(connection, path, busy_timeout_s)
        except BaseException:
            connection.close()
            raise
    except apsw.Error as error:
        raise translated(error, path) from error
    return connection


def open_reader(path: Path, *, busy_timeout_s: float) -> apsw.Connection:
    """A connection that only reads a database which a writer has opened before.

    Raises:
        StoreUnavailable, StoreCorrupt: it cannot be used.
    """
    try:
        connection = apsw.Connection(str(path), flags=apsw.SQLITE_OPEN_READWRITE)
        wait_politely(connection, busy_timeout_s)
        run(connection, "PRAGMA query_only = ON")
        connection.config(apsw.SQLITE_DBCONFIG_NO_CKPT_ON_CLOSE, 1)  # that is for the writer, which cleans
    except apsw.Error as error:
        raise translated(error, path) from error
    return connection


def wipe(path: Path, *, busy_timeout_s: float) -> None:
    """Bring what the log holds into the database file and empty the log, if its readers let go in time.

    Raises:
        StoreUnavailable, StoreCorrupt: it cannot be used.
    """
    connection = open_writer(path, busy_timeout_s=busy_timeout_s)
    try:
        with contextlib.suppress(apsw.BusyError):
            run(connection, "PRAGMA wal_checkpoint(TRUNCATE)")
    except apsw.Error as error:
        raise translated(error, path) from error
    finally:
        connection.close()


def wait_politely(connection: apsw.Connection, busy_timeout_s: float) -> None:
    """Retry a locked database after short sleeps (SQLite's own grow to 100 ms and starve writers)."""
    started = 0.0

    def wait(tries: int) -> bool:
        nonlocal started
        now = time.monotonic()
        if tries == 0:
            started = now
        if now - started >= busy_timeout_s:
            return False
        time.sleep(min(0.0005 * (tries + 1), _LONGEST_WAIT_S))
        return True

    connection.set_busy_handler(wait)


def _prepare_writer(connection: apsw.Connection, path: Path, busy_timeout_s: float) -> None:
    wait_politely(connection, busy_timeout_s)
    version = _check_ours(connection, path)
    if version == 0:
        run(connection, f"PRAGMA page_size = {PAGE_SIZE}")
    _switch_to_wal(connection, busy_timeout_s)
    run(connection, "PRAGMA synchronous = FULL")
    run(connection, "PRAGMA secure_delete = ON")
    run(connection, "PRAGMA temp_store = MEMORY")
    if version < len(load_migrations()):
        _migrate(connection, path)


def _switch_to_wal(connection: apsw.Connection, busy_timeout_s: float) -> None:
    """Two that switch a new file at once refuse each other without asking the busy handler: try again."""
    started = time.monotonic()
    while True:
        try:
            run(connection, "PRAGMA journal_mode = WAL")
        except apsw.BusyError:
            if time.monotonic() - started >= busy_timeout_s:
                raise
            time.sleep(_LONGEST_WAIT_S)
        else:
            return


def _check_ours(connection: apsw.Connection, path: Path) -> int:
    """The schema version; 0 for a new file."""
    version = run(connection, "PRAGMA user_version")[0][0]
    owner = _owner(connection)
    newest = len(load_migrations())
    if owner == 0 and _has_tables(connection):
        owner = _owner(connection) or None  # another process may just have made it ours
    if owner not in {0, APPLICATION_ID}:
        raise StoreCorrupt(
            f"{path} is a database of another program and was left untouched; name another file"
        )
    if version > newest:
        raise SchemaTooNew(
            f"{path} has schema version {version}, this Retentive knows up to {newest}; "
            "it was left untouched: upgrade Retentive"
        )
    return version


def _owner(connection: apsw.Connection) -> int:
    return int(run(connection, "PRAGMA application_id")[0][0])


def _has_tables(connection: apsw.Connection) -> bool:
    return bool(run(connection, "SELECT 1 FROM sqlite_schema LIMIT 1"))


def _migrate(connection: apsw.Connection, path: Path) -> None:
    """Run all that is missing in one transaction, after a backup; others may be doing the same."""
    run(connection, "BEGIN IMMEDIATE")
    try:
        version = _check_ours(connection, path)
        missing = load_migrations()[version:]
        if missing and version > 0:
            _back_up(connection, path, version)
        for script in missing:
            run(connection, script)
        if missing:
            run(connection, f"PRAGMA application_id = {APPLICATION_ID}")
            run(connection, f"PRAGMA user_version = {version + len(missing)}")
        run(connection, "COMMIT")
    except BaseException:
        if connection.in_transaction:
            run(connection, "ROLLBACK")
        raise


def _back_up(connection: apsw.Connection, path: Path, version: int) -> None:
    """Copy the file if it holds anything; the caller's transaction keeps it as it is meanwhile."""
    if not run(connection, "SELECT 1 FROM scopes LIMIT 1"):
        return
    try:
        copy = back_up(path, version)
    except OSError as error:
        raise StoreUnavailable(
            f"{path} needs a newer schema, and the backup before that failed: {error.strerror or error}; "
            "nothing was changed. Make room or give the right to write in its folder, and open it again"
        ) from error
    _LOG.warning(
        "%s is brought to schema version %d; as it was, it is kept in %s. Delete that file once all is well: "
        "what you forget from now on is still in it",
        path,
        len(load_migrations()),
        copy,
    )
