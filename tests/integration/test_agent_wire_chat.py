"""Asking the model goes wrong in every way: what the run had is kept, once, and the next run is taken.

The page `docs/guide/agent-faults.md` says what happened in each cell; it is checked here.
"""

import itertools
from collections.abc import Iterator

import pytest
from agent_wire import AFTER, BEFORE, DURING, ENTRIES, PROMPTS, SETUPS, Scene, scene
from agent_wire_chat import FAULTS, cell, recover, suffer
from agent_wire_page import row_of

from retentive.testing.openai_server import OpenAIServer


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("setup", SETUPS)
async def test_what_was_said_is_kept_once_and_the_next_run_is_taken(
    server: OpenAIServer, setup: str, entry: str, fault: str
) -> None:
    async with scene(server, setup, tries=FAULTS[fault].tries) as at:
        ended = await suffer(at, entry, FAULTS[fault])
        heard = "".join(at.heard)
        told, *left = row_of("chat", fault)[entry].split(": ")
        assert ended == told.strip("`")
        if at.uses_thread:
            assert cell(ended, at.said()[2:]) == ": ".join([told, *left])
            check_turns(at, heard)
        assert await recover(at, entry) == "ends well"
        check_next_request(at)
        await check_memory(at, ended)


def check_turns(at: Scene, heard: str) -> None:
    """The acknowledged turns as they were, the user's once, and what the caller had heard."""
    turns = at.thread.messages()
    assert [turn.content for turn in turns.filter(role="user")] == [BEFORE, DURING]
    assert at.said()[:2] == ["user", "assistant"]
    answers = [turn.content for turn in turns[3:]]
    assert len(answers) <= 1
    assert heard.strip() in "".join(answers)


def check_next_request(at: Scene) -> None:
    """The conversation that the next run sent is one that every provider takes; with a thread, it is all."""
    (chat,) = [one for one in at.server.chats if AFTER in one.said and "<conversation>" not in one.said][-1:]
    sides = [message["role"] for message in chat.messages]
    assert all(a != b for a, b in itertools.pairwise(sides))
    assert sides[-1] == "user"
    if at.uses_thread:
        assert [turn.content for turn in at.thread.messages().filter(role="user")] == list(PROMPTS)
        assert at.said()[-2:] == ["user", "assistant"]
        for prompt in PROMPTS:
            sent = "\n".join(str(one["content"]) for one in chat.messages if one["role"] == "user")
            assert without_block(sent).count(prompt) == 1


def without_block(text: str) -> str:
    from retentive.agent.exchange import without_echo
    from retentive.recall import Recall

    return without_echo(text, Recall((), query="", degraded={}))


async def check_memory(at: Scene, ended: str) -> None:
    """What is drawn or kept of each run: once, and none is left waiting."""
    assert await at.waiting() == []
    items = await at.remembered()
    if at.extracts:
        assert sorted(item.content for item in items) == sorted(PROMPTS)
    elif at.keeps_exchanges:
        assert [item.success for item in items] == [True, ended == "ends well", True]
        assert all(prompt in item.content for prompt, item in zip(PROMPTS, items, strict=True))
    else:
        assert items == []
    if at.report is not None:
        assert at.report.failures == []
