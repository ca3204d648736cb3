"""What a run keeps goes through the memory's redactor, wherever it keeps it."""

import re
from pathlib import Path

import pytest
from conversing import Strict, says
from pydantic_ai import Agent

from retentive import Memory
from retentive.agent import MemoryCapability
from retentive.conversation import Conversation
from retentive.extraction import Extraction, VerbatimExtractor
from retentive.redaction import Redacted
from retentive.short_term import ShortTermMemory
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.threads import Thread

PIN = "98765432"


class NoPins:
    def __init__(self) -> None:
        self.fails = False

    def redact(self, text: str) -> Redacted:
        if self.fails:
            raise RuntimeError(text)
        left, count = re.subn(PIN, "[pin]", text)
        return Redacted(left, {"pin": count} if count else {})


@pytest.fixture
def redactor() -> NoPins:
    return NoPins()


def files(folder: Path) -> bytes:
    return b"".join(file.read_bytes() for file in folder.rglob("*") if file.is_file())


async def test_turns_exchanges_and_extracted_facts_are_redacted(tmp_path: Path, redactor: NoPins) -> None:
    store = f"sqlite:///{(tmp_path / 'm.db').as_posix()}"
    async with Memory(store=store, redactor=redactor) as memory:
        capability = MemoryCapability(
            memory,
            thread="t",
            threads=JsonlThreadStore(tmp_path / "threads"),
            user_id="ann",
            autosave=True,
            extractor=VerbatimExtractor(),
        )
        model = Strict(says(f"Your PIN {PIN} is noted."))
        agent = Agent(model.model, capabilities=[capability])
        await agent.run(f"My PIN for the gate is {PIN}.")
        await agent.run("Which PIN did I tell you?")
        items = (await memory.list(user_id="ann", limit=100)).items
    assert len(items) >= 3
    assert any("[pin]" in item.content for item in items)
    assert PIN.encode() not in files(tmp_path)
    assert b"[pin]" in files(tmp_path / "threads")


async def test_an_exchange_that_waits_without_a_thread_is_redacted(tmp_path: Path, redactor: NoPins) -> None:
    store = f"sqlite:///{(tmp_path / 'm.db').as_posix()}"
    async with Memory(store=store, redactor=redactor) as memory:
        extraction = Extraction(memory, VerbatimExtractor(), threads=InMemoryThreadStore())
        backlog = await extraction.begin_exchange("run-1", f"My PIN is {PIN}.", user_id="ann")
        await extraction.end_exchange(backlog, f"{PIN} it is.")
        assert PIN.encode() not in files(tmp_path)
        assert b"[pin]" in b"".join((await memory.notes(user_id="ann")).values())
        await extraction.extract(backlog)
        assert [item.content for item in await memory.list(user_id="ann")] == ["My PIN is [pin]."]


async def test_a_summary_that_is_kept_is_redacted(redactor: NoPins) -> None:
    async def summarize(summary: str | None, turns: Conversation) -> str:
        return f"They spoke of {PIN}."

    thread = Thread(InMemoryThreadStore(), "n", "t")
    await thread.append_many([f"{number} of many words that fill the window {PIN}" for number in range(20)])
    async with Memory(store="memory://", redactor=redactor) as memory:
        window = await ShortTermMemory(thread, max_tokens=100, summarize=summarize, memory=memory).window()
        assert window.summary is not None
        assert window.summary.text == "They spoke of [pin]."
        assert PIN.encode() not in b"".join((await memory.notes()).values())


async def test_an_answer_that_cannot_be_redacted_is_kept_back_and_written_later(
    tmp_path: Path, redactor: NoPins
) -> None:
    threads = JsonlThreadStore(tmp_path)
    memory = Memory(store="memory://", redactor=redactor)
    model = Strict(says("ok"))
    agent = Agent(
        model.model, capabilities=[MemoryCapability(memory, thread="t", threads=threads, extractor=None)]
    )

    def breaks(*_: object) -> object:
        redactor.fails = True
        return says("noted")(*_)  # pyright: ignore[reportArgumentType]

    model.answer = breaks  # pyright: ignore[reportAttributeAccessIssue]
    await agent.run("first")
    redactor.fails = False
    model.answer = says("again")
    await agent.run("second")
    read = await threads.turns("default", "t")
    assert [turn.content for turn in read.turns] == ["first", "noted", "second", "again"]


async def test_what_cannot_be_redacted_waits_to_be_extracted(redactor: NoPins) -> None:
    threads = InMemoryThreadStore()
    async with Memory(store="memory://", redactor=redactor) as memory:
        extraction = Extraction(memory, VerbatimExtractor(), threads=threads)
        backlog = await extraction.begin_thread("default", "t", user_id="ann")
        await Thread(threads, "default", "t").append("The boiler man is called Sven.")
        redactor.fails = True
        failed = await extraction.extract(backlog)
        assert failed.failure is not None
        assert "nothing was written" in failed.failure
        redactor.fails = False
        assert await extraction.extract(backlog)
        assert [item.content for item in await memory.list(user_id="ann")] == [
            "The boiler man is called Sven."
        ]
