import asyncio
from collections.abc import AsyncGenerator
from pathlib import Path

import pytest
from digits_redactor import Digits, kept_in

from retentive import Memory, MemoryKind, NewMemory, Source
from retentive.errors import RedactionError
from retentive.life.batch import Batch
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.threads import Thread

NOTE = "redacted"


@pytest.fixture
async def memory(digits: Digits) -> AsyncGenerator[Memory, None]:
    async with Memory(store="memory://", redactor=digits) as memory:
        yield memory


async def test_all_texts_of_a_memory_are_redacted_and_counted(memory: Memory) -> None:
    item = await memory.remember(
        "Call 5550132 or 5550133.",
        tags=["desk 7", "plain"],
        metadata={"note": "room 12", "deep": {"list": ["at 9", 9, None]}},
        source=Source(document="file 3", place="page 4", thread="t-5", turns=(1,), speaker="Agent 8"),
    )
    assert item.content == "Call [number] or [number]."
    assert item.tags == ("desk [number]", "plain")
    assert item.metadata == {
        "note": "room [number]",
        "deep": {"list": ["at [number]", 9, None]},
        NOTE: {"number": 8},
    }
    assert item.source == Source(
        document="file [number]", place="page [number]", thread="t-5", turns=(1,), speaker="Agent [number]"
    )
    assert await memory.get(item.id) == item


async def test_what_holds_nothing_to_take_out_is_kept_as_it_is(memory: Memory) -> None:
    item = await memory.remember("The user likes tea.", metadata={"run": "4711", "user_id": "7"})
    assert (item.content, item.metadata) == ("The user likes tea.", {"run": "4711", "user_id": "7"})


async def test_the_embedder_never_sees_what_is_taken_out(digits: Digits) -> None:
    seen: list[str] = []

    async with Memory(store="memory://", redactor=digits) as memory:
        embed = memory._engine.embedder.embed  # pyright: ignore[reportPrivateUsage]

        async def watched(texts: list[str], kind: str) -> object:
            seen.extend(texts)
            return await embed(texts, kind)  # pyright: ignore[reportArgumentType]

        memory._engine.embedder.embed = watched  # pyright: ignore[reportPrivateUsage, reportAttributeAccessIssue]
        first = await memory.remember("PIN 1234")
        await memory.remember_many(["PIN 5678 of the door", NewMemory(content="Code 99 of the safe")])
        await memory.update(first.id, content="PIN 4321 of the gate")
        await memory.supersede(first.id, "PIN 8888 of the gate now")
        await memory.apply(Batch(new=[NewMemory(content="Box 77 is full")]))
    assert seen
    assert not any(char.isdigit() for text in seen for char in text)


async def test_restatement_and_keys_are_settled_on_the_redacted_text(memory: Memory) -> None:
    first = await memory.remember("The PIN is 1234 for the gate", key="once")
    assert (await memory.remember("The PIN is 9999 for the gate")).id == first.id
    assert (await memory.remember("The PIN is 1234 for the gate", key="once")).id == first.id
    assert await memory.count() == 1


async def test_an_update_adds_to_what_was_taken_out(memory: Memory) -> None:
    item = await memory.remember("PIN 1234")
    assert (await memory.update(item.id, importance=0.9)).metadata == {NOTE: {"number": 1}}
    changed = await memory.update(item.id, content="PIN 1 2 3", metadata={"by": "desk 7"})
    assert changed.content == "PIN [number] [number] [number]"
    assert changed.metadata == {"by": "desk [number]", NOTE: {"number": 5}}
    assert (await memory.update(item.id, tags=["t 1"])).tags == ("t [number]",)


async def test_a_superseding_memory_is_redacted(memory: Memory) -> None:
    old = await memory.remember("The gate has the PIN 1234")
    new = await memory.supersede(old.id, "The gate was opened to all on day 3")
    assert (new.content, new.metadata) == (
        "The gate was opened to all on day [number]",
        {NOTE: {"number": 1}},
    )


