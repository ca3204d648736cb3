"""What a run recalls, shows, keeps and looks up, and whose it is."""

import asyncio
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from conversing import Strict, all_text, calls_then, says, user_text
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelRequest, SystemPromptPart

from retentive import (
    Conflict,
    InvalidInput,
    Memory,
    MemoryKind,
    Origin,
    ReadOnly,
    Scope,
    StoreUnavailable,
    open_thread,
)
from retentive.agent import MemoryCapability
from retentive.embedders.base import EmbedKind, Vectors
from retentive.events import EventType
from retentive.extraction import Excerpt, Statement, VerbatimExtractor
from retentive.ranking.render import CLOSING, OPENING, parse
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.testing.embedders import HashingEmbedder


@pytest.fixture
def memory() -> Memory:
    return Memory(store="memory://")


def agent_with(memory: Memory | None, model: Strict, **options: Any) -> Agent[Any, Any]:
    options.setdefault("extractor", None)
    return Agent(
        model.model,
        system_prompt="Be kind.",
        instructions="Be brief.",
        capabilities=[MemoryCapability(memory, **options)],
    )


async def test_what_is_recalled_is_data_in_the_users_part_of_that_request_and_nowhere_else(
    memory: Memory,
) -> None:
    await memory.remember("The boiler man is called Sven.")
    model = Strict()
    agent = agent_with(memory, model)
    result = await agent.run("Who is the boiler man?")
    sent = model.last
    assert parse(user_text(sent)) == ["The boiler man is called Sven."]
    assert user_text(sent).endswith("Who is the boiler man?")
    system = [p.content for m in sent for p in m.parts if isinstance(p, SystemPromptPart)]
    assert system == ["Be kind."]
    assert [m.instructions for m in sent if isinstance(m, ModelRequest)] == ["Be brief."]
    assert "Sven" not in result.all_messages_json().decode()
    follow = await agent.run("And his wage?", message_history=result.all_messages())
    assert user_text(model.last).count(OPENING) <= 1
    assert "Sven" not in follow.all_messages_json().decode()


async def test_all_requests_of_a_run_begin_alike(memory: Memory) -> None:
    await memory.remember("The boiler man is called Sven.")
    model = Strict(calls_then("look", "Sven."))
    agent = agent_with(memory, model)

    async def look() -> str:
        await memory.remember("The boiler man is ill.")
        return "seen"

    agent.tool_plain(look)
    await agent.run("Who is the boiler man?")
    first, second = model.requests
    assert [m.parts for m in second[: len(first)]] == [m.parts for m in first]
    assert "ill" not in all_text(second)


async def test_hits_tokens_and_kinds_are_bounded(memory: Memory) -> None:
    for number in range(20):
        await memory.remember(f"Boiler fact {number}: " + "pipes and valves " * 5)
    await memory.remember("Boiler ritual.", kind=MemoryKind.PROCEDURAL)
    model = Strict()
    await agent_with(memory, model, recall_hits=3).run("boiler?")
    assert len(parse(user_text(model.last))) == 3
    result = await (agent := agent_with(memory, model, recall_tokens=150)).run("boiler?")
    shown = parse(user_text(model.last))
    assert 0 < len(shown) < 8
    capability = next(c for c in agent.root_capability.capabilities if isinstance(c, MemoryCapability))  # type: ignore[attr-defined]  # pyright: ignore
    report = capability.report(result.run_id)
    assert [hit.content for hit in report.recalled] == shown  # pyright: ignore
    await agent_with(memory, model, kinds=["procedural"]).run("boiler?")
    assert parse(user_text(model.last)) == ["Boiler ritual."]
    await agent_with(memory, model, recall_hits=0).run("boiler?")
    assert OPENING not in user_text(model.last)


async def test_a_text_kept_twice_is_shown_once(memory: Memory) -> None:
    await memory.remember("The boiler is old.")
    await memory.remember("The boiler is old.", kind=MemoryKind.PROCEDURAL)
    model = Strict()
    await agent_with(memory, model).run("boiler?")
    assert parse(user_text(model.last)) == ["The boiler is old."]


