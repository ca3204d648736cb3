"""What may go wrong on the way: nothing is lost, nothing doubled, and the next run finishes.

Each fault is put on the wire of a server that speaks OpenAI's protocol, through pydantic-ai's own client.
"""

import asyncio
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass

import pytest
import pytest_asyncio
from extraction_rig import USER, Rig, said
from openai import AsyncOpenAI
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.openai import OpenAIProvider

from retentive import Event
from retentive.events import EventType
from retentive.extraction import ExtractionQueue, LLMExtractor
from retentive.testing.openai_server import Answer, Gate, OpenAIServer

FINE = Answer(output={"statements": [said("The user lives in Oslo.", 1), said("The user is vegan.", 3)]})
FACTS = ["The user lives in Oslo.", "The user is vegan."]
TURNS = ("I moved to Oslo.", ("assistant", "Nice. Any wishes?"), "I only eat plants.")


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        yield server


@pytest_asyncio.fixture
async def model(server: OpenAIServer) -> AsyncIterator[OpenAIChatModel]:
    client = AsyncOpenAI(base_url=server.base_url, api_key="k", max_retries=0)
    yield OpenAIChatModel("gpt-x", provider=OpenAIProvider(openai_client=client))
    await client.close()


@dataclass(frozen=True)
class Fault:
    """What the server does, what the failure says, and whether it is no fault of the window."""

    answers: tuple[Answer, ...]
    says: str
    is_outage: bool = False


FAULTS = {
    "bad JSON": Fault((Answer(calls=[("final_result", '{"statements": [{"con')]),) * 2, "usable"),
    "wrong form": Fault((Answer(output={"facts": ["x"]}),) * 2, "usable"),
    "refusal": Fault((Answer(refusal="I will not do that."),), "usable"),
    "empty answer": Fault((Answer(text=""),) * 2, "usable"),
    "chat instead": Fault((Answer(text="Sure! Here is what I found."),) * 2, "usable"),
    "cut short by length": Fault(
        (Answer(calls=[("final_result", '{"statements": [')], finish="length"),) * 2, "usable"
    ),
    "content filter": Fault((Answer(text="", finish="content_filter"),), "usable"),
    "invented turns": Fault((Answer(output={"statements": [said("Made up.", 77)]}),), "nothing of"),
    "invented kinds": Fault(
        (Answer(output={"statements": [said("Made up.", 1, kind="working")]}),), "nothing of"
    ),
    "status 400": Fault((Answer(status=400),), "400"),
    "status 401": Fault((Answer(status=401),), "401", is_outage=True),
    "status 429": Fault((Answer(status=429, retry_after_s=0.001),), "429", is_outage=True),
    "status 500": Fault((Answer(status=500),), "500", is_outage=True),
    "status 503": Fault((Answer(status=503),), "503", is_outage=True),
    "reset": Fault((Answer(reset=True),), "reached", is_outage=True),
    "cut off": Fault((Answer(output={"statements": []}, cut_after=40),), "", is_outage=True),
    "no JSON at all": Fault((Answer(body=b"<html>bad gateway</html>"),), "reached", is_outage=True),
}


@pytest.mark.parametrize("name", FAULTS)
async def test_nothing_is_lost_or_doubled_and_the_next_run_finishes(
    rig: Rig, server: OpenAIServer, model: OpenAIChatModel, name: str
) -> None:
    fault, events = FAULTS[name], list[Event]()
    rig.memory.subscribe(events.append)
    extraction = rig.extraction(LLMExtractor(model))
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread(*TURNS)
    server.chat(*fault.answers)
    done = await extraction.extract(backlog)
    assert done.failure is not None
    assert fault.says in done.failure
    told = [event for event in events if event.type is EventType.EXTRACTION_FAILED]
    assert [event.degraded["extraction"] for event in told] == [done.failure]
    assert "Oslo" not in done.failure
    assert "will not" not in done.failure
    assert await rig.contents() == []
    (left,) = await extraction.backlogs()
    assert (left.waiting, left.failures) == (3, 1)
    assert len(server.chats) == len(fault.answers)
    server.chat(FINE)
    assert await extraction.extract(left)
    assert await rig.contents() == FACTS
    assert await extraction.backlogs() == []
    asked = len(server.chats)
    assert not (await extraction.extract(left)).items
    assert len(server.chats) == asked


