"""One namespace in one file, followed in memory: read on where it grew, rewritten when text must go."""

import contextlib
import logging
import os
import shutil
import threading
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass
from operator import itemgetter
from pathlib import Path

from retentive.errors import RetentiveError, SchemaTooNew, StoreCorrupt, StoreUnavailable
from retentive.stores import log_file
from retentive.stores.base import Damage, Scan, StoredMemory, Written
from retentive.stores.file_lock import locked
from retentive.stores.journal_lines import Line, decode_line, encode_line
from retentive.stores.kept import KeptChanges
from retentive.stores.schema import HEAD_BYTES, check_schema
from retentive.stores.scope_state import ScopeState
from retentive.types import Scope

_LOG = logging.getLogger("retentive.stores.file")
_TAIL_BYTES = 64


class Journal:
    """The memories of one namespace. Hold `lock` around the reading methods; `write_all` takes it itself."""

    def __init__(self, path: Path, namespace: str, next_position: Callable[[], int]) -> None:
        """Name the file; it is read at the first use."""
        self.lock = threading.Lock()
        self._path = path
        self._namespace = namespace
        self._next_position = next_position
        self._held = _Held()

    @property
    def damage(self) -> list[Damage]:
        """The lines that cannot be read, as of the latest reading."""
        return [
            Damage(line=number, reason=reason, kept_at=str(self._path))
            for number, (reason, _) in self._held.bad.items()
        ]

    @property
    def scopes(self) -> list[Scope]:
        """The scopes that hold memories or notes, the shared one first, then by user id."""
        return sorted(self._held.scopes, key=lambda scope: scope.user_id or "")

    def size(self, scope: Scope) -> int:
        """How many memories the scope holds."""
        return len(self._held.scopes.get(scope, ()))

    def get(self, scope: Scope, ids: Sequence[str]) -> list[StoredMemory | None]:
        """See `MemoryStore.get`."""
        state = self._held.scopes.get(scope)
        found = [None if state is None else state.get(id) for id in ids]
        return [None if memory is None else memory.stored() for memory in found]

    def scan(self, scope: Scope, since: int) -> Scan:
        """See `MemoryStore.scan`."""
        state = self._held.scopes.get(scope)
        return Scan(position=0, rows=(), reset=since != 0) if state is None else state.scan(since)

    def notes(self, scope: Scope, prefix: str) -> dict[str, bytes]:
        """See `MemoryStore.notes`."""
        state = self._held.scopes.get(scope)
        return {} if state is None else state.notes(prefix)

    def is_current(self) -> bool:
        """Whether the file is as it was when last read."""
        try:
            return self._held.signature == _signature(self._path.stat())
        except FileNotFoundError:
            return self._held.signature is None
        except OSError:
            return False

    def refresh(self) -> None:
        """Take in what others wrote.

        Raises:
            StoreUnavailable: the file cannot be read.
            SchemaTooNew: a newer Retentive wrote it.
        """
        with _translated(self._path):
            fd = log_file.open_to_read(self._path)
            if fd is None:
                self._held = _Held()
                return
            try:
                signature = _signature(os.fstat(fd))
                if not self._held.goes_on_in(fd, signature):
                    self._held = _Held()
                    check_schema(self._path, log_file.read_head(fd, HEAD_BYTES))
                self._take_in(log_file.read_from(fd, self._held.offset))
                self._held.signature = signature
            finally:
                os.close(fd)

    def write_all(self, changes: Sequence[tuple[Scope, KeptChanges]]) -> list[Written | RetentiveError]:
        """Make the changes, each for itself, durable before this returns: what each did, or why it could not.

        Raises:
            StoreUnavailable: the disk refused, or the journal is held by another too long; none was made.
            SchemaTooNew: a newer Retentive wrote the file; none was made.
        """
        with self.lock, locked(self._path), _translated(self._path):
            self._temporary().unlink(missing_ok=True)
            if not self.is_current():
                self.refresh()
            self._mend_tail()
            try:
                return self._write(changes)
            except BaseException:
                self._held = _Held()  # memory is ahead of the disk: read it again
                raise

    def _write(self, changes: Sequence[tuple[Scope, KeptChanges]]) -> list[Written | RetentiveError]:
        results: list[Written | RetentiveError] = []
        lines: list[bytes] = []
        text_goes = False
        for scope, change in changes:
            try:
                written, new, replaced = self._apply(scope, change)
            except RetentiveError as error:
                results.append(error)
                continue
            results.append(written)
            text_goes = text_goes or replaced
            if new:
                lines.append(encode_line(new))
        if text_goes:
            self._rewrite()
        elif lines:
            self._append(lines)
        return results

    def _apply(self, scope: Scope, change: KeptChanges) -> tuple[Written, Line, bool]:
        """What was done, the line that adds what is new, and whether older text has to go."""
        scopes = self._held.scopes
        state = scopes.get(scope) or ScopeState(self._next_position)
        text_goes = state.loses(change)
        added = {name: note for name, note in change.notes.items() if state.note(name) is None}
        written = state.apply(change)
        if state:
            scopes[scope] = state
        else:
            scopes.pop(scope, None)
        memories = tuple(memory for memory in change.inserts if state.get(memory.id) is memory)
        notes = {name: note for name, note in added.items() if note is not None}
        return written, Line(scope=scope, memories=memories, notes=notes), text_goes

    def _append(self, lines: Sequence[bytes]) -> None:
        data = b"".join(lines)
        with self._opened() as (fd, is_new):
            log_file.append_durably(fd, data, self._held.offset)
            self._held.passed(data, len(lines))
            self._held.signature = _signature(os.fstat(fd))
        if is_new:
            log_file.sync_folder(self._path.parent)

    def _rewrite(self) -> None:
        """Put what is held into a new file in place of the old one, so that nothing else stays on disk."""
        bad = list(self._held.bad.values())
        lines = [line for _, line in bad] + [encode_line(line) for line in self._held.lines_anew()]
        data, temporary = b"".join(lines), self._temporary()
        with self._opened():  # it may be marked read-only, which replacing it would pass over
            pass
        fd = os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
        try:
            log_file.append_durably(fd, data, 0)
            signature = _signature(os.fstat(fd))
        finally:
            os.close(fd)
        shutil.copymode(self._path, temporary)
        if lines:
            temporary.replace(self._path)
        else:
            self._path.unlink()
            temporary.unlink()
        log_file.sync_folder(self._path.parent)
        self._held.bad = dict(enumerate(bad, start=1))
        self._held.offset = self._held.lines = 0
        self._held.passed(data, len(lines))
        self._held.signature = signature

    def _mend_tail(self) -> None:
        """Deal with an unfinished last line: end it if it is whole, else move it aside."""
        if self._held.signature is None or self._held.signature.size == self._held.offset:
            return
        with self._opened() as (fd, _):
            torn = log_file.read_from(fd, self._held.offset)
            try:
                decode_line(torn)
            except StoreCorrupt:
                aside = log_file.set_aside(self._path, torn)
                _LOG.warning("%s ended in an unfinished line; it was moved to %s", self._path, aside)
                log_file.append_durably(fd, b"", self._held.offset)
            else:
                log_file.append_durably(fd, torn + b"\n", self._held.offset)
                self._take_in(torn + b"\n")
            self._held.signature = _signature(os.fstat(fd))

    def _take_in(self, data: bytes) -> None:
        """Hold what these bytes say, but for an unfinished last line."""
        *lines, _ = data.split(b"\n")
        for line in lines:
            self._held.passed(line + b"\n", 1)
            try:
                said = decode_line(line)
                if said.scope.namespace != self._namespace:
                    raise StoreCorrupt("of another namespace")  # noqa: TRY301
            except StoreCorrupt as error:
                self._held.bad[self._held.lines] = (str(error), line + b"\n")
                _LOG.warning("%s line %d is left out: %s", self._path, self._held.lines, error)
                continue
            except SchemaTooNew as error:
                raise SchemaTooNew(f"{self._path} line {self._held.lines}: {error}") from error
            state = self._held.scopes.setdefault(said.scope, ScopeState(self._next_position))
            state.put_notes(said.notes)
            for memory in said.memories:
                state.put(memory)

    @contextlib.contextmanager
    def _opened(self) -> Generator[tuple[int, bool], None, None]:
        fd, is_new = log_file.open_to_append(self._path)
        try:
            yield fd, is_new
        finally:
            os.close(fd)

    def _temporary(self) -> Path:
        return self._path.with_name(self._path.name + ".new")


