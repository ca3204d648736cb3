"""Whatever can be asked: Retentive through its public API, and what it is compared with."""

from collections.abc import Mapping, Sequence
from contextlib import AsyncExitStack
from typing import Protocol

from retentive.clock import new_id
from retentive.drafts import NewMemory
from retentive.embedders.base import Embedder
from retentive.evaluation.dataset import Corpus, Row
from retentive.memory import Memory
from retentive.ranking.profiles import Profiles
from retentive.stores.base import MemoryStore
from retentive.types import MemoryKind, Origin, Source


class Contender(Protocol):
    """Something that is given the memories of one corpus after the other, and asked."""

    @property
    def name(self) -> str:
        """What its row in the table is called."""
        ...

    async def remember(self, corpus: Corpus) -> None:
        """Take in the corpus, in place of the one before."""
        ...

    async def recall(self, question: str, limit: int) -> Sequence[str]:
        """The ids of at most `limit` rows of the corpus, best first."""
        ...

    async def forget(self) -> None:
        """Let go of the corpus; harmless when there is none."""
        ...


class Retentive:
    """A Memory of its own for each corpus, all in one store, which the caller opens and closes."""

    name = "retentive"

    def __init__(self, store: MemoryStore, embedder: Embedder) -> None:
        self.store, self.embedder = store, embedder
        self.restated = 0
        self.namespace = ""
        self.rows: dict[str, list[str]] = {}
        self._run = new_id()[-8:]
        self._corpora = 0
        self._open = AsyncExitStack()
        self._memory: Memory | None = None

    async def remember(self, corpus: Corpus) -> None:
        """Remember each row; of rows that the Memory merged, one item answers for all."""
        await self.forget()
        self._corpora += 1
        self.namespace = f"bench-{self._run}-{self._corpora}"
        memory = Memory(self.namespace, store=self.store, embedder=self.embedder)
        self._memory = await self._open.enter_async_context(memory)
        items = await memory.remember_many(drafts_of(corpus.rows))
        for item, row in zip(items, corpus.rows, strict=True):
            self.rows.setdefault(item.id, []).append(row.id)
        self.restated += len(corpus.rows) - len(self.rows)

    @property
    def memory(self) -> Memory:
        """The Memory of the corpus that it has remembered.

        Raises:
            RuntimeError: there is none.
        """
        return _opened(self._memory)

    async def recall(self, question: str, limit: int) -> Sequence[str]:
        """What `Memory.recall` finds."""
        return await ask(self._memory, question, limit, self.rows)

    async def forget(self) -> None:
        """Remove the corpus from the store."""
        if self._memory is not None:
            await self._memory.clear(user_id=None)
            self._memory = None
        self.rows = {}
        await self._open.aclose()


class Reweighted:
    """The memories that a Retentive has remembered, ranked by other profiles; nothing is stored again."""

    def __init__(self, name: str, base: Retentive, profiles: Profiles) -> None:
        self.name = name
        self._base, self._profiles = base, profiles
        self._memory: Memory | None = None

    async def remember(self, corpus: Corpus) -> None:  # noqa: ARG002 - the base has remembered it
        """Open what the base has remembered."""
        await self.forget()
        base = self._base
        self._memory = Memory(
            base.namespace, store=base.store, embedder=base.embedder, profiles=self._profiles
        )

    async def recall(self, question: str, limit: int) -> Sequence[str]:
        """What `Memory.recall` finds with the profiles."""
        return await ask(self._memory, question, limit, self._base.rows)

    async def forget(self) -> None:
        """Close the Memory; what it read is the base's."""
        if self._memory is not None:
            await self._memory.close()
            self._memory = None


async def ask(
    memory: Memory | None, question: str, limit: int, rows: Mapping[str, Sequence[str]]
) -> Sequence[str]:
    """The ids of the rows behind the hits of a recall, best first."""
    return [
        row for hit in await _opened(memory).recall(question, limit=limit) for row in rows.get(hit.id, ())
    ][:limit]


def _opened(memory: Memory | None) -> Memory:
    if memory is None:
        raise RuntimeError("remember a corpus first")
    return memory


def drafts_of(rows: Sequence[Row]) -> list[NewMemory]:
    """One memory a row: a turn becomes an episodic one with its thread, a plain fact a semantic one.

    A speaker called "assistant" makes the assistant its origin; every other, and none, the user.
    """
    threads: dict[str | None, str] = {}
    for row in rows:
        threads.setdefault(row.session, f"session-{len(threads) + 1}")
    return [_draft(row, threads[row.session]) for row in rows]


def _draft(row: Row, thread: str) -> NewMemory:
    is_turn = row.turn is not None
    source = None
    if is_turn:
        source = Source(thread=thread, turns=(row.turn,) if row.turn else (), speaker=row.speaker)
    elif row.speaker:
        source = Source(speaker=row.speaker)
    return NewMemory(
        content=row.text,
        kind=MemoryKind.EPISODIC if is_turn else MemoryKind.SEMANTIC,
        metadata={"turn": row.id},
        occurred_at=row.at,
        source=source,
        origin=Origin.ASSISTANT if row.speaker == Origin.ASSISTANT else Origin.USER,
    )


def plain_text(row: Row) -> str:
    """What a contender without speakers is given: the text, led by the speaker's name."""
    return f"{row.speaker}: {row.text}" if row.speaker else row.text