@pytest.mark.parametrize("name", FAULTS)
async def test_only_what_is_the_windows_own_fault_leads_to_the_dead_letters(
    rig: Rig, server: OpenAIServer, model: OpenAIChatModel, name: str
) -> None:
    fault = FAULTS[name]
    extraction = rig.extraction(LLMExtractor(model), attempts=1)
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread(*TURNS)
    server.chat(*fault.answers)
    done = await extraction.extract(backlog)
    assert len(done.dead) == (0 if fault.is_outage else 1)
    server.chat(FINE)
    for letter in await extraction.dead_letters():
        await extraction.retry(letter)
    await extraction.extract(backlog)
    assert await rig.contents() == FACTS
    assert await extraction.dead_letters() == []


async def asked_and_held(gate: Gate) -> None:
    assert await asyncio.to_thread(gate.reached.wait, 10)


async def test_a_run_cancelled_while_the_model_thinks_loses_nothing(
    rig: Rig, server: OpenAIServer, model: OpenAIChatModel
) -> None:
    extraction = rig.extraction(LLMExtractor(model))
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread(*TURNS)
    gate = Gate()
    server.chat(Answer(output=FINE.output, gate=gate))
    task = asyncio.create_task(extraction.extract(backlog))
    await asked_and_held(gate)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    gate.open()
    (left,) = await extraction.backlogs()
    assert (left.waiting, left.failures) == (3, 0)
    server.chat(FINE)
    await extraction.extract(left)
    assert await rig.contents() == FACTS


async def test_a_model_slower_than_the_limit_is_an_outage(
    rig: Rig, server: OpenAIServer, model: OpenAIChatModel
) -> None:
    extraction = rig.extraction(LLMExtractor(model, time_limit_s=0.05), attempts=1)
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread(*TURNS)
    gate = Gate()
    server.chat(Answer(output=FINE.output, gate=gate))
    done = await extraction.extract(backlog)
    assert "0.05 seconds" in (done.failure or "")
    gate.open()
    server.chat(FINE)
    await rig.extraction(LLMExtractor(model)).extract(backlog)
    assert await rig.contents() == FACTS


async def test_a_server_that_is_not_there_is_an_outage(rig: Rig) -> None:
    with OpenAIServer() as gone:
        url = gone.base_url
    client = AsyncOpenAI(base_url=url, api_key="k", max_retries=0)
    model = OpenAIChatModel("gpt-x", provider=OpenAIProvider(openai_client=client))
    extraction = rig.extraction(LLMExtractor(model), attempts=1)
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread(*TURNS)
    done = await extraction.extract(backlog)
    await client.close()
    assert (done.failure is not None, done.dead) == (True, ())


async def test_an_exchange_survives_the_model_too(
    rig: Rig, server: OpenAIServer, model: OpenAIChatModel
) -> None:
    extraction = rig.extraction(LLMExtractor(model))
    waiting = await extraction.begin_exchange("run-1", "I moved to Oslo.", user_id=USER)
    await extraction.end_exchange(waiting, "Welcome.")
    server.chat(Answer(status=500))
    assert not await extraction.extract(waiting)
    (left,) = await extraction.backlogs()
    assert left.failures == 1
    server.chat(Answer(output={"statements": [said("The user lives in Oslo.", 1)]}))
    async with ExtractionQueue(extraction) as queue:
        queue.put(left)
    assert await rig.contents() == ["The user lives in Oslo."]
    assert await rig.memory.notes(user_id=USER) == {}