async def test_off_does_nothing_and_a_run_can_bring_its_own(memory: Memory) -> None:
    await memory.remember("The boiler man is called Sven.")
    model = Strict()
    await agent_with(memory, model, mode="off", autosave=True).run("boiler man?")
    assert OPENING not in user_text(model.last)
    assert await memory.count() == 1
    plain = Agent(model.model)
    await plain.run("boiler man?", capabilities=[MemoryCapability(memory, extractor=None)])
    assert "Sven" in user_text(model.last)
    await plain.run("boiler man?")
    assert "Sven" not in user_text(model.last)


async def test_the_user_is_the_options_or_the_metadatas_and_nobody_sees_anothers(memory: Memory) -> None:
    await memory.remember("The boiler man is called Sven.", user_id="ada")
    model = Strict()
    agent = agent_with(memory, model, autosave=True)
    await agent.run("boiler man?", metadata={"user_id": "bob"})
    assert "Sven" not in user_text(model.last)
    await agent.run("boiler man?")
    assert "Sven" not in user_text(model.last)
    await agent.run("boiler man?", metadata={"user_id": "ada"})
    assert "Sven" in user_text(model.last)
    assert await memory.scopes() == [Scope("default"), Scope("default", "ada"), Scope("default", "bob")]
    with pytest.raises(InvalidInput):
        await agent.run("boiler man?", metadata={"user_id": " "})


async def test_the_model_looks_things_up_and_nothing_is_written_by_itself(memory: Memory) -> None:
    await memory.remember("The boiler man is called Sven.")
    model = Strict(calls_then("search_memory", "Sven.", query="boiler man", limit=3))
    agent = agent_with(memory, model, mode="llm")
    await agent.run("Who mends it?")
    assert OPENING not in user_text(model.requests[0])
    assert parse(all_text(model.last)) == ["The boiler man is called Sven."]
    assert await memory.count() == 1


async def test_the_models_own_notes_are_of_the_assistant_and_restate_nothing(memory: Memory) -> None:
    known = await memory.remember("Ada likes tea.", kind=MemoryKind.EPISODIC)
    model = Strict(calls_then("remember", "Kept.", content="Ada plays chess."))
    agent = agent_with(memory, model, tools=["remember"])
    await agent.run("Tea and chess are what Ada likes.")
    kept = [item for item in await memory.list() if item.id != known.id]
    assert [(item.content, item.origin, item.kind) for item in kept] == [
        ("Ada plays chess.", Origin.ASSISTANT, MemoryKind.SEMANTIC)
    ]
    model.answer = calls_then("remember", "Kept.", content="ada likes tea")
    model.answer = calls_then("remember", "Kept.", content="Ada likes tea")
    await agent.run("Tea is what Ada likes.")
    assert await memory.count() == 2


async def test_the_model_removes_what_it_is_allowed_to_in_its_users_scope_alone(memory: Memory) -> None:
    mine = await memory.remember("Ada likes tea.", user_id="ada")
    other = await memory.remember("Bob likes tea.", user_id="bob")
    model = Strict(calls_then("forget", "Gone.", memory_id=other.id))
    agent = agent_with(memory, model, tools=["forget"], user_id="ada")
    await agent.run("Forget it.")
    assert await memory.count(user_id="bob") == 1
    model.answer = calls_then("forget", "Gone.", memory_id=mine.id)
    await agent.run("Forget it.")
    assert await memory.count(user_id="ada") == 0
    model.answer = says("hm")
    await agent_with(memory, model).run("Which tools?")


async def test_what_was_recalled_is_not_kept_again_though_the_model_repeats_it(memory: Memory) -> None:
    known = await memory.remember("The boiler man is called Sven and lives in Malmö.")

    def echo(messages: list[ModelMessage], _: Any) -> Any:
        block = user_text(messages)
        block = block[block.index(OPENING) : block.index(CLOSING) + len(CLOSING)]
        text = f"As I recall: the boiler man is called Sven and lives in Malmö. {block} Anything else?"
        return says(text)(messages, _)

    model = Strict(echo)
    capability = MemoryCapability(memory, autosave=True, extractor=VerbatimExtractor())
    result = await Agent(model.model, capabilities=[capability]).run(
        "I moved to Oslo. Who is the boiler man?"
    )
    assert "Sven" in result.output
    for item in await memory.list():
        assert item.id == known.id or "Sven" not in item.content
    episode = next(i for i in await memory.list() if i.kind is MemoryKind.EPISODIC and i.success)
    assert f"[memory {known.id}]" in episode.content
    assert episode.metadata["recalled"] == [known.id]
    assert episode.origin is Origin.ASSISTANT


