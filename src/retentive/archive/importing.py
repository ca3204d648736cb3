"""From an archive to the stores: checked wholly, then taken as it is."""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import groupby, islice
from typing import BinaryIO, TypeAlias, TypeVar

from retentive.archive.intake import Intake
from retentive.archive.lines import MemoryLine, TurnLine, in_scope, memory_from_line, turn_from_line
from retentive.archive.manifest import MEMORIES, THREADS
from retentive.archive.reading import ArchiveReader
from retentive.archive.report import Tally
from retentive.archive.thread_intake import ThreadIntake
from retentive.errors import InvalidInput
from retentive.types import UNSET, MemoryItem, Origin, Scope, Unset

BATCH = 200
Told: TypeAlias = Callable[[Scope, Sequence[MemoryItem], tuple[str, ...]], None]
Progress: TypeAlias = Callable[[int], object]
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Into:
    """Where a file goes. `user_id` UNSET leaves every memory to whom it belongs.

    `told` hears of each batch that was written, with the ids that were there already; `progress` of how many
    records are done.
    """

    namespace: str
    user_id: str | Unset | None
    trust_origins: bool
    intake: Intake
    threads: ThreadIntake | None
    told: Told
    progress: Progress

    @property
    def tally(self) -> Tally:
        """The figures so far."""
        return self.intake.tally

    def scope(self, user_id: str | None) -> Scope:
        """The scope that a memory of this user goes into.

        Raises:
            InvalidInput: nobody can be called so.
        """
        return Scope(self.namespace, user_id if self.user_id is UNSET else self.user_id)  # pyright: ignore[reportArgumentType]


def check_one_user(users: set[str | None], into: Into) -> None:
    """Refuse to give what belongs to several users to one.

    Raises:
        InvalidInput: the message counts them.
    """
    if into.user_id is not UNSET and len(users) > 1:
        raise InvalidInput(
            f"the file holds memories of {len(users)} users (the shared scope counts as one); leave "
            "user_id out to import each to its own"
        )


async def import_archive(file: BinaryIO, into: Into) -> None:
    """Check the whole archive, then take what it holds.

    Raises:
        ArchiveCorrupt, ArchiveTooNew, InvalidInput: nothing was written.
        EmbedderError, StoreError: what came before was written; a second import completes it.
    """
    reader = await asyncio.to_thread(ArchiveReader, file)
    await asyncio.to_thread(reader.check)
    users = set(reader.manifest.users)
    check_one_user(users, into)
    await _memories(reader, users, into)
    if into.threads is None:
        into.tally.threads_left_out = reader.manifest.threads
    else:
        await _threads(reader, into.threads, into)


async def _memories(reader: ArchiveReader, users: set[str | None], into: Into) -> None:
    parsed = _parsed(reader, MEMORIES, memory_from_line, into.tally)
    while batch := await asyncio.to_thread(lambda: list(islice(parsed, BATCH))):
        for user, lines in groupby(batch, key=lambda line: line.item.scope.user_id):
            if user not in users:
                for line in lines:
                    into.tally.refuse(line.place, f"user {user!r} is not named in the manifest")
                continue
            scope = into.scope(user)
            stored = await into.intake.take(scope, [_placed(line, scope, into) for line in lines])
            if stored:
                into.told(scope, stored, ())
        into.progress(len(batch))


def _placed(line: MemoryLine, scope: Scope, into: Into) -> MemoryLine:
    """The line in its scope; of one that is not believed, neither who said it nor its vector counts."""
    line = in_scope(line, scope)
    if into.trust_origins:
        return line
    return replace(line, item=replace(line.item, origin=Origin.IMPORTED, embedder=None), vector=None)


async def _threads(reader: ArchiveReader, threads: ThreadIntake, into: Into) -> None:
    seen: set[str] = set()
    parsed = groupby(_parsed(reader, THREADS, turn_from_line, into.tally), key=lambda line: line.thread)
    while (thread := await asyncio.to_thread(_next_thread, parsed)) is not None:
        lines = thread
        name, place = lines[0].thread, lines[0].place
        if name in seen:
            into.tally.refuse(place, f"the turns of thread {name!r} do not stand together")
        else:
            seen.add(name)
            await threads.take(place, name, [line.turn for line in lines])
        into.progress(len(lines))


def _next_thread(threads: "groupby[str, TurnLine]") -> list[TurnLine] | None:
    _, lines = next(threads, (None, None))
    return None if lines is None else list(lines)


def _parsed(
    reader: ArchiveReader, member: str, parse: Callable[[str, bytes], _T], tally: Tally
) -> Iterator[_T]:
    """What the lines of a member say; those that say nothing usable are refused."""
    for number, raw in reader.lines(member):
        place = f"{member} line {number}"
        try:
            yield parse(place, raw)
        except InvalidInput as error:
            tally.refuse(place, str(error))
