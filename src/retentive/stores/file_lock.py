"""A lock between processes, and between the threads of one, held on a file beside the one it protects."""

import functools
import os
import sys
import time
from collections.abc import Callable, Generator
from contextlib import contextmanager
from pathlib import Path

from retentive.errors import StoreUnavailable

_FIRST_WAIT_S = 0.0005
_LONGEST_WAIT_S = 0.02

if sys.platform == "win32":
    import msvcrt

    def _try_lock(fd: int, *, exclusive: bool) -> bool:  # noqa: ARG001  (Windows knows exclusive ones only)
        try:
            msvcrt.locking(fd, msvcrt.LK_NBLCK, 1)
        except OSError:
            return False
        return True

    def _unlock(fd: int) -> None:
        os.lseek(fd, 0, os.SEEK_SET)
        msvcrt.locking(fd, msvcrt.LK_UNLCK, 1)

else:
    import fcntl

    def _try_lock(fd: int, *, exclusive: bool) -> bool:
        try:
            fcntl.flock(fd, (fcntl.LOCK_EX if exclusive else fcntl.LOCK_SH) | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def _unlock(fd: int) -> None:
        fcntl.flock(fd, fcntl.LOCK_UN)


def lock_path(path: Path) -> Path:
    """The file that is locked in place of `path`: `<name>.lock` in the same folder."""
    return path.with_name(path.name + ".lock")


@contextmanager
def locked(path: Path, *, exclusive: bool = True, timeout_s: float = 10.0) -> Generator[None, None, None]:
    """Hold the lock of `path` while the block runs. Blocks the calling thread, so not for an event loop.

    `path` itself is never opened; its folder must exist. Not re-entrant. Holders with `exclusive=False`
    share it (on Windows they take turns). The lock ends with the process, however that ends. Removing the
    lock file as the last thing in the block is safe: those who wait notice and lock the new one.

    Raises:
        StoreUnavailable: not free within `timeout_s`, or the lock file cannot be made.
    """
    fd = _acquire(lock_path(path), exclusive=exclusive, deadline=time.monotonic() + timeout_s)
    try:
        yield
    finally:
        _give_back(fd)


def take_lock(path: Path) -> Callable[[], None] | None:
    """What gives the lock of `path` back, if it was free; None if another holds it. Never waits.

    As `locked` otherwise: exclusive, between processes and within one, and it ends with the process.

    Raises:
        StoreUnavailable: the lock file cannot be made.
    """
    fd = _open(lock_path(path))
    try:
        if _try_lock(fd, exclusive=True) and _is_still_at(lock_path(path), fd):
            return functools.partial(_give_back, fd)
    except BaseException:
        os.close(fd)
        raise
    os.close(fd)
    return None


def _give_back(fd: int) -> None:
    try:
        _unlock(fd)
    finally:
        os.close(fd)


def _acquire(lock: Path, *, exclusive: bool, deadline: float) -> int:
    while True:
        fd = _open(lock)
        try:
            _wait(lock, fd, exclusive=exclusive, deadline=deadline)
            if _is_still_at(lock, fd):
                return fd
        except BaseException:
            os.close(fd)
            raise
        os.close(fd)


def _wait(lock: Path, fd: int, *, exclusive: bool, deadline: float) -> None:
    wait_s = _FIRST_WAIT_S
    while not _try_lock(fd, exclusive=exclusive):
        if time.monotonic() >= deadline:
            raise StoreUnavailable(f"{lock} is held by another writer: try again, or end that process")
        time.sleep(wait_s)
        wait_s = min(wait_s * 2, _LONGEST_WAIT_S)


def _open(lock: Path) -> int:
    try:
        return os.open(lock, os.O_RDWR | os.O_CREAT | getattr(os, "O_CLOEXEC", 0), 0o644)
    except OSError as error:
        raise StoreUnavailable(f"{lock} cannot be opened: {error.strerror or error}") from error


def _is_still_at(lock: Path, fd: int) -> bool:
    """Whether the locked file is the one others will find, not one that was removed meanwhile."""
    try:
        return os.path.samestat(os.fstat(fd), lock.stat())
    except FileNotFoundError:
        return False