async def test_episodes_and_procedures_are_redacted(memory: Memory) -> None:
    episode = await memory.record_episode("open box 77", "key 5 fits", True)
    steps = await memory.remember_procedure("open", ["type 1234 there", "push"])
    for item in (episode, steps):
        assert not any(number in f"{item.content} {item.metadata}" for number in ("77", "5 fits", "1234"))
        assert NOTE in item.metadata


async def test_working_memory_is_redacted(memory: Memory) -> None:
    item = await memory.remember("now at step 5 of it", kind=MemoryKind.WORKING)
    assert item.content == "now at step [number] of it"


async def test_a_redactor_that_fails_refuses_the_write(broken: Digits) -> None:
    async with Memory(store="memory://", redactor=broken) as memory:
        for write in (
            memory.remember("a"),
            memory.remember_many(["a", "b"]),
            memory.apply(Batch(new=[NewMemory(content="a")])),
        ):
            with pytest.raises(RedactionError):
                await write
        assert await memory.count() == 0


async def test_a_failed_update_changes_nothing(digits: Digits) -> None:
    async with Memory(store="memory://", redactor=digits) as memory:
        item = await memory.remember("as it was")
        digits.fails = True
        with pytest.raises(RedactionError):
            await memory.update(item.id, content="as it is")
        with pytest.raises(RedactionError):
            await memory.supersede(item.id, "as it is")
        assert await memory.get(item.id) == item


async def test_a_text_of_which_nothing_is_left_is_refused(memory: Memory) -> None:
    from retentive.redaction import Redacted

    class Everything:
        def redact(self, text: str) -> Redacted:
            return Redacted("", {"all": 1})

    async with Memory(store="memory://", redactor=Everything()) as strict:
        with pytest.raises(RedactionError, match="cannot be kept"):
            await strict.remember("a")


async def test_long_texts_and_many_are_redacted_off_the_event_loop(memory: Memory) -> None:
    ticks = 0

    async def tick() -> None:
        nonlocal ticks
        while True:
            ticks += 1
            await asyncio.sleep(0)

    ticking = asyncio.create_task(tick())
    item = await memory.remember("word " * 40_000 + "7")
    ticking.cancel()
    assert item.content.endswith("word [number]")
    assert ticks


async def test_imports_are_redacted(digits: Digits, tmp_path: Path) -> None:
    archive = tmp_path / "all.zip"
    threads, into = InMemoryThreadStore(), InMemoryThreadStore()
    thread = Thread(threads, "default", "t")
    await thread.append("My PIN is 1234", metadata={"at": "desk 7"})
    async with Memory(store="memory://") as plain:
        await plain.remember("The PIN is 1234", metadata={"at": "desk 7"})
        await plain.export(archive, threads=threads, vectors=True)
    async with Memory(store="memory://", redactor=digits) as memory:
        await memory.import_(archive, threads=into)
        (item,) = (await memory.list()).items
        assert (item.content, item.metadata) == (
            "The PIN is [number]",
            {"at": "desk [number]", NOTE: {"number": 2}},
        )
        again = await memory.import_(archive, threads=into)
        assert (again.imported, again.present) == (0, 1)
        hits = await memory.recall("PIN")
        assert [hit.id for hit in hits] == [item.id]
    (turn,) = (await into.turns("default", "t")).turns
    assert (turn.content, dict(turn.metadata)) == (
        "My PIN is [number]",
        {"at": "desk [number]", NOTE: {"number": 2}},
    )


async def test_nothing_that_was_taken_out_is_in_the_files(digits: Digits, tmp_path: Path) -> None:
    async with Memory(store=f"sqlite:///{(tmp_path / 'm.db').as_posix()}", redactor=digits) as memory:
        item = await memory.remember("The PIN is 98765432", tags=["98765432"], metadata={"pin": "98765432"})
        await memory.update(item.id, content="The PIN was 98765432")
    assert b"98765432" not in kept_in(tmp_path)
