"""Every read and write is told to subscribers, after it happened, and nothing they do matters."""

import asyncio
import logging
from typing import Any

import pytest

from retentive import Event, EventType, InvalidInput, Memory, MemoryKind, Scope
from retentive.events import MAX_TRACED, Trace, current_trace, traced
from retentive.testing.clocks import FakeClock
from retentive.testing.embedders import ScriptedEmbedder
from retentive.testing.places import Place


@pytest.fixture
def told(memory: Memory) -> list[Event]:
    events: list[Event] = []
    memory.subscribe(events.append)
    return events


async def test_writes_are_told_with_ids_and_kinds(
    memory: Memory, told: list[Event], clock: FakeClock
) -> None:
    item = await memory.remember("tea at five", user_id="ann", kind="episodic")
    many = await memory.remember_many(["one", "two"], user_id="ann")
    await memory.update(item.id, user_id="ann", importance=1)
    assert [(event.type, event.verb, event.ids, event.kinds) for event in told] == [
        (EventType.MEMORY_WRITE, "remember", (item.id,), (MemoryKind.EPISODIC,)),
        (EventType.MEMORY_WRITE, "remember_many", tuple(one.id for one in many), (MemoryKind.SEMANTIC,) * 2),
        (EventType.MEMORY_WRITE, "update", (item.id,), (MemoryKind.EPISODIC,)),
    ]
    for event in told:
        assert (event.scope, event.at, event.memory) == (Scope("default", "ann"), clock(), "default")
        assert event.duration_ms > 0
        assert event.restated == event.scores == ()
        assert "://" in event.store


async def test_a_restatement_is_told_as_one(memory: Memory, told: list[Event]) -> None:
    item = await memory.remember("tea at five")
    other = (await memory.remember_many(["Tea at five.", "a walk"]))[1]
    assert told[1].ids == (item.id, other.id)
    assert told[1].restated == (item.id,)


async def test_reads_are_told_with_scores(memory: Memory, told: list[Event]) -> None:
    items = await memory.remember_many(["tea at five", "tea at six"])
    told.clear()
    recalled = await memory.recall("tea at six")
    searched = await memory.search("tea", limit=1)
    await memory.get(items[0].id)
    await memory.get("nothing")
    page = await memory.list()
    assert [(event.type, event.verb) for event in told] == [
        (EventType.MEMORY_READ, verb) for verb in ("recall", "search", "get", "get", "list")
    ]
    for event, hits in zip(told, (recalled, searched), strict=False):
        assert event.ids == tuple(hit.id for hit in hits)
        assert event.scores == tuple(hit.score for hit in hits)
        assert event.kinds == tuple(hit.item.kind for hit in hits)
    assert [event.ids for event in told[2:]] == [(items[0].id,), (), tuple(item.id for item in page)]


async def test_looking_over_a_scope_is_told(memory: Memory, told: list[Event]) -> None:
    await memory.remember("tea at five", user_id="ann")
    told.clear()
    await memory.count(user_id="ann")
    await memory.notes(user_id="ann")
    await memory.scopes()
    assert [(event.type, event.verb, event.scope.user_id, event.ids) for event in told] == [
        (EventType.MEMORY_READ, "count", "ann", ()),
        (EventType.MEMORY_READ, "notes", "ann", ()),
        (EventType.MEMORY_READ, "scopes", None, ()),
    ]


async def test_forgetting_is_told_with_what_went(memory: Memory, told: list[Event]) -> None:
    first = await memory.remember("tea at five", kind="episodic")
    second = await memory.remember("a walk", user_id="ann")
    told.clear()
    await memory.forget(first.id)
    await memory.forget(first.id)
    await memory.clear(everyone=True)
    assert [(event.type, event.verb, event.scope.user_id, event.ids, event.kinds) for event in told] == [
        (EventType.MEMORY_FORGET, "forget", None, (first.id,), (MemoryKind.EPISODIC,)),
        (EventType.MEMORY_FORGET, "forget", None, (), ()),
        (EventType.MEMORY_FORGET, "clear", "ann", (second.id,), (MemoryKind.SEMANTIC,)),
    ]


async def test_no_event_holds_a_text(memory: Memory, told: list[Event]) -> None:
    item = await memory.remember("zebra crossing", metadata={"m": "zebra"})
    await memory.recall("zebra")
    await memory.update(item.id, content="zebra stripes")
    await memory.forget(item.id)
    assert "zebra" not in repr(told)


async def test_what_fails_is_not_told(memory: Memory, told: list[Event]) -> None:
    for bad in (memory.remember(""), memory.recall("tea", limit=-1), memory.update("nothing", importance=1)):
        with pytest.raises((ValueError, LookupError)):
            await bad
    assert told == []


async def test_a_degraded_recall_is_told_as_such(place: Place) -> None:
    events: list[Event] = []
    await place.open().remember("tea at five")
    memory = place.open(embedder=ScriptedEmbedder({}, dimensions=2), name="agent")
    memory.subscribe(events.append)
    hits = await memory.recall("tea")
    assert events[0].degraded == hits.degraded != {}
    assert events[0].memory == "agent"


async def test_a_failing_subscriber_breaks_nothing_and_stays(
    memory: Memory, caplog: pytest.LogCaptureFixture
) -> None:
    calls: list[str] = []

    def failing(event: Event) -> None:
        calls.append(event.verb)
        raise RuntimeError("full disk")

    memory.subscribe(failing)
    after: list[Event] = []
    memory.subscribe(after.append)
    with caplog.at_level(logging.ERROR, logger="retentive.events"):
        item = await memory.remember("tea at five")
        assert (await memory.recall("tea"))[0].id == item.id
    assert calls == [event.verb for event in after] == ["remember", "recall"]
    assert "full disk" in caplog.text


async def test_a_subscription_ends_when_told_and_no_other_does(memory: Memory) -> None:
    events: list[Event] = []
    end_first = memory.subscribe(events.append)
    memory.subscribe(events.append)
    await memory.remember("one")
    end_first()
    end_first()
    await memory.remember("two")
    assert [event.verb for event in events] == ["remember"] * 3


async def test_a_subscriber_that_would_need_awaiting_is_refused(memory: Memory) -> None:
    async def later(event: Event) -> None: ...

    wrong: list[Any] = [later, None, "print"]
    for one in wrong:
        with pytest.raises(InvalidInput):
            memory.subscribe(one)


async def test_what_is_done_in_a_run_is_tied_to_it(memory: Memory, told: list[Event]) -> None:
    trace = Trace(run="run-1")
    with traced(trace):
        assert current_trace() is trace
        await asyncio.create_task(_remembered(memory))
    await memory.remember("a walk at six")
    assert current_trace() is None
    assert [event.run for event in told] == ["run-1", None]
    assert trace.events == told[:1]


async def _remembered(memory: Memory) -> None:
    await memory.remember("tea at five")


async def test_a_trace_needs_no_subscriber_and_is_bounded() -> None:
    memory, trace = Memory(store="memory://"), Trace(run="run-1")
    with traced(trace):
        for _ in range(MAX_TRACED + 5):
            await memory.get("nothing")
    assert len(trace.events) == MAX_TRACED
