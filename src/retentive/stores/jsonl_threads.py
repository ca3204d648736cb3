"""Threads as files: `<folder>/<namespace>/<thread>.jsonl`, one JSON object a turn, readable by people."""

import bisect
import contextlib
import functools
import logging
import os
from collections.abc import AsyncGenerator, Callable, Generator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from retentive.errors import Conflict, RetentiveError, StoreUnavailable
from retentive.names import check_name, file_name, name_of
from retentive.stores import log_file
from retentive.stores.append_queue import AppendQueue
from retentive.stores.base import Damage, Leaving, LogRead, NewTurn
from retentive.stores.file_lock import lock_path, locked, take_lock
from retentive.stores.leases import held
from retentive.stores.schema import check_schema
from retentive.stores.thread_log import (
    HEAD_BYTES,
    Mark,
    Marks,
    Parsed,
    encode,
    is_there,
    parse,
    redact,
    redactions,
)
from retentive.types import Turn

_SUFFIX = ".jsonl"
_log = logging.getLogger("retentive.threads")


@dataclass(frozen=True, slots=True)
class _Append:
    turns: Sequence[NewTurn]
    since: int


@dataclass(frozen=True, slots=True)
class _Found:
    parsed: Parsed
    redactions: int
    rewritten: bool


class JsonlThreadStore:
    """Keeps each thread in a file of its own. Several processes may append to one thread.

    An append is one write and one fsync, under a lock between processes; appends that wait for the same
    thread share them. A torn end is moved to `<thread>.jsonl.torn-<n>` before the next append. Reading
    changes nothing, and needs no right to write. No file stays open between calls.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder.absolute()
        self._marks = Marks()
        self._queue: AppendQueue[Path, _Append, LogRead] = AppendQueue(self._append)

    @property
    def url(self) -> str:
        """The folder, as a file URL."""
        return self._folder.as_uri()

    async def append(self, namespace: str, thread: str, turns: Sequence[NewTurn], since: int) -> LogRead:
        """See `ThreadStore.append`. No turns: what `turns` gives."""
        if not turns:
            return await self.turns(namespace, thread, since)
        return await self._queue.put(self._path(namespace, thread), _Append(tuple(turns), since))

    async def turns(self, namespace: str, thread: str, since: int = 0) -> LogRead:
        """See `ThreadStore.turns`."""
        return await self._queue.run(self._read, self._path(namespace, thread), since)

    async def threads(self, namespace: str) -> list[str]:
        """See `ThreadStore.threads`."""
        return await self._queue.run(_logs_in, self._folder / file_name(check_name("namespace", namespace)))

    async def namespaces(self) -> list[str]:
        """See `ThreadStore.namespaces`."""
        return await self._queue.run(_namespaces_in, self._folder)

    async def delete(self, namespace: str, thread: str) -> bool:
        """See `ThreadStore.delete`. Also removes what was torn off, and the lock files."""
        return await self._queue.run(self._delete, self._path(namespace, thread))

    async def redact(
        self, namespace: str, thread: str, seqs: Sequence[int], at: datetime, leaving: Leaving | None = None
    ) -> list[Turn]:
        """See `Redacts.redact`. The log is written anew beside the old one and put in its place."""
        path = self._path(namespace, thread)
        return await self._queue.run(self._redact, path, frozenset(seqs), at, leaving)

    async def files(self, namespace: str) -> list[Path]:
        """See `KeepsFiles.files`: the logs, what was torn off, what a kill left of a rewriting; no locks."""
        return await self._queue.run(_files_in, self._folder / file_name(check_name("namespace", namespace)))

    @contextlib.asynccontextmanager
    async def lease(self, namespace: str, thread: str, timeout_s: float) -> AsyncGenerator[None, None]:
        """See `LeasesThreads.lease`. A lock on `<thread>.jsonl.run.lock`."""
        path = self._path(namespace, thread)
        async with held(functools.partial(_take_lease, path), thread, timeout_s):
            yield

    async def close(self) -> None:
        """See `ThreadStore.close`."""
        await self._queue.close()

    def _path(self, namespace: str, thread: str) -> Path:
        folder = self._folder / file_name(check_name("namespace", namespace))
        return folder / (file_name(check_name("thread id", thread)) + _SUFFIX)

    def _read(self, path: Path, since: int) -> LogRead:
        if not lock_path(path).exists():
            return self._read_unlocked(path, since)
        try:
            with locked(path, exclusive=False):
                return self._read_unlocked(path, since)
        except StoreUnavailable:  # no right to the lock file, or its holder hangs: reading must go on
            return self._read_unlocked(path, since)

    def _read_unlocked(self, path: Path, since: int) -> LogRead:
        try:
            fd = log_file.open_to_read(path)
            if fd is None:
                return LogRead(turns=(), position=0)
            with _closing(fd):
                found = self._parse(path, fd, since)
        except OSError as error:
            raise StoreUnavailable(f"{path} cannot be read: {error.strerror or error}") from error
        log = found.parsed
        torn = [log.torn_report] if log.torn_report else []
        return LogRead(
            turns=_after(log.turns, since),
            position=log.last_seq,
            damage=(*log.damage, *torn),
            redactions=found.redactions,
        )

    def _append(self, path: Path, appends: Sequence[_Append]) -> Sequence[LogRead | RetentiveError]:
        try:
            log_file.make_folder(path.parent)
            with locked(path):
                return self._append_locked(path, appends)
        except RetentiveError as error:
            if isinstance(error.__cause__, OSError):
                raise log_file.refusal(path, error.__cause__) from error
            raise
        except OSError as error:
            raise log_file.refusal(path, error) from error

    def _append_locked(self, path: Path, appends: Sequence[_Append]) -> Sequence[LogRead | RetentiveError]:
        fd, is_new = log_file.open_to_append(path)
        kept = False
        try:
            with _closing(fd):
                results = self._append_to(path, fd, appends, is_new=is_new)
            kept = any(isinstance(result, LogRead) for result in results)
        finally:
            if is_new and not kept:
                path.unlink(missing_ok=True)
        return results

    def _append_to(
        self, path: Path, fd: int, appends: Sequence[_Append], *, is_new: bool
    ) -> Sequence[LogRead | RetentiveError]:
        found = self._parse(path, fd, min(append.since for append in appends))
        log = found.parsed
        lines = [b"" if log.ends_in_newline else b"\n"]
        turns, seq = list(log.turns), log.last_seq
        last_seqs: list[int | None] = []
        for append in appends:
            if append.since > log.last_seq or (found.rewritten and append.since):
                last_seqs.append(None)
                continue
            if is_there(append.turns, _after(turns, append.since)):
                last_seqs.append(seq)
                continue
            line, numbered = encode(append.turns, seq)
            lines.append(line)
            turns += numbered
            seq += len(numbered)
            last_seqs.append(seq)
        damage = log.damage
        if len(lines) > 1:
            damage = [*damage, *_torn_off(path, log)]
            log_file.append_durably(fd, b"".join(lines), log.kept)
            self._marks.add(path, [log.mark_after(lines, seq)], found.redactions)
            if is_new:
                log_file.sync_folder(path.parent)
        return [
            _conflict(path)
            if last is None
            else LogRead(
                turns=_after(turns, append.since, last),
                position=last,
                damage=tuple(damage),
                redactions=found.redactions,
            )
            for append, last in zip(appends, last_seqs, strict=True)
        ]

    def _parse(self, path: Path, fd: int, since: int) -> _Found:
        head = log_file.read_head(fd, HEAD_BYTES)
        check_schema(path, head)
        count = redactions(head)
        for mark in self._marks.latest(path, since, count):
            data = log_file.read_from(fd, mark.offset - mark.length)
            if mark.ends(data[: mark.length]):
                log = parse(data[mark.length :], mark)
                self._marks.add(path, log.marks, count)
                return _Found(log, count, rewritten=False)
        self._marks.forget(path)
        log = parse(log_file.read_from(fd, 0), Mark())
        self._marks.add(path, log.marks, count)
        return _Found(log, count, rewritten=True)

    def _redact(self, path: Path, seqs: frozenset[int], at: datetime, leaving: Leaving | None) -> list[Turn]:
        if not path.exists():
            return []
        try:
            with locked(path):
                log_file.temporary(path).unlink(missing_ok=True)
                log = path.read_bytes()
                check_schema(path, log[:HEAD_BYTES])
                left, taken = redact(log, seqs, at, leaving)
                if taken:
                    log_file.replace_durably(path, left)
        except OSError as error:
            if isinstance(error, RetentiveError):
                raise
            raise log_file.refusal(path, error) from error
        return taken

    def _delete(self, path: Path) -> bool:
        if not path.exists() and not log_file.set_aside_files(path):
            return False
        try:
            with locked(path):
                there = [path] if path.exists() else []
                for file in [*there, *log_file.set_aside_files(path)]:
                    file.unlink()
                log_file.temporary(path).unlink(missing_ok=True)
                log_file.sync_folder(path.parent)
                _drop_lease(path)
                with contextlib.suppress(PermissionError):  # Windows keeps a file that is open
                    lock_path(path).unlink()
        except OSError as error:
            if isinstance(error, RetentiveError):
                raise
            raise log_file.refusal(path, error) from error
        self._marks.forget(path)
        return bool(there)


def _leased(path: Path) -> Path:
    """What the lease of a thread is a lock of; it never exists itself."""
    return path.with_name(path.name + ".run")


def _take_lease(path: Path) -> Callable[[], None] | None:
    try:
        log_file.make_folder(path.parent)
        return take_lock(_leased(path))
    except OSError as error:
        cause = error.__cause__ if isinstance(error, RetentiveError) else error
        raise log_file.refusal(path, cause if isinstance(cause, OSError) else error) from error


def _drop_lease(path: Path) -> None:
    """Remove the lock file of the lease, unless a run holds it."""
    release = take_lock(_leased(path))
    if release is not None:
        with contextlib.suppress(PermissionError):
            lock_path(_leased(path)).unlink()
        release()


def _after(turns: Sequence[Turn], since: int, last: int | None = None) -> tuple[Turn, ...]:
    start = bisect.bisect_right(turns, since, key=_seq)
    return tuple(turns[start:] if last is None else turns[start : bisect.bisect_right(turns, last, key=_seq)])


def _seq(turn: Turn) -> int:
    return turn.seq


def _torn_off(path: Path, log: Parsed) -> list[Damage]:
    if log.torn_report is None:
        return []
    aside = log_file.set_aside(path, log.torn)
    _log.warning("%s: %s; moved to %s", path, log.torn_report.reason, aside.name)
    return [replace(log.torn_report, kept_at=str(aside))]


def _conflict(path: Path) -> Conflict:
    return Conflict(
        f"{path} no longer holds what was read from it: somebody deleted, shortened or replaced it. Nothing "
        "was appended; read the thread again, then append if you still want to"
    )


def _logs_in(folder: Path) -> list[str]:
    stems = (path.name.removesuffix(_SUFFIX) for path in _entries(folder) if path.name.endswith(_SUFFIX))
    return sorted(name_of(stem) for stem in stems if file_name(name_of(stem)) == stem)


def _files_in(folder: Path) -> list[Path]:
    return sorted(path for path in _entries(folder) if _SUFFIX in path.name and path.suffix != ".lock")


def _namespaces_in(folder: Path) -> list[str]:
    folders = (path for path in _entries(folder) if file_name(name_of(path.name)) == path.name)
    return sorted(name_of(path.name) for path in folders if _logs_in(path))


def _entries(folder: Path) -> list[Path]:
    try:
        return list(folder.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return []
    except OSError as error:
        raise StoreUnavailable(f"{folder} cannot be read: {error.strerror or error}") from error


@contextlib.contextmanager
def _closing(fd: int) -> Generator[None, None, None]:
    try:
        yield
    finally:
        os.close(fd)
