"""The key ring: each namespace's own key, wrapped by the master key, kept apart from the data."""

import asyncio
import contextlib
import os
import secrets
from pathlib import Path
from typing import Protocol

from retentive.errors import StoreUnavailable
from retentive.names import file_name, name_of
from retentive.stores import log_file
from retentive.stores.file_lock import locked

_SUFFIX = ".key"


class KeyRing(Protocol):
    """Keeps wrapped keys by namespace. They are of no use without the master key."""

    async def read(self, namespace: str) -> bytes | None:
        """The namespace's wrapped key; None if it has none."""
        ...

    async def replace(self, namespace: str, old: bytes | None, new: bytes | None) -> bool:
        """Keep `new` (None: nothing) if `old` is what is kept, at once and durably; False if it is not."""
        ...

    async def namespaces(self) -> list[str]:
        """The namespaces that have a key, sorted."""
        ...


class FolderRing:
    """Wrapped keys as files `<folder>/<namespace>.key`. Several processes may share the folder.

    Keep the folder's backups apart from the store's: a shredded key that is in a backup is not gone.
    """

    def __init__(self, folder: str | os.PathLike[str]) -> None:
        """Name the folder; the first write makes it, for its owner alone."""
        self.folder = Path(folder).absolute()

    async def read(self, namespace: str) -> bytes | None:
        """See `KeyRing.read`."""
        return self._read(self._path(namespace))

    async def replace(self, namespace: str, old: bytes | None, new: bytes | None) -> bool:
        """See `KeyRing.replace`. The bytes of the old one are overwritten."""
        return await asyncio.to_thread(self._replace, self._path(namespace), old, new)

    async def namespaces(self) -> list[str]:
        """See `KeyRing.namespaces`."""
        return sorted(name_of(path.name.removesuffix(_SUFFIX)) for path in self.folder.glob(f"*{_SUFFIX}"))

    def _path(self, namespace: str) -> Path:
        return self.folder / (file_name(namespace) + _SUFFIX)

    def _read(self, path: Path) -> bytes | None:
        try:
            return path.read_bytes()
        except FileNotFoundError:
            return None
        except OSError as error:
            raise StoreUnavailable(f"the key {path} cannot be read: {error.strerror or error}") from error

    def _replace(self, path: Path, old: bytes | None, new: bytes | None) -> bool:
        try:
            self.folder.mkdir(parents=True, mode=0o700, exist_ok=True)
            with locked(path):
                if self._read(path) != old:
                    return False
                if new is not None:
                    _write(path, new)
                elif old is not None:
                    _overwrite(path, len(old))
                    path.unlink()
                log_file.sync_folder(self.folder)
        except OSError as error:
            if isinstance(error, StoreUnavailable):
                raise
            raise StoreUnavailable(f"the key {path} cannot be written: {error.strerror or error}") from error
        return True


def _write(path: Path, data: bytes) -> None:
    draft = path.with_name(f"{path.name}.{secrets.token_hex(8)}")
    fd = os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o600)
    try:
        with os.fdopen(fd, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        draft.replace(path)
    except OSError:
        with contextlib.suppress(OSError):
            draft.unlink()
        raise


def _overwrite(path: Path, size: int) -> None:
    with path.open("r+b") as file:
        file.write(os.urandom(size))
        file.flush()
        os.fsync(file.fileno())