@dataclass(frozen=True, slots=True)
class _Signature:
    """By which a change of the file is noticed."""

    device: int
    inode: int
    size: int
    modified_ns: int


class _Held:
    """What was read of the file: its memories, its bad lines (with why), and how far."""

    def __init__(self) -> None:
        self.signature: _Signature | None = None
        self.scopes: dict[Scope, ScopeState] = {}
        self.bad: dict[int, tuple[str, bytes]] = {}
        self.lines = 0
        self.offset = 0
        self._tail = b""

    def passed(self, data: bytes, lines: int) -> None:
        """Go on behind these bytes."""
        self.lines += lines
        self.offset += len(data)
        self._tail = (self._tail + data[-_TAIL_BYTES:])[-_TAIL_BYTES:] if self.offset else b""

    def lines_anew(self) -> Iterator[Line]:
        """All that is held, as few words as it takes: the oldest memory first, then the notes."""
        by_age = sorted(
            ((position, scope, memory) for scope, state in self.scopes.items() for position, memory in state),
            key=itemgetter(0),
        )
        for _, scope, memory in by_age:
            yield Line(scope=scope, memories=(memory,))
        for scope, state in self.scopes.items():
            for name, note in state.notes().items():
                yield Line(scope=scope, notes={name: note})

    def goes_on_in(self, fd: int, now: _Signature) -> bool:
        """Whether the open file begins with what was read; if not it was replaced, cut, or edited."""
        last = self.signature
        if last is None or (last.device, last.inode) != (now.device, now.inode) or now.size < self.offset:
            return False
        if now.size == last.size and now != last:
            return False
        os.lseek(fd, self.offset - len(self._tail), os.SEEK_SET)
        return os.read(fd, len(self._tail)) == self._tail


def _signature(stat: os.stat_result) -> _Signature:
    return _Signature(stat.st_dev, stat.st_ino, stat.st_size, stat.st_mtime_ns)


@contextlib.contextmanager
def _translated(path: Path) -> Generator[None, None, None]:
    try:
        yield
    except RetentiveError:
        raise
    except OSError as error:
        raise StoreUnavailable(
            f"{path}: {error.strerror or error}; nothing was changed. Mend that and try again"
        ) from error
