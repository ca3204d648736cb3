"""Whatever happens in whatever order, each turn is drawn from once, and none is forgotten about."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from retentive import Memory, StoreUnavailable
from retentive.errors import ExtractionError, ModelUnavailable
from retentive.extraction import Excerpt, Extraction, ExtractionLimits, Statement
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.threads import Thread

STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("say"), st.integers(1, 5)),
        st.tuples(st.just("exchange"), st.booleans()),
        st.tuples(st.just("extract"), st.sampled_from(["fine", "bad", "down", "cancelled", "store down"])),
        st.tuples(st.just("two at once"), st.just(0)),
        st.tuples(st.just("retry"), st.booleans()),
        st.tuples(st.just("forget"), st.integers(0, 20)),
    ),
    max_size=25,
)


class Store(InMemoryStore):
    is_down = False

    async def write(self, changes: Any) -> Any:
        if self.is_down:
            raise StoreUnavailable("disk full")
        return await super().write(changes)


class Extractor:
    """Says of each turn what it says, unless told to go wrong."""

    needs_model = False
    mood = "fine"

    async def extract(self, excerpt: Excerpt) -> Sequence[Statement]:
        await asyncio.sleep(0)
        if self.mood == "bad":
            raise ExtractionError("no answer")
        if self.mood == "down":
            raise ModelUnavailable("not there")
        if self.mood == "cancelled":
            raise asyncio.CancelledError
        return [Statement(content=turn.content, turns=(turn.seq,)) for turn in excerpt.turns]


class World:
    def __init__(self, window_turns: int) -> None:
        self.store, self.threads, self.extractor = Store(), InMemoryThreadStore(), Extractor()
        self.memory = Memory(store=self.store)
        limits = ExtractionLimits(window_turns=window_turns, attempts=2)
        self.extraction = Extraction(self.memory, self.extractor, threads=self.threads, limits=limits)
        self.said: list[str] = []
        self.drawn = Counter[str]()
        self.forgotten: list[str] = []

    def text(self) -> str:
        number = len(self.said)
        self.said.append(f"Locker {number} opens with {number * 7919 + 13}.")
        return self.said[-1]

    async def do(self, step: str, how: Any) -> None:
        if step == "say":
            thread = await Thread(self.threads, "default", f"t{how % 2}").refresh()
            await self.extraction.begin_thread("default", thread.id, len(thread), user_id="ada")
            await thread.append_many(self.text() for _ in range(how))
        elif step == "exchange":
            waiting = await self.extraction.begin_exchange(f"r{len(self.said)}", self.text(), user_id="ada")
            await self.extraction.end_exchange(waiting, self.text() if how else "")
        elif step == "extract":
            await self.extract(how)
        elif step == "two at once":
            await asyncio.gather(self.extract("fine"), self.extract("fine"))
        elif step == "retry":
            self.extractor.mood = "fine" if how else "bad"
            for letter in await self.extraction.dead_letters():
                self.take(await self.extraction.retry(letter))
        else:
            await self.forget(how)

    async def extract(self, mood: str) -> None:
        self.extractor.mood, self.store.is_down = mood, mood == "store down"
        for backlog in await self.extraction.backlogs():
            try:
                self.take(await self.extraction.extract(backlog))
            except asyncio.CancelledError:
                assert mood == "cancelled"
        self.store.is_down = False

    def take(self, done: Any) -> None:
        self.drawn.update(item.content for item in done.items)

    async def forget(self, place: int) -> None:
        items = (await self.memory.list(user_id="ada", limit=1_000)).items
        if items:
            item = items[place % len(items)]
            await self.memory.forget(item.id, user_id="ada")
            self.forgotten.append(item.content)

    async def finish(self) -> None:
        for _ in range(2):
            await self.do("retry", True)
            await self.extract("fine")
        assert await self.extraction.backlogs() == []
        assert await self.extraction.dead_letters() == []


@settings(max_examples=120, deadline=None)
@given(STEPS, st.integers(1, 4))
def test_every_turn_becomes_a_memory_once_and_what_is_forgotten_stays_so(
    steps: Sequence[tuple[str, Any]], window_turns: int
) -> None:
    async def live() -> None:
        world = World(window_turns)
        async with world.memory:
            for step, how in steps:
                await world.do(step, how)
            await world.finish()
            kept = [item.content for item in (await world.memory.list(user_id="ada", limit=1_000)).items]
        assert Counter(kept) == Counter(world.said) - Counter(world.forgotten)
        assert world.drawn == Counter(world.said)

    asyncio.run(live())
