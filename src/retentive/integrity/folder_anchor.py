"""The anchor in a folder: one small file a scope or thread, written so that a kill leaves the last one."""

import asyncio
import hashlib
import os
from pathlib import Path

from retentive.errors import StoreCorrupt, StoreUnavailable
from retentive.integrity.anchor import Head, head_from_json
from retentive.stores import log_file
from retentive.stores.file_lock import locked

_SLOT_BYTES = 2_048
_SUM_BYTES = 16
_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_sync = getattr(os, "fdatasync", os.fsync)


class FolderAnchor:
    """Heads in `<folder>/<two letters>/<name>`. Several processes may share the folder.

    A file has two places. The older is overwritten, so a write that was torn leaves the head before it, of
    which the store's is a successor.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Name the folder; the first write makes it, for its owner alone."""
        self.folder = Path(folder).absolute()

    async def read(self, name: str) -> Head | None:
        """See `Anchor.read`."""
        return self._read(self._path(name))

    async def advance(self, name: str, head: Head) -> Head:
        """See `Anchor.advance`."""
        return await asyncio.to_thread(self._advance, self._path(name), head)

    async def heads(self) -> dict[str, Head]:
        """See `ListsHeads.heads`."""
        return await asyncio.to_thread(self._heads)

    def _path(self, name: str) -> Path:
        return self.folder / name[:2] / name

    def _heads(self) -> dict[str, Head]:
        files = [path for path in self.folder.glob("*/*") if path.suffix != ".lock"]
        found = {path.name: self._read(path) for path in sorted(files)}
        return {name: head for name, head in found.items() if head is not None}

    def _read(self, path: Path) -> Head | None:
        try:
            fd = log_file.open_to_read(path)
            if fd is None:
                return None
            try:
                data = log_file.read_from(fd, 0)
            finally:
                os.close(fd)
        except OSError as error:
            raise StoreUnavailable(f"the anchor {path} cannot be read: {error.strerror or error}") from error
        return _newest(data)[0] if data else None

    def _advance(self, path: Path, head: Head) -> Head:
        try:
            if not self.folder.is_dir():
                self.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            log_file.make_folder(path.parent)
            with locked(path.parent):
                return self._advance_locked(path, head)
        except OSError as error:
            if isinstance(error, StoreUnavailable):
                raise
            why = error.strerror or error
            raise StoreUnavailable(
                f"the anchor {path} cannot be written: {why}. What was just written is in the store and is "
                "taken as genuine once the anchor can be written again"
            ) from error

    def _advance_locked(self, path: Path, head: Head) -> Head:
        kept, slot = None, 0
        is_new = not path.exists()
        fd = os.open(path, os.O_RDWR | os.O_CREAT | _BINARY, 0o600)
        try:
            data = log_file.read_from(fd, 0)
            if data:
                kept, slot = _newest(data)
            if kept is not None and not head.is_beyond(kept):
                return kept
            os.lseek(fd, (1 - slot) * _SLOT_BYTES if data else 0, os.SEEK_SET)
            os.write(fd, _slot(head) if data else _slot(head) + bytes(_SLOT_BYTES))
            _sync(fd)
        finally:
            os.close(fd)
        if is_new:
            log_file.sync_folder(path.parent)
        return head


def _slot(head: Head) -> bytes:
    text = head.to_json().encode()
    checksum = hashlib.blake2b(text, digest_size=_SUM_BYTES).digest()
    return (checksum + text).ljust(_SLOT_BYTES, b"\0")


def _newest(data: bytes) -> tuple[Head | None, int]:
    """The later of the two heads and where it stands; None where the very first was torn."""
    found: tuple[Head | None, int] = (None, 1)
    for slot in (0, 1):
        part = data[slot * _SLOT_BYTES : (slot + 1) * _SLOT_BYTES].rstrip(b"\0")
        text = part[_SUM_BYTES:]
        if not text or hashlib.blake2b(text, digest_size=_SUM_BYTES).digest() != part[:_SUM_BYTES]:
            continue
        head = head_from_json(text.decode())
        if head.is_beyond(found[0]):
            found = head, slot
    if found[0] is None and any(data[_SLOT_BYTES:]):
        raise StoreCorrupt("an anchor file is damaged: restore it, or seal the store anew")
    return found
