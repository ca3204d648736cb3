"""Whether anything that was forgotten is still there: in rows, index, links, notes, threads, and files."""

import asyncio
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from pathlib import Path

from retentive.errors import StoreError
from retentive.indexes import ScopeIndexes
from retentive.life.erase import AT_ONCE
from retentive.life.traces import Search
from retentive.stores.base import KeepsCopies, KeepsFiles, MemoryStore, StoredMemory, ThreadStore
from retentive.stores.pieces import pieces_of
from retentive.stores.wrapped import able, bare_memories, bare_threads, encrypts, ids_of
from retentive.types import Checked, Receipt, Scope, Traces, Verdict
from retentive.uses import UseNotes

_NO_TRACES = Traces(0, b"", b"", frozenset())


@dataclass(slots=True)
class _Findings:
    checked: list[Checked] = field(default_factory=list[Checked])
    found: list[str] = field(default_factory=list[str])
    skipped: list[str] = field(default_factory=list[str])
    in_files: dict[str, set[int]] = field(default_factory=dict[str, set[int]])

    def look(self, place: str, size: int, unit: str, found: int = 0) -> None:
        """One place was searched."""
        self.checked.append(Checked(place=place, size=size, unit=unit))
        if found:
            self.found.append(f"{place}: {found}")


class Verification:
    """Looks for what receipts say was removed. Changes nothing."""

    def __init__(self, store: MemoryStore, indexes: ScopeIndexes) -> None:
        self._store = store
        self._indexes = indexes

    async def verify(self, receipt: Receipt, threads: ThreadStore | None) -> Verdict:
        """The verdict. `threads` keeps the threads that the receipt names; None: they are not searched."""
        found = _Findings()
        if not receipt:
            found.skipped.append("nothing: the receipt names nothing that was removed")
        traces = receipt.traces or _NO_TRACES
        search, words = Search(traces, with_notes=True), Search(traces, with_notes=False)
        scopes = await self._scopes(receipt.scope.namespace) if receipt.everyone else [receipt.scope]
        for scope in scopes:
            await self._check_scope(scope, frozenset(receipt.ids), words, found)
        if not (receipt.threads or receipt.turns):
            threads = None
        elif threads is None:
            found.skipped.append("threads: pass the store of threads from which turns were removed")
        else:
            await _check_threads(receipt, threads, traces.turns, found)
        await self._check_copies(receipt, found)
        await self._check_files(receipt, threads, search, found)
        shared = await self._said_elsewhere(threads, search, found)
        return Verdict(
            checked=tuple(found.checked),
            found=tuple(found.found),
            skipped=tuple(found.skipped),
            shared=shared,
            encrypted=encrypts(self._store) or (threads is not None and encrypts(threads)),
        )

    async def _scopes(self, namespace: str) -> list[Scope]:
        return await self._store.scopes(namespace) or [Scope(namespace)]

    async def _check_scope(self, scope: Scope, ids: frozenset[str], search: Search, found: _Findings) -> None:
        whose = f" of user {scope.user_id!r}" if scope.user_id is not None else ""
        wanted = sorted(ids)
        rows = 0
        for start in range(0, len(wanted), AT_ONCE):
            rows += sum(map(bool, await self._store.get(scope, wanted[start : start + AT_ONCE])))
        found.look(f"rows{whose}", len(ids), "ids", rows)
        view = await self._indexes.view(scope)
        indexed = [view.ids[row] for row in view.alive.nonzero()[0].tolist()]
        found.look(f"index{whose}", len(indexed), "entries", len(ids.intersection(indexed)))
        links = 0
        async for memory in _memories(self._store, scope):
            item = memory.item
            named = (item.near, item.supersedes, item.superseded_by, *item.merged_from)
            links += not ids.isdisjoint([id for id in named if id is not None])
        found.look(f"links{whose}", len(indexed), "memories", links)
        notes = await self._store.notes(scope)
        with_text = [name for name, note in notes.items() if search.in_notes([note])]
        found.look(f"notes{whose}", len(notes), "notes")
        found.found += [f"note {name!r}{whose}" for name in with_text]
        uses = await UseNotes(self._store).read(scope)
        found.look(f"uses{whose}", len(uses), "memories", len(ids & uses.keys()))

    async def _check_copies(self, receipt: Receipt, found: _Findings) -> None:
        """By id: a copy may hold a wording that was replaced before the forget and left no trace."""
        bare = bare_memories(self._store)
        if not isinstance(bare, KeepsCopies):
            return
        try:
            copies = await bare.copies_with(receipt.scope, receipt.ids, everyone=receipt.everyone)
        except StoreError as error:
            found.skipped.append(f"copies: {error}")
            return
        for path, held in copies.items():
            found.look(f"copy {path}", len(receipt.ids), "ids", held)

    async def _check_files(
        self, receipt: Receipt, threads: ThreadStore | None, search: Search, found: _Findings
    ) -> None:
        if receipt.traces is None and receipt:
            found.skipped.append(
                "files: this receipt was copied or made in another process and has no traces to look for; "
                "verify where the forget was called"
            )
            return
        for store in (self._store, threads):
            if store is not None and (keeps := able(store, KeepsFiles)) is not None:
                for path in await keeps.files(receipt.scope.namespace):
                    await _check_file(store, path, search, found)
            elif store is not None and not store.url.startswith("memory:"):
                found.skipped.append(f"{store.url}: the store does not say which files or pages it keeps")

    async def _said_elsewhere(self, threads: ThreadStore | None, search: Search, found: _Findings) -> int:
        """How many of the prints met in files others account for; what none does goes to the findings."""
        met = set[int]().union(*found.in_files.values())
        if not met:
            return 0
        living, bare = set[int](), bare_memories(self._store)
        for namespace in await bare.namespaces():
            for scope in await bare.scopes(namespace):
                living |= await _in_scope(bare, scope, search)
        if threads is not None:
            living |= await _in_threads(bare_threads(threads), search)
        for name, prints in found.in_files.items():
            if left := prints - living:
                found.found.append(f"file {name}: {len(left)} traces")
        return len(met & living)


