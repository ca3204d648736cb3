"""When recall says nothing: `min_confidence`, what it is given, and what it leaves alone."""

from collections.abc import Awaitable, Callable, Sequence
from datetime import timedelta
from typing import Any, TypeAlias

import pytest

from retentive import InvalidInput, Memory
from retentive.events import Event
from retentive.ranking import confidence
from retentive.recall import Recall
from retentive.testing.clocks import FakeClock
from retentive.testing.embedders import ScriptedEmbedder
from retentive.testing.places import Place

TEXTS = (
    "Ana adopted a small beagle from the shelter.",
    "The kitchen was painted green last week.",
    "Ben plays the violin in an orchestra.",
    "The train to Lisbon leaves at nine.",
)
ON, OFF = "Who plays the violin?", "Did the committee approve the new tax law?"

Ask: TypeAlias = Callable[..., Awaitable[Recall]]


@pytest.fixture(params=["recall", "search"])
async def ask(request: pytest.FixtureRequest, memory: Memory) -> Ask:
    await memory.remember_many(TEXTS)
    return getattr(memory, request.param)


async def test_a_question_about_something_else_gets_no_hits_and_the_reason(ask: Ask) -> None:
    assert await ask(OFF)
    found = await ask(OFF, min_confidence=0.3)
    assert found == []
    assert found.abstained
    assert found.confidence is not None
    assert 0.0 <= found.confidence < 0.3
    assert "abstained=True" in repr(found)
    assert found.render() == ""


async def test_a_question_about_what_is_there_gets_what_it_gets_without(ask: Ask) -> None:
    plain, found = await ask(ON), await ask(ON, min_confidence=0.3)
    assert found == plain
    assert found[0].content == TEXTS[2]
    assert not found.abstained
    assert 0.3 <= (found.confidence or 0.0) <= 1.0


async def test_the_confidence_is_not_worked_out_unless_asked_for(
    ask: Ask, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: Any) -> float:
        raise AssertionError("worked out")

    monkeypatch.setattr(confidence, "coverage", refuse)
    found = await ask(OFF)
    assert found.confidence is None
    assert not found.abstained
    with pytest.raises(AssertionError, match="worked out"):
        await ask(OFF, min_confidence=0.5)


async def test_zero_works_it_out_and_never_abstains(ask: Ask) -> None:
    found = await ask(OFF, min_confidence=0.0)
    assert found == await ask(OFF)
    assert found.confidence is not None
    assert not found.abstained


async def test_limit_offset_and_min_score_leave_the_confidence_alone(memory: Memory) -> None:
    await memory.remember_many(TEXTS)
    whole = await memory.search(ON, min_confidence=0.0)
    options: Sequence[dict[str, Any]] = ({"limit": 1}, {"offset": 2}, {"min_score": whole[0].score + 1})
    for option in options:
        found = await memory.search(ON, min_confidence=0.0, **option)
        assert found.confidence == whole.confidence
        assert found == await memory.search(ON, **option)


async def test_what_is_struck_out_lends_no_confidence(memory: Memory, clock: FakeClock) -> None:
    await memory.remember(TEXTS[2], tags=["music"], ttl=timedelta(seconds=60))
    await memory.remember_many([TEXTS[0], TEXTS[1]])
    assert not (await memory.recall(ON, min_confidence=0.3)).abstained
    tagged = await memory.recall(ON, tags=["house"], min_confidence=0.3)
    assert (tagged.confidence, tagged.abstained) == (0.0, True)
    clock.move(seconds=60)
    assert (await memory.recall(ON, min_confidence=0.3)).abstained


async def test_where_there_is_nothing_there_is_no_confidence(memory: Memory) -> None:
    empty = await memory.recall(ON, min_confidence=0.1)
    assert (empty.confidence, empty.abstained) == (0.0, True)
    await memory.remember_many(TEXTS)
    blank = await memory.recall("  ", min_confidence=0.1)
    assert (blank.confidence, blank.abstained) == (0.0, True)
    unasked = await memory.recall(ON, limit=0, min_confidence=0.1)
    assert (unasked.confidence, unasked.abstained) == (None, False)


async def test_a_failing_embedder_changes_the_confidence_little(place: Place) -> None:
    good = place.open(embedder=ScriptedEmbedder({}, dimensions=2, otherwise=(1, 0)))
    bad = place.open(embedder=ScriptedEmbedder(lambda _: [], dimensions=2))
    await good.remember_many(TEXTS)
    found = await bad.recall(ON, min_confidence=0.3)
    assert found.degraded
    assert found[0].content == TEXTS[2]
    assert not found.abstained


async def test_the_event_tells_that_nothing_was_read(memory: Memory) -> None:
    await memory.remember_many(TEXTS)
    events: list[Event] = []
    memory.subscribe(events.append)
    await memory.recall(OFF, min_confidence=0.5)
    assert [len(event.ids) for event in events] == [0]


@pytest.mark.parametrize("bad", [-0.1, 1.01, float("nan"), "0.2", True])
async def test_a_min_confidence_that_is_no_share_is_refused(ask: Ask, bad: Any) -> None:
    with pytest.raises(InvalidInput, match="min_confidence"):
        await ask(ON, min_confidence=bad)
