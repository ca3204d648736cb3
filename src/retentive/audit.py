"""Who read and wrote which memories, and when: a log beside the store, of ids and no content.

A line of JSON for each finished call of a Memory, appended to a file that is put aside when it is full.
"""

import json
import logging
import os
import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any, Final, cast

from retentive import checks
from retentive.checks import Json
from retentive.clock import Clock, utc_now
from retentive.codec import time_from_text, time_to_text, to_json
from retentive.errors import InvalidInput, StoreUnavailable
from retentive.events import Event, EventType, current_trace
from retentive.stores.base import Changes
from retentive.stores.file_lock import locked
from retentive.stores.log_file import append_durably, make_folder, open_to_append

INTENT: Final = "intent"
GAP: Final = "gap"
IDS_A_LINE: Final = 500
LOCK_WAIT_S: Final = 2.0
MAX_ACTOR_CHARS: Final = 256
MAX_LINE_BYTES: Final = 1 << 20
MIN_BYTES: Final = 4_096
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class AuditEntry:
    """One line of an audit log.

    `type` is an EventType, "intent" (what a strict log says before a write), or "gap": `missing` calls before
    it could not be written down. `ids` are those returned, written or removed; of a call with very many ids
    there are several entries, `part` (1-based) of `parts`. `failed` says that something went wrong in it.
    """

    at: datetime
    type: str
    verb: str
    namespace: str
    user_id: str | None
    actor: str | None = None
    ids: tuple[str, ...] = ()
    run: str | None = None
    failed: bool = False
    part: int = 1
    parts: int = 1
    missing: int = 0


class AuditLog:
    """Writes the audit log of one or more Memories: `Memory(audit=AuditLog("audit.jsonl"))`.

    Threads and processes may share the file. A line is written before the call that it is about returns, so
    kill -9 loses none; a power cut may lose the last ones, unless `fsync`.

    Args:
        path: the file; full ones are kept beside it as `<name>.1` (the newest), `<name>.2`, ...
        max_bytes: how large it grows.
        keep: how many full files are kept; older ones are removed.
        actor: who is doing this, for every entry: a service, a person, a key's name.
        fsync: wait for the disk, at each call.
        strict: do nothing that cannot be audited. A write is told first, as an "intent", and refused with
            StoreUnavailable if that cannot be written down; so is what a read would have given. Otherwise the
            call goes on, the failure is logged as an error, and the log says how many calls it misses.
        clock: the time, for intents and gaps.

    Raises:
        InvalidInput: a value that can mean nothing.
    """

    def __init__(  # noqa: PLR0913 - one keyword for each choice
        self,
        path: str | Path,
        *,
        max_bytes: int = 10_000_000,
        keep: int = 10,
        actor: str | None = None,
        fsync: bool = False,
        strict: bool = False,
        clock: Clock = utc_now,
    ) -> None:
        if type(max_bytes) is not int or max_bytes < MIN_BYTES:
            raise InvalidInput(f"max_bytes must be a whole number from {MIN_BYTES:,}, not {max_bytes!r}")
        if actor is not None:
            checks.check_label("actor", actor, max_chars=MAX_ACTOR_CHARS)
        self.path = Path(path).expanduser().absolute()
        self.strict = strict
        self.missing = 0
        self._max_bytes = max_bytes
        self._keep = checks.check_limit("keep", keep)
        self._actor = actor
        self._fsync = fsync
        self._clock = clock
        self._lock = threading.Lock()

    def record(self, event: Event) -> None:
        """Write the event down.

        Raises:
            StoreUnavailable: it is a read, the log is strict, and it could not be written.
        """
        said: dict[str, Json] = {
            "at": time_to_text(event.at),
            "type": str(event.type),
            "verb": event.verb,
            "namespace": event.scope.namespace,
            "user_id": event.scope.user_id,
        }
        trace = current_trace()
        if run := event.run or (trace.run if trace is not None else None):
            said["run"] = run
        if event.error is not None:
            said["failed"] = True
        try:
            self._append(said, event.ids)
        except StoreUnavailable:
            if self.strict and event.type is EventType.MEMORY_READ:
                raise
            _log.exception("the audit log misses a %s; %d so far", event.verb, self.missing)

    def intend(self, changes: Changes) -> None:
        """Write down that this change is about to be made; one of notes alone is passed over.

        Raises:
            StoreUnavailable: it could not be; do not make it.
        """
        ids = dict.fromkeys(
            [*changes.deletes, *(memory.item.id for memory in (*changes.updates, *changes.inserts))]
        )
        if not ids:
            return
        scope = changes.scope
        said: dict[str, Json] = {
            "at": time_to_text(self._clock()),
            "type": INTENT,
            "verb": "write",
            "namespace": scope.namespace,
            "user_id": scope.user_id,
        }
        self._append(said, list(ids))

    def _append(self, said: dict[str, Json], ids: Sequence[str]) -> None:
        if self._actor is not None:
            said["actor"] = self._actor
        with self._lock:
            lines = _lines(said, ids)
            if self.missing:
                gap: dict[str, Json] = {**said, "type": GAP, "verb": "", "missing": self.missing}
                lines.insert(0, to_json(gap))
            try:
                self._write("".join(line + "\n" for line in lines).encode())
            except OSError as error:
                self.missing += 1
                why = error.strerror or error
                raise StoreUnavailable(f"the audit log {self.path} cannot be written: {why}") from error
            self.missing = 0

    def _write(self, data: bytes) -> None:
        make_folder(self.path.parent)
        with locked(self.path, timeout_s=LOCK_WAIT_S):
            fd, _ = open_to_append(self.path)
            try:
                size = os.fstat(fd).st_size
                if size and size + len(data) > self._max_bytes:
                    os.close(fd)
                    fd = -1
                    self._rotate()
                    fd, _ = open_to_append(self.path)
                    size = 0
                append(fd, data, size, fsync=self._fsync)
            finally:
                if fd >= 0:
                    os.close(fd)

    def _rotate(self) -> None:
        """Put the full file aside, and let go of those beyond `keep`."""
        for number, full in sorted(_full_files(self.path), reverse=True):
            if number >= self._keep:
                full.unlink(missing_ok=True)
            else:
                full.replace(_full(self.path, number + 1))
        if self._keep:
            self.path.replace(_full(self.path, 1))
        else:
            self.path.unlink()