async def _in_scope(store: MemoryStore, scope: Scope, search: Search) -> set[int]:
    living = search.in_notes((await store.notes(scope)).values())
    some: list[StoredMemory] = []
    async for memory in _memories(store, scope):
        some.append(memory)
        if len(some) == AT_ONCE:
            living |= await asyncio.to_thread(search.in_memories, some)
            some = []
    return living | search.in_memories(some)


async def _memories(store: MemoryStore, scope: Scope) -> AsyncIterator[StoredMemory]:
    ids = await ids_of(store, scope)
    for start in range(0, len(ids), AT_ONCE):
        for memory in await store.get(scope, ids[start : start + AT_ONCE]):
            if memory is not None:
                yield memory


async def _check_file(store: MemoryStore | ThreadStore, path: Path, search: Search, found: _Findings) -> None:
    try:
        size, prints = await asyncio.to_thread(search.in_pieces, pieces_of(store, path))
    except FileNotFoundError:
        return
    except OSError as error:
        found.skipped.append(f"file {path}: it cannot be read: {error.strerror or error}")
        return
    found.look(f"file {path}", size, "bytes")
    if prints:
        found.in_files[str(path)] = prints


async def _check_threads(
    receipt: Receipt, threads: ThreadStore, removed: frozenset[str], found: _Findings
) -> None:
    """A thread of that name may have begun anew: it is the old turns that must not be there."""
    for name in receipt.threads:
        turns = (await threads.turns(*_place(name))).turns
        found.look(f"thread {name}", len(turns), "turns", sum(turn.id in removed for turn in turns))
    for name, seqs in receipt.turns.items():
        there = (await threads.turns(*_place(name))).turns
        turns = [turn for turn in there if turn.seq in seqs and (not removed or turn.id in removed)]
        found.look(f"thread {name}", len(turns), "turns", sum(not turn.is_redacted for turn in turns))


async def _in_threads(store: ThreadStore, search: Search) -> set[int]:
    living = set[int]()
    for namespace in await store.namespaces():
        for thread in await store.threads(namespace):
            living |= search.in_turns((await store.turns(namespace, thread)).turns)
    return living


def _place(name: str) -> tuple[str, str]:
    namespace, _, thread = name.partition("/")
    return namespace, thread
