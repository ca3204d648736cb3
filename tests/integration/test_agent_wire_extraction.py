"""Drawing memories after a run goes wrong in every way: the run ends well, and the next one finishes."""

from collections.abc import Iterator

import pytest
from agent_wire import AFTER, ENTRIES, PROMPTS, SAID, scene
from agent_wire_extraction import FAULTS, KEPT, cell, suffer
from agent_wire_page import row_of

from retentive.testing.openai_server import OpenAIServer


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("setup", KEPT)
async def test_nothing_is_lost_or_doubled_and_the_next_run_draws_it(
    server: OpenAIServer, setup: str, entry: str, fault: str
) -> None:
    async with scene(server, setup) as at:
        ended = await suffer(at, entry, FAULTS[fault])
        assert at.report is not None
        waits = sum(one.waiting for one in await at.waiting())
        assert cell(ended, at.report.failures, waits) == row_of("extraction", fault)[KEPT[setup]]
        assert [item.content for item in await at.remembered()] == [PROMPTS[0]]
        if at.uses_thread:
            assert at.said() == ["user", "assistant"] * 2
        assert await at.say(entry, AFTER) == "ends well"
        assert await at.waiting() == []
        assert sorted(item.content for item in await at.remembered()) == sorted(PROMPTS)
        if at.uses_thread:
            contents = [turn.content for turn in at.thread.messages()]
            assert contents == [text for prompt in PROMPTS for text in (prompt, SAID)]
