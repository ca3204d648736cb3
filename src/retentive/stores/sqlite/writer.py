"""The one thread that writes: changes that wait together share a transaction, and so one fsync."""

import asyncio
import contextlib
import threading
import time
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from queue import Empty, SimpleQueue

import apsw

from retentive.errors import StoreClosed, StoreError, StoreUnavailable
from retentive.stores.base import Written
from retentive.stores.sqlite.changes import Applied, PreparedChanges, apply
from retentive.stores.sqlite.connection import open_writer, run, translated, wait_politely

MAX_GROUP = 256
"""How many changes share a transaction at most."""

_FIRST_RETRY_S = 0.02
_LONGEST_RETRY_S = 1.0


@dataclass(frozen=True, slots=True)
class _Job:
    changes: PreparedChanges
    loop: asyncio.AbstractEventLoop
    done: asyncio.Future[Written]


class Writer:
    """Takes changes from any thread and event loop and commits them in the order they came."""

    def __init__(self, path: Path, *, busy_timeout_s: float) -> None:
        """Open the database.

        Raises:
            StoreUnavailable, StoreCorrupt, SchemaTooNew: it cannot be used.
        """
        self._path = path
        self._busy_timeout_s = busy_timeout_s
        self._connection: apsw.Connection | None = self._connect()
        self._file = _identity(path)
        self._jobs: SimpleQueue[_Job | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None
        self._closed = False
        self._retry_s = _FIRST_RETRY_S
        self._wipe_at: float | None = None
        self._wipe()

    def submit(self, changes: PreparedChanges) -> asyncio.Future[Written]:
        """A future of the running loop that is done once the changes are durable, or failed alone.

        Raises:
            StoreClosed: after `close`.
        """
        loop = asyncio.get_running_loop()
        job = _Job(changes, loop, loop.create_future())
        with self._lock:
            if self._closed:
                raise StoreClosed(f"{self._path} was closed")
            self._jobs.put(job)
            if self._thread is None:
                self._thread = threading.Thread(target=self._run, name="retentive-sqlite", daemon=True)
                self._thread.start()
        return job.done

    def close(self) -> None:
        """Finish what was submitted and let go of the file. Harmless when closed."""
        with self._lock:
            self._closed = True
            self._stop()

    def pause(self) -> None:
        """Finish what was submitted and hold what comes until `resume`: a fork must not copy a connection."""
        self._lock.acquire()
        self._stop()

    def resume(self) -> None:
        """Go on, with a new thread and connection once there is something to write."""
        self._lock.release()

    def _stop(self) -> None:
        if self._thread is not None:
            self._jobs.put(None)
            if self._thread is threading.current_thread():  # the garbage collector ran here
                return
            self._thread.join()
            self._thread = None
        self._give_up_connection()

    def _connect(self) -> apsw.Connection:
        return open_writer(self._path, busy_timeout_s=self._busy_timeout_s)

    def _run(self) -> None:
        while True:
            try:
                job = self._jobs.get(timeout=self._until_wipe())
            except Empty:
                job = None
            else:
                if job is None:
                    return
            last = job is not None and self._commit_group(job)
            if self._wipe_at is not None and time.monotonic() >= self._wipe_at:
                self._wipe()
            if last:
                return

    def _until_wipe(self) -> float | None:
        return None if self._wipe_at is None else max(0.0, self._wipe_at - time.monotonic())

    def _commit_group(self, first: _Job) -> bool:
        """Commit what waits now; whether the end was asked for."""
        group, last = self._group(first)
        self._commit_all(group)
        return last

    def _group(self, first: _Job) -> tuple[list[_Job], bool]:
        """The jobs that wait now, and whether the end was asked for."""
        group = [first]
        with contextlib.suppress(Empty):
            while len(group) < MAX_GROUP:
                job = self._jobs.get_nowait()
                if job is None:
                    return group, True
                group.append(job)
        return group, False

    def _commit_all(self, group: list[_Job]) -> None:
        try:
            self._check_in_place()
            if self._connection is None:
                self._connection = self._connect()
            outcomes = self._commit(self._connection, group)
        except StoreError as error:
            outcomes = [error] * len(group)
        except apsw.Error as error:
            self._give_up_connection()
            if len(group) > 1 and not isinstance(error, apsw.BusyError):
                for job in group:  # one of them may be too big for the disk; the others need not fail with it
                    self._commit_all([job])
                return
            outcomes = [translated(error, self._path)] * len(group)
        _resolve(zip(group, outcomes, strict=True))

    def _check_in_place(self) -> None:
        """Refuse to write into a file that its name no longer leads to: nobody would find it again."""
        if _identity(self._path) != self._file:
            raise StoreUnavailable(
                f"{self._path} was removed or replaced while it was open; nothing was written: "
                "put it back, or close this store and open it anew"
            )

    def _commit(self, connection: apsw.Connection, group: list[_Job]) -> list[Written | Exception]:
        run(connection, "BEGIN IMMEDIATE")
        attempt = _attempt if len(group) > 1 else _attempt_alone
        try:
            outcomes = [attempt(connection, job.changes) for job in group]
            if connection.in_transaction:
                run(connection, "COMMIT")
        except BaseException:
            if connection.in_transaction:
                run(connection, "ROLLBACK")
            raise
        applied = [outcome for outcome in outcomes if isinstance(outcome, Applied)]
        if any(outcome.removed_text for outcome in applied):
            self._wipe()
        elif self._wipe_at is None and any(job.changes.updates for job in group):
            self._wipe_at = time.monotonic() + _LONGEST_RETRY_S
        return [outcome.written if isinstance(outcome, Applied) else outcome for outcome in outcomes]

    def _wipe(self) -> None:
        """Leave no older page, and so no deleted text, in the write-ahead log.

        A reader that still needs the log prevents it; then it is tried again soon, more rarely each time.
        """
        connection = self._connection
        busy = True
        if connection is not None:
            connection.set_busy_handler(None)
            with contextlib.suppress(apsw.Error):
                row = next(iter(run(connection, "PRAGMA wal_checkpoint(TRUNCATE)")), None)
                busy = row is None or row[0] != 0
            wait_politely(connection, self._busy_timeout_s)
        self._retry_s = min(self._retry_s * 2, _LONGEST_RETRY_S) if busy else _FIRST_RETRY_S
        self._wipe_at = time.monotonic() + self._retry_s if busy else None

    def _give_up_connection(self) -> None:
        if self._connection is not None:
            self._connection.close()
            self._connection = None


def _identity(path: Path) -> tuple[int, int] | None:
    """Which file the path leads to; None if to none."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _attempt(connection: apsw.Connection, changes: PreparedChanges) -> Applied | Exception:
    """Apply one change inside the group's transaction; what goes wrong with it alone is undone alone."""
    run(connection, "SAVEPOINT change")
    try:
        applied = apply(connection, changes)
    except apsw.Error:
        raise
    except Exception as error:  # noqa: BLE001  (whatever it is belongs to the caller, not to this thread)
        run(connection, "ROLLBACK TO change")
        run(connection, "RELEASE change")
        return error
    run(connection, "RELEASE change")
    return applied


def _attempt_alone(connection: apsw.Connection, changes: PreparedChanges) -> Applied | Exception:
    """Apply the only change of a transaction; without a savepoint no copy of its pages is held in memory."""
    try:
        return apply(connection, changes)
    except apsw.Error:
        raise
    except Exception as error:  # noqa: BLE001  (whatever it is belongs to the caller, not to this thread)
        run(connection, "ROLLBACK")
        return error


def _resolve(outcomes: Iterable[tuple[_Job, Written | Exception]]) -> None:
    by_loop: dict[asyncio.AbstractEventLoop, list[tuple[asyncio.Future[Written], Written | Exception]]] = {}
    for job, outcome in outcomes:
        by_loop.setdefault(job.loop, []).append((job.done, outcome))
    for loop, results in by_loop.items():
        with contextlib.suppress(RuntimeError):  # that loop is gone, and its callers with it
            loop.call_soon_threadsafe(_set, results)


def _set(results: list[tuple[asyncio.Future[Written], Written | Exception]]) -> None:
    for done, outcome in results:
        if done.done():
            continue
        if isinstance(outcome, Exception):
            done.set_exception(outcome)
        else:
            done.set_result(outcome)
