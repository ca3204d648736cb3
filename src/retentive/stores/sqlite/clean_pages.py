"""A file layer under SQLite's writer that leaves no stale bytes in the pages of the database file.

SQLite's secure_delete overwrites what is deleted, but not the copies that stay in a page's unused middle when
its rows are moved to another page. Pages reach the database file when the log is checkpointed; on that way
the unused middle is filled with zeros. It means nothing to SQLite, whatever it holds
(https://www.sqlite.org/fileformat2.html#b_tree_pages).
"""

from functools import cache

import apsw

NAME = "retentive-clean-pages"

_INTERIOR = frozenset([2, 5])
_LEAVES = frozenset([10, 13])
_FILE_HEADER_BYTES = 100


def cleaned(page: bytes, offset: int) -> bytes:
    """The page as it should be on disk; `offset` is its place in the file."""
    start = _FILE_HEADER_BYTES if offset == 0 else 0
    kind = page[start] if len(page) >= 512 else 0
    if kind not in _INTERIOR and kind not in _LEAVES:
        return page
    cells = int.from_bytes(page[start + 3 : start + 5], "big")
    first = start + (12 if kind in _INTERIOR else 8) + 2 * cells
    last = int.from_bytes(page[start + 5 : start + 7], "big") or 65_536
    if not first < last <= len(page) or not any(page[first:last]):
        return page
    return page[:first] + bytes(last - first) + page[last:]


class _CleanFile(apsw.VFSFile):
    def xWrite(self, data: bytes, offset: int) -> None:
        super().xWrite(cleaned(data, offset), offset)  # pyright: ignore[reportUnknownMemberType]


class _CleanPages(apsw.VFS):
    def xOpen(self, name: str | apsw.URIFilename | None, flags: list[int]) -> apsw.VFSFile:
        kind = _CleanFile if flags[0] & apsw.SQLITE_OPEN_MAIN_DB else apsw.VFSFile
        return kind("", name, flags)


@cache
def clean_pages() -> apsw.VFS:
    """The file layer, registered under `NAME` for as long as the process lives."""
    return _CleanPages(NAME, base="")