def append(fd: int, data: bytes, size: int, *, fsync: bool) -> None:
    """Add lines to a file of so many bytes; a last line that was cut off is ended first.

    Raises:
        OSError: it could not be (disk full, ...); the file is as it was.
    """
    if size:
        os.lseek(fd, size - 1, os.SEEK_SET)
        if os.read(fd, 1) != b"\n":
            data = b"\n" + data
    if fsync:
        append_durably(fd, data, size)
        return
    try:
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
    except OSError:
        os.ftruncate(fd, size)
        raise


def read_audit(path: str | Path, *, missing_ok: bool = False) -> Iterator[AuditEntry | None]:
    """The entries of the log and of the full files beside it, oldest first, read as they are asked for.

    A line that is no entry, such as one that a crash cut off, comes as None. A file that is put aside
    meanwhile may be met twice.

    Raises:
        StoreUnavailable: there is no such log (unless `missing_ok`), or it cannot be read.
    """
    path = Path(path).expanduser().absolute()
    files = [full for _, full in sorted(_full_files(path), reverse=True)]
    if path.exists():
        files.append(path)
    if not files and not missing_ok:
        raise StoreUnavailable(f"there is no audit log at {path}")
    for file in files:
        try:
            with file.open("rb") as lines:
                while line := lines.readline(MAX_LINE_BYTES):
                    yield _entry(line)
        except FileNotFoundError:
            continue
        except OSError as error:
            raise StoreUnavailable(f"{file} cannot be read: {error.strerror or error}") from error


def _lines(said: dict[str, Json], ids: Sequence[str]) -> list[str]:
    parts = [list(ids[start : start + IDS_A_LINE]) for start in range(0, max(1, len(ids)), IDS_A_LINE)]
    lines: list[str] = []
    for number, part in enumerate(parts, start=1):
        counted: dict[str, Json] = {"part": number, "parts": len(parts)} if len(parts) > 1 else {}
        lines.append(to_json({**said, "ids": cast("list[Json]", part), **counted}))
    return lines


def _entry(line: bytes) -> AuditEntry | None:
    try:
        data = cast("dict[str, Any]", json.loads(line))
        return AuditEntry(
            at=time_from_text(data["at"]),
            type=str(data["type"]),
            verb=str(data["verb"]),
            namespace=str(data["namespace"]),
            user_id=data["user_id"],
            actor=data.get("actor"),
            ids=tuple(data.get("ids", ())),
            run=data.get("run"),
            failed=bool(data.get("failed", False)),
            part=int(data.get("part", 1)),
            parts=int(data.get("parts", 1)),
            missing=int(data.get("missing", 0)),
        )
    except (ValueError, KeyError, TypeError, AttributeError):
        return None


def _full(path: Path, number: int) -> Path:
    return path.with_name(f"{path.name}.{number}")


def _full_files(path: Path) -> list[tuple[int, Path]]:
    if not path.parent.is_dir():
        return []
    beginning = f"{path.name}."
    return [
        (int(other.name[len(beginning) :]), other)
        for other in path.parent.iterdir()
        if other.name.startswith(beginning) and other.name[len(beginning) :].isdecimal()
    ]
