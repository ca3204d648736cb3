"""Reads an archive: everything is checked before anything is given, and nothing is unpacked to a disk."""

import zipfile
import zlib
from collections.abc import Generator, Iterator
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import IO, BinaryIO

from retentive.archive.manifest import MANIFEST, MAX_MANIFEST_BYTES, Manifest, Member, parse_manifest
from retentive.checks import MAX_TEXT_CHARS
from retentive.errors import ArchiveCorrupt, InvalidInput, RetentiveError

MAX_LINE_BYTES = 10 * MAX_TEXT_CHARS
MAX_TOTAL_BYTES = 256 * 1024**3
MAX_RATIO = 500
"""How often a member may be larger than its packed bytes, beyond `SMALL_BYTES`; a zip bomb is a thousand."""
SMALL_BYTES = 64 * 1024 * 1024

_BLOCK = 1024 * 1024
_BROKEN = (
    zipfile.BadZipFile,
    zlib.error,
    EOFError,
    NotImplementedError,  # a way of packing that Python does not know
    RuntimeError,  # a password
    ValueError,  # offsets outside the file, names that are no text
    OSError,
)


class ArchiveReader:
    """An archive whose manifest has been read. `check` reads the rest once; then `lines` can be trusted."""

    def __init__(self, file: BinaryIO) -> None:
        """Read the manifest.

        Raises:
            ArchiveTooNew: it is of a later version.
            ArchiveCorrupt: it is no archive, or its members are not those that the manifest names.
        """
        with translated():
            self._zip = zipfile.ZipFile(file)
            infos = self._zip.infolist()
            names = [info.filename for info in infos]
            if MANIFEST not in names:
                raise ArchiveCorrupt(f"it has no {MANIFEST}: this is no archive of Retentive")
            self._infos = dict(zip(names, infos, strict=True))
            check_size(self._infos[MANIFEST], MAX_MANIFEST_BYTES)
            with self._zip.open(MANIFEST) as handle:
                self.manifest: Manifest = parse_manifest(handle.read(MAX_MANIFEST_BYTES + 1))
        wanted = [MANIFEST, *(member.name for member in self.manifest.members)]
        if sorted(names) != sorted(wanted):
            raise ArchiveCorrupt("its members are not those that the manifest names, each once")

    def check(self) -> None:
        """Compare every member with the manifest: its size, how many lines it has, its hash.

        Raises:
            ArchiveCorrupt: something differs, or cannot be read; the message names the member.
        """
        for member in self.manifest.members:
            info = self._infos[member.name]
            check_size(info, MAX_TOTAL_BYTES)
            if info.file_size != member.size_bytes:
                raise ArchiveCorrupt(f"{member.name} has another size than the manifest says: it was changed")
            with translated(member.name), self._zip.open(info) as handle:
                found, lines = _read_through(handle, member)
            if found != member.sha256 or lines != member.lines:
                raise ArchiveCorrupt(f"{member.name} is not as the manifest says: it was changed or damaged")

    def lines(self, name: str) -> Iterator[tuple[int, bytes]]:
        """The lines of a member with their numbers from 1; none where the archive has no such member.

        Raises:
            ArchiveCorrupt: it cannot be read.
        """
        if name in self._infos:
            with translated(name), self._zip.open(self._infos[name]) as handle:
                yield from enumerate(iter(lambda: handle.readline(MAX_LINE_BYTES), b""), start=1)


def check_size(info: zipfile.ZipInfo, max_bytes: int) -> None:
    """Refuse a member that is too large, or packed so tightly that it is made to fill a disk.

    Raises:
        ArchiveCorrupt: it is.
    """
    size, packed = info.file_size, max(info.compress_size, 1)
    if size > max_bytes or (size > SMALL_BYTES and size > packed * MAX_RATIO):
        raise ArchiveCorrupt(f"{info.filename[:80]!r} would unpack to {size:,} bytes: refused")


@contextmanager
def opened(place: str | Path | BinaryIO) -> Generator[BinaryIO]:
    """The file, open for reading; one that was passed open stays open.

    Raises:
        InvalidInput: there is no such file, it cannot be read, or it is no binary file that can seek.
    """
    if not isinstance(place, (str, Path)):
        if not hasattr(place, "read") or not place.seekable():
            raise InvalidInput("pass a path or an open binary file that can seek (wrap a stream in BytesIO)")
        yield place
        return
    try:
        file = Path(place).open("rb")  # noqa: SIM115 - closed below
    except OSError as error:
        raise InvalidInput(f"{str(place)!r} cannot be read: {error.strerror or error}") from error
    with file:
        yield file


def _read_through(handle: IO[bytes], member: Member) -> tuple[str, int]:
    found, lines, since_newline = sha256(), 0, 0
    while block := handle.read(_BLOCK):
        found.update(block)
        lines += block.count(b"\n")
        pieces = block.split(b"\n")
        longest = max(since_newline + len(pieces[0]), *map(len, pieces))
        since_newline = len(pieces[-1]) if len(pieces) > 1 else since_newline + len(block)
        if longest >= MAX_LINE_BYTES:
            raise ArchiveCorrupt(f"{member.name} has a line of more than {MAX_LINE_BYTES:,} bytes")
    return found.hexdigest(), lines


@contextmanager
def translated(member: str = "the file") -> Generator[None]:
    """Have what goes wrong with a zip inside the block raise ArchiveCorrupt."""
    try:
        yield
    except RetentiveError:
        raise
    except _BROKEN as error:
        raise ArchiveCorrupt(f"{member} cannot be read as part of a zip: {error}") from error
