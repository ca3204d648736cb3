"""The few file operations an append-only log is made of; each leaves the file whole or says why not."""

import contextlib
import errno
import os
import shutil
import stat
from pathlib import Path

from retentive.errors import ReadOnly, StoreUnavailable

_BINARY = getattr(os, "O_BINARY", 0) | getattr(os, "O_CLOEXEC", 0)
_READ_BYTES = 1 << 20
_DENIED = frozenset([errno.EACCES, errno.EPERM, errno.EROFS])


def refusal(path: Path, error: OSError) -> StoreUnavailable | ReadOnly:
    """The error to raise for one of the system's."""
    why = error.strerror or str(error)
    if error.errno in _DENIED:
        return ReadOnly(
            f"{path} cannot be written: {why}; nothing was changed. Give this account the right to write "
            "there, or open with read_only=True"
        )
    return StoreUnavailable(f"{path}: {why}; nothing was changed. Mend that and try again")


def open_to_read(path: Path) -> int | None:
    """A descriptor; None if there is no such file."""
    try:
        return os.open(path, os.O_RDONLY | _BINARY)
    except (FileNotFoundError, NotADirectoryError):
        return None


def open_to_append(path: Path) -> tuple[int, bool]:
    """A descriptor that reads anywhere and writes at the end, and whether the file was made just now.

    Raises:
        OSError: it cannot be opened, or nobody may write it (also told to accounts that no right stops).
    """
    flags = os.O_RDWR | os.O_APPEND | _BINARY
    try:
        fd = os.open(path, flags)
    except FileNotFoundError:
        return os.open(path, flags | os.O_CREAT | os.O_EXCL, 0o644), True
    if not os.fstat(fd).st_mode & (stat.S_IWUSR | stat.S_IWGRP | stat.S_IWOTH):
        os.close(fd)
        raise PermissionError(errno.EACCES, "the file is marked read-only", str(path))
    return fd, False


def read_from(fd: int, offset: int) -> bytes:
    """All bytes from the offset on."""
    os.lseek(fd, offset, os.SEEK_SET)
    parts: list[bytes] = []
    while part := os.read(fd, _READ_BYTES):
        parts.append(part)
    return b"".join(parts)


def read_head(fd: int, size: int) -> bytes:
    """The first bytes, `size` at most."""
    os.lseek(fd, 0, os.SEEK_SET)
    return os.read(fd, size)


def append_durably(fd: int, data: bytes, keep: int) -> None:
    """Cut the file to its first `keep` bytes, add the data, and wait until it is on disk.

    Raises:
        OSError: it could not be (disk full, ...); the file is `keep` bytes long again.
    """
    try:
        if os.fstat(fd).st_size != keep:
            os.ftruncate(fd, keep)
        view = memoryview(data)
        while view:
            view = view[os.write(fd, view) :]
        os.fsync(fd)
    except OSError:
        with contextlib.suppress(OSError):
            os.ftruncate(fd, keep)
            os.fsync(fd)
        raise


def temporary(path: Path) -> Path:
    """Where a file is made that takes the place of `path`: `<name>.new`. One may be left by a kill."""
    return path.with_name(path.name + ".new")


def replace_durably(path: Path, data: bytes) -> None:
    """Put a file of this data in the place of the one at `path`, with its rights, on disk.

    Whoever opens `path`, or finds it after a kill, sees the old file or the new one, whole. The blocks of the
    old one are given back to the file system.

    Raises:
        OSError: it could not be done, or nobody may write `path`; that is as it was.
    """
    fd, _ = open_to_append(path)
    os.close(fd)
    new = temporary(path)
    new.unlink(missing_ok=True)
    fd = os.open(new, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o644)
    try:
        try:
            append_durably(fd, data, 0)
        finally:
            os.close(fd)
        shutil.copymode(path, new)
        new.replace(path)
    except OSError:
        new.unlink(missing_ok=True)
        raise
    sync_folder(path.parent)


def set_aside(path: Path, torn: bytes) -> Path:
    """The new file `<path>.torn-<n>` that now holds the bytes, on disk.

    Raises:
        OSError: it could not be written; nothing is left of it.
    """
    taken = [int(other.suffix.removeprefix(".torn-")) for other in set_aside_files(path)]
    aside = path.with_name(f"{path.name}.torn-{max(taken, default=0) + 1}")
    fd = os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | _BINARY, 0o644)
    try:
        try:
            append_durably(fd, torn, 0)
        finally:
            os.close(fd)
        sync_folder(path.parent)
    except OSError:
        aside.unlink()
        raise
    return aside


def set_aside_files(path: Path) -> list[Path]:
    """The files that `set_aside` made for this path."""
    beginning = f"{path.name}.torn-"
    if not path.parent.is_dir():
        return []
    return sorted(
        other
        for other in path.parent.iterdir()
        if other.name.startswith(beginning) and other.name[len(beginning) :].isdecimal()
    )


def make_folder(folder: Path) -> None:
    """Make the folder and what is missing above it, on disk.

    Raises:
        OSError: it cannot be made.
    """
    if folder.is_dir():
        return
    if folder.parent != folder:
        make_folder(folder.parent)
    folder.mkdir(exist_ok=True)
    sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Wait until the folder's list of names is on disk, where the system has a way to do so."""
    if os.name == "nt":
        return
    fd = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
