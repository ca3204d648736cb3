"""The one way in for a file: found out what it is, then taken."""

import asyncio
from pathlib import Path
from typing import BinaryIO

from retentive.archive.foreign import Remembering, import_foreign
from retentive.archive.formats.loading import kind_of
from retentive.archive.formats.table import ARCHIVE, check_format
from retentive.archive.importing import Into, import_archive
from retentive.archive.reading import opened


async def accept(
    source: str | Path | BinaryIO, format: str | None, into: Into, remembering: Remembering
) -> str:
    """Take the file; gives the name of its format.

    Raises:
        InvalidInput, ArchiveCorrupt, ArchiveTooNew: nothing was written.
        EmbedderError, StoreError: what came before was written; a second import completes it.
    """
    check_format(format)
    with opened(source) as file:
        kind = await asyncio.to_thread(kind_of, file, format)
        if kind == ARCHIVE:
            await import_archive(file, into)
            return ARCHIVE
        return await import_foreign(file, kind, into, remembering)