async def test_what_the_user_said_is_extracted_once_and_reported(memory: Memory) -> None:
    capability = MemoryCapability(memory, extractor=VerbatimExtractor(), user_id="ada")
    agent = Agent(Strict().model, capabilities=[capability])
    result = await agent.run("I only speak Japanese.")
    report = capability.report(result.run_id)
    assert report is not None
    assert [item.content for item in report.remembered] == ["I only speak Japanese."]
    assert report.remembered[0].origin is Origin.USER
    await agent.run("I only speak Japanese.")
    assert await memory.count(user_id="ada") == 1


async def test_what_a_failed_run_left_is_extracted_after_the_next(memory: Memory, tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    model = Strict()
    for options in ({"thread": thread}, {}):
        agent = agent_with(memory, model, extractor=VerbatimExtractor(), user_id="ada", **options)

        def broken(*_: Any) -> Any:
            raise ConnectionError("down")

        fact = "I play the cello on Mondays." if options else "My dog is named Rex."
        model.answer = broken
        with pytest.raises(ConnectionError):
            await agent.run(fact)
        assert fact not in [item.content for item in await memory.list(user_id="ada")]
        model.answer = says("Noted.")
        await agent.run("I live in Bergen by the sea." if options else "I have two sisters in Rome.")
        assert fact in [item.content for item in await memory.list(user_id="ada")]


async def test_extraction_in_the_background_is_done_after_flush(memory: Memory) -> None:
    capability = MemoryCapability(memory, extractor=VerbatimExtractor(), background=True)
    await Agent(Strict().model, capabilities=[capability]).run("I only speak Japanese.")
    await capability.flush()
    assert [item.content for item in await memory.list()] == ["I only speak Japanese."]
    await capability.drain()


async def test_a_hanging_embedder_leaves_it_to_the_words_in_time() -> None:
    class Hanging(HashingEmbedder):
        hangs = False

        async def embed(self, texts: Any, kind: EmbedKind) -> Vectors:
            if self.hangs:
                await asyncio.Event().wait()
            return np.asarray(await super().embed(texts, kind))

    embedder = Hanging()
    memory = Memory(store="memory://", embedder=embedder)
    await memory.remember("The boiler man is called Sven.")
    embedder.hangs = True
    model = Strict()
    capability = MemoryCapability(memory, extractor=None, recall_ms=200)
    result = await Agent(model.model, capabilities=[capability]).run("Who is the boiler man?")
    assert parse(user_text(model.last)) == ["The boiler man is called Sven."]
    report = capability.report(result.run_id)
    assert report is not None
    assert "0.14 s" in report.recalled.degraded["vector"]


async def test_a_thread_is_sent_ahead_and_its_own_exchanges_are_not_recalled_besides(
    memory: Memory, tmp_path: Path
) -> None:
    thread = await open_thread("t", home=tmp_path)
    await thread.append("I am Petra and I like chess.")
    await thread.append("Nice.", role="assistant")
    model = Strict()
    agent = agent_with(memory, model, thread=thread, autosave=True)
    await agent.run("Chess is a game, is it?")
    await agent.run("What game do I like, chess?")
    assert [str(p.content) for m in model.last for p in m.parts if p.part_kind == "user-prompt"] == [
        "I am Petra and I like chess.",
        "Chess is a game, is it?",
        "What game do I like, chess?",
    ]
    limited = agent_with(memory, model, thread=thread, history_turns=1)
    await limited.run("And now?")
    assert "Petra" not in all_text(model.last)


async def test_a_message_history_takes_the_place_of_the_threads(memory: Memory, tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    model = Strict()
    agent = agent_with(memory, model, thread=thread)
    first = await agent.run("I am Petra.")
    await agent.run("Who am I?", message_history=first.all_messages())
    assert user_text(model.last).count("Petra") == 1
    assert [turn.content for turn in thread.messages()] == ["I am Petra.", "Noted.", "Who am I?", "Noted."]


async def test_a_conversation_id_names_the_thread_where_threads_are_given(memory: Memory) -> None:
    store = InMemoryThreadStore()
    model = Strict()
    agent = agent_with(memory, model, threads=store)
    await agent.run("I am Petra.", conversation_id="c1")
    await agent.run("Who am I?", conversation_id="c1")
    assert "I am Petra." in user_text(model.last)
    assert await store.threads("default") == ["c1"]


async def test_two_runs_on_one_thread_come_one_after_the_other_or_conflict(tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    model = Strict()
    agent = agent_with(None, model, thread=thread)
    await asyncio.gather(*(agent.run(f"{n}") for n in range(5)))
    said = [(turn.role, turn.metadata["run"]) for turn in thread.messages()]
    assert [role for role, _ in said] == ["user", "assistant"] * 5
    assert all(said[n][1] == said[n + 1][1] for n in range(0, 10, 2))
    model.hangs = True
    model.reached.clear()
    hanging = asyncio.create_task(agent.run("slow"))
    await model.reached.wait()
    assert len(thread) == 11
    impatient = agent_with(None, Strict(), thread=thread, thread_wait_s=0.05)
    with pytest.raises(Conflict, match="another run holds"):
        await impatient.run("now!")
    hanging.cancel()
    with pytest.raises(asyncio.CancelledError):
        await hanging
    assert [turn.content for turn in thread.messages()][10:] == ["slow"]


async def test_a_read_only_thread_is_refused_and_nothing_is_sent(tmp_path: Path) -> None:
    await (await open_thread("t", home=tmp_path)).append("x")
    thread = await open_thread("t", home=tmp_path, read_only=True)
    model = Strict()
    with pytest.raises(ReadOnly):
        await agent_with(None, model, thread=thread).run("hello")
    assert model.requests == []


@pytest.mark.parametrize(
    "options",
    [
        {"mode": "always"},
        {"tools": ["search"]},
        {"tools": "forget"},
        {"recall_hits": -1},
        {"recall_ms": -1},
        {"thread_wait_s": float("nan")},
        {"kinds": ["nonsense"]},
    ],
)
def test_options_that_cannot_be_used_are_refused_at_once(memory: Memory, options: Any) -> None:
    with pytest.raises(InvalidInput):
        MemoryCapability(memory, **options)
    for needs_memory in ({"mode": "llm"}, {"autosave": True}, {"tools": ["remember"]}):
        with pytest.raises(InvalidInput):
            MemoryCapability(None, **needs_memory)  # type: ignore[arg-type]  # pyright: ignore


async def test_a_thread_is_free_while_its_memories_are_extracted(memory: Memory, tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    begun, go_on = asyncio.Event(), asyncio.Event()

    class Slow(VerbatimExtractor):
        async def extract(self, excerpt: Excerpt) -> Sequence[Statement]:
            begun.set()
            await go_on.wait()
            return await super().extract(excerpt)

    slow = agent_with(memory, Strict(), thread=thread, extractor=Slow())
    first = asyncio.create_task(slow.run("I like green tea."))
    await begun.wait()
    await agent_with(memory, Strict(), thread=thread, thread_wait_s=0).run("And now?")
    go_on.set()
    await first
    assert "I like green tea." in [item.content for item in await memory.list()]


async def test_a_failing_write_without_a_memory_is_in_the_runs_events(tmp_path: Path) -> None:
    class Full(InMemoryThreadStore):
        async def append(self, namespace: str, thread: str, turns: Any, since: int) -> Any:
            if turns[0].role == "assistant":
                raise StoreUnavailable("no space left")
            return await super().append(namespace, thread, turns, since)

    capability = MemoryCapability(thread=await open_thread("t", store=Full()), user_id="ada")
    result = await Agent(Strict().model, capabilities=[capability]).run("Hello.")
    report = capability.report(result.run_id)
    assert report is not None
    *_, event = report.events
    assert (event.type, event.verb, event.run) == (EventType.MEMORY_FAILED, "append", result.run_id)
    assert event.scope == Scope("default", "ada")
    assert "no space left" in str(event.error)
