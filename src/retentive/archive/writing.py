"""Writes an archive, line after line; equal data give equal bytes."""

import os
import tempfile
import zipfile
from collections.abc import Generator, Iterable
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, BinaryIO, Self, cast

from retentive.archive.manifest import MANIFEST, Manifest, Member
from retentive.errors import InvalidInput, StoreUnavailable

_EPOCH = (1980, 1, 1, 0, 0, 0)  # the earliest time that a zip can say
_UNIX, _MODE = 3, 0o600


class ArchiveWriter:
    """A zip whose members are written one after the other. Without `finish` it is no archive."""

    def __init__(self, file: BinaryIO) -> None:
        self._zip = zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED)
        self._members: list[Member] = []

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._zip.close()

    @contextmanager
    def member(self, name: str) -> Generator["MemberWriter"]:
        """A member to write lines to; it ends with the block."""
        with self._zip.open(_info(name), "w", force_zip64=True) as handle:
            writer = MemberWriter(handle)
            yield writer
        self._members.append(writer.ended(name))

    def finish(self, namespace: str, users: dict[str | None, int], threads: int) -> None:
        """Write the manifest, as the last member."""
        manifest = Manifest(namespace=namespace, members=tuple(self._members), users=users, threads=threads)
        self._zip.writestr(_info(MANIFEST), manifest.to_bytes())


class MemberWriter:
    """The lines of one member, counted and hashed as they go by."""

    def __init__(self, handle: IO[bytes]) -> None:
        self._handle = handle
        self._hash = sha256()
        self._lines = 0
        self._size_bytes = 0

    def write(self, lines: Iterable[str]) -> None:
        """Add the lines, each ended by a newline."""
        for line in lines:
            raw = line.encode() + b"\n"
            self._handle.write(raw)
            self._hash.update(raw)
            self._lines += 1
            self._size_bytes += len(raw)

    def ended(self, name: str) -> Member:
        """What the manifest says of it."""
        return Member(
            name=name, lines=self._lines, size_bytes=self._size_bytes, sha256=self._hash.hexdigest()
        )


@contextmanager
def target(place: str | Path | BinaryIO) -> Generator[BinaryIO]:
    """A file to write to. A path is replaced when the block ends well, and is as before if it does not.

    Raises:
        StoreUnavailable: it cannot be written (no such folder, no right, disk full).
        InvalidInput: it is neither a path nor a binary file.
    """
    if not isinstance(place, (str, Path)):
        if not hasattr(place, "write"):
            raise InvalidInput(f"pass a path or an open binary file, not {type(place).__name__}")
        yield place
        return
    path = Path(place)
    try:
        with _replacing(path) as file:
            yield file
    except OSError as error:
        if isinstance(error, StoreUnavailable):
            raise
        raise StoreUnavailable(f"the archive {str(path)!r} cannot be written: {error}") from error


@contextmanager
def _replacing(path: Path) -> Generator[BinaryIO]:
    handle, name = tempfile.mkstemp(prefix=f".{path.name[:40]}.", suffix=".part", dir=path.parent)
    try:
        with os.fdopen(handle, "w+b") as file:
            yield cast("BinaryIO", file)
            file.flush()
            os.fsync(file.fileno())
        Path(name).replace(path)
    except BaseException:
        Path(name).unlink(missing_ok=True)
        raise


def _info(name: str) -> zipfile.ZipInfo:
    info = zipfile.ZipInfo(name, _EPOCH)
    info.compress_type = zipfile.ZIP_DEFLATED
    info.create_system = _UNIX
    info.external_attr = _MODE << 16
    return info
