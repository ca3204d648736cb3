"""Extraction by a real model that is mostly wrong: what it says is used or left, and never costs a turn."""

from collections.abc import AsyncIterator
from typing import Any

import pytest
from openai import AsyncOpenAI
from pydantic_ai import Agent
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider
from tiny_model import KEY, NAME, TinyModel

from retentive import Memory, Thread
from retentive.agent import MemoryCapability
from retentive.errors import ExtractionError
from retentive.extraction import Excerpt, Extraction, LLMExtractor, Statement, VerbatimExtractor
from retentive.testing.clocks import START
from retentive.types import Turn

TOLD = (
    "My sister Priya lives in Pune and she likes hiking.",
    "John turned 34 on Tuesday.",
    "Maria moved to Lisbon last year and works at a bakery.",
)
SHORT: dict[str, Any] = {"max_output_tokens": 160, "tries": 1}


@pytest.fixture
async def memory() -> AsyncIterator[Memory]:
    async with Memory(store="memory://") as memory:
        yield memory


async def read(extractor: LLMExtractor, model: object) -> list[Statement]:
    """The statements of the first excerpt of which the model gives any; it may take a few."""
    for text in TOLD:
        turn = Turn(seq=1, id="1", role="user", content=text, at=START)
        try:
            found = await extractor.extract(Excerpt(turns=[turn], model=model))
        except ExtractionError:  # it went on and on until it was cut off
            continue
        if found:
            return list(found)
    return []


async def test_a_json_schema_makes_even_a_tiny_model_give_statements(model: OpenAIChatModel) -> None:
    found = await read(LLMExtractor(output_mode="native", **SHORT), model)
    assert found
    for one in found:
        assert one.content
        assert one.kind in ("semantic", "episodic", "procedural")
        assert all(type(turn) is int for turn in one.turns)


async def test_a_model_whose_profile_prefers_a_json_schema_is_asked_with_one(tiny: TinyModel) -> None:
    async with AsyncOpenAI(base_url=tiny.base_url, api_key=KEY, max_retries=0) as client:
        model = OpenAIChatModel(
            NAME,
            provider=OpenAIProvider(openai_client=client),
            profile={"default_structured_output_mode": "native"},
            settings={"temperature": 0.0},
        )
        assert await read(LLMExtractor(**SHORT), model)


async def test_a_model_without_tools_that_is_asked_for_one_fails_loudly_and_nothing_is_lost(
    model: OpenAIChatModel, memory: Memory, thread: Thread
) -> None:
    extractor = LLMExtractor(output_mode="tool", max_output_tokens=24, tries=1)
    capability = MemoryCapability(memory, thread=thread, user_id="ada", extractor=extractor)
    result = await Agent(model, capabilities=[capability]).run(TOLD[0])
    report = capability.report(result.run_id)
    assert report is not None
    assert report.remembered == []
    assert [failure.split(":")[0] for failure in report.failures] == ["extract"]
    (left,) = await Extraction(memory, VerbatimExtractor(), threads=thread.store).backlogs()
    assert (left.waiting, left.failures) == (2, 1)


async def test_each_window_is_drawn_from_or_left_whole_and_the_next_worker_finishes(
    model: OpenAIChatModel, memory: Memory, thread: Thread
) -> None:
    extractor = LLMExtractor(output_mode="native", **SHORT)
    capability = MemoryCapability(memory, thread=thread, user_id="ada", extractor=extractor)
    agent = Agent(model, capabilities=[capability])
    later = Extraction(memory, VerbatimExtractor(), threads=thread.store)
    failed = False
    for text in TOLD:
        result = await agent.run(text)
        report = capability.report(result.run_id)
        assert report is not None
        waiting = sum(left.waiting for left in await later.backlogs())
        assert bool(waiting) == bool(report.failures)
        failed = failed or bool(waiting)
        page = await memory.list(user_id="ada")
        drawn_from = {turn for item in page.items if item.source for turn in item.source.turns}
        assert drawn_from <= set(range(1, len(thread) - waiting + 1))
    assert [turn.content for turn in thread.messages().filter(role="user")] == list(TOLD)
    for left in await later.backlogs():
        assert await later.extract(left)
    assert await later.backlogs() == []
    assert not failed or await memory.count(user_id="ada")
