"""Takes what other programs exported: memories are remembered, threads appended, both as imported."""

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import groupby
from typing import BinaryIO

from retentive import drafts
from retentive.archive.formats.base import ForeignMemory, ForeignThread, Found
from retentive.archive.formats.loading import load
from retentive.archive.formats.table import FORMATS, format_of
from retentive.archive.importing import BATCH, Into, check_one_user
from retentive.archive.report import Refusal
from retentive.checks import check_time
from retentive.clock import NewId
from retentive.drafts import Lifetimes
from retentive.errors import Conflict, InvalidInput
from retentive.types import MemoryItem, Scope
from retentive.writes import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Remembering:
    """What remembering needs beside the memory itself."""

    writer: Writer
    lifetimes: Lifetimes
    new_id: NewId


async def import_foreign(file: BinaryIO, format: str | None, into: Into, remembering: Remembering) -> str:
    """Take what the file holds; gives the name of its format.

    Raises:
        InvalidInput: the file cannot be read, or what it is cannot be told, or it holds conversations and no
            thread store was passed, or memories of several users that were to go to one; nothing was written.
        EmbedderError, StoreError: what came before was written; a second import completes it.
    """
    loaded = await asyncio.to_thread(load, file)
    name = format or format_of(loaded.records)
    found: list[Found] = [
        *loaded.refused,
        *await asyncio.to_thread(lambda: list(FORMATS[name].read(loaded.records))),
    ]
    memories = [one for one in found if isinstance(one, ForeignMemory)]
    threads = [one for one in found if isinstance(one, ForeignThread)]
    check_one_user({one.user_id for one in memories}, into)
    if threads and into.threads is None:
        raise InvalidInput(f"the file holds {len(threads)} conversations: pass threads=, where to keep them")
    for one in found:
        if isinstance(one, Refusal):
            into.tally.refuse(one.place, one.reason)
    for user, some in groupby(memories, key=lambda one: one.user_id):
        await _of_user(user, list(some), into, remembering)
    for thread in threads:
        if into.threads is not None:
            await into.threads.take(thread.place, thread.thread, thread.turns)
            into.progress(1)
    return name


async def _of_user(
    user_id: str | None, memories: Sequence[ForeignMemory], into: Into, remembering: Remembering
) -> None:
    try:
        scope = into.scope(user_id)
    except InvalidInput as error:
        for one in memories:
            into.tally.refuse(one.place, str(error))
        return
    for start in range(0, len(memories), BATCH):
        batch = memories[start : start + BATCH]
        await _remember(
            scope, [one for one in batch if _is_usable(one, scope, into, remembering)], into, remembering
        )
        into.progress(len(batch))


def _is_usable(one: ForeignMemory, scope: Scope, into: Into, remembering: Remembering) -> bool:
    now = into.intake.clock()
    try:
        if one.new.expires_at is not None and check_time("expires_at", one.new.expires_at) <= now:
            into.tally.expired += 1
            return False
        drafts.make_item(one.new, scope, now, remembering.lifetimes, str)
    except InvalidInput as error:
        into.tally.refuse(one.place, str(error))
        return False
    return True


async def _remember(
    scope: Scope, memories: Sequence[ForeignMemory], into: Into, remembering: Remembering
) -> None:
    if into.intake.dry_run or not memories:
        into.tally.imported += len(memories)
        return
    rows = await remembering.writer.remember_each(
        scope, [one.new for one in memories], remembering.lifetimes, remembering.new_id
    )
    items: list[MemoryItem] = []
    restated: list[str] = []
    for one, (made, kept) in zip(memories, rows, strict=True):
        if isinstance(kept, Conflict):
            into.tally.refuse(one.place, str(kept))
            continue
        items.append(kept)
        if kept.id == made.id:
            into.tally.imported += 1
        else:
            into.tally.present += 1
            restated.append(kept.id)
    into.told(scope, items, tuple(restated))
