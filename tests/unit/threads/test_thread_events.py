"""Every append and every look for new turns is told, with the ids of the turns."""

from pathlib import Path

import pytest

from retentive import Conflict, Event, EventType, InvalidInput, Scope, Thread, open_thread, sync
from retentive.events import Trace, traced
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.testing.clocks import FakeClock


def ids(thread: Thread) -> tuple[str, ...]:
    return tuple(turn.id for turn in thread.messages())


async def test_an_append_is_told_with_the_turns_that_it_wrote() -> None:
    clock = FakeClock()
    thread, told = Thread(InMemoryThreadStore(), "team", "t", clock=clock), list[Event]()
    thread.subscribe(told.append)
    await thread.append("one")
    await thread.append_many(["two", "three"])
    await thread.append_many([])
    assert [(event.type, event.verb, event.ids) for event in told] == [
        (EventType.THREAD_WRITE, "append", ids(thread)[:1]),
        (EventType.THREAD_WRITE, "append", ids(thread)[1:]),
    ]
    for event in told:
        assert (event.thread, event.scope, event.memory) == ("t", Scope("team"), "team")
        assert (event.store, event.at, event.run) == (thread.store.url, clock(), None)
        assert event.duration_ms > 0


async def test_a_turn_of_somebody_else_is_not_in_the_append_that_found_it() -> None:
    store = InMemoryThreadStore()
    thread, other, told = Thread(store, "team", "t"), Thread(store, "team", "t"), list[Event]()
    thread.subscribe(told.append)
    await other.append("theirs")
    await thread.append("ours")
    assert [event.ids for event in told] == [ids(thread)[1:]]


async def test_a_refresh_is_told_with_the_turns_that_were_new() -> None:
    store = InMemoryThreadStore()
    thread, other, told = Thread(store, "team", "t"), Thread(store, "team", "t"), list[Event]()
    thread.subscribe(told.append)
    await other.append_many(["one", "two"])
    await thread.refresh()
    await thread.refresh()
    await other.append("three")
    await thread.refresh()
    assert [(event.type, event.verb) for event in told] == [(EventType.THREAD_READ, "refresh")] * 3
    assert [event.ids for event in told] == [ids(thread)[:2], (), ids(thread)[2:]]


async def test_a_log_that_was_replaced_is_read_anew_and_told_as_new() -> None:
    store = InMemoryThreadStore()
    thread, told = Thread(store, "team", "t"), list[Event]()
    await thread.append("one")
    await store.delete("team", "t")
    await Thread(store, "team", "t").append("another")
    thread.subscribe(told.append)
    await thread.refresh()
    assert [event.ids for event in told] == [ids(thread)]


async def test_an_append_that_fails_is_not_told_as_a_write() -> None:
    store = InMemoryThreadStore()
    thread, told = Thread(store, "team", "t"), list[Event]()
    await thread.append("one")
    await store.delete("team", "t")
    thread.subscribe(told.append)
    with pytest.raises(Conflict):
        await thread.append("two")
    with pytest.raises(InvalidInput):
        await thread.append("")
    assert [event.type for event in told] == [EventType.THREAD_READ]


async def test_no_event_of_a_thread_holds_a_text(tmp_path: Path) -> None:
    thread, told = await open_thread("t", store=JsonlThreadStore(tmp_path)), list[Event]()
    thread.subscribe(told.append)
    await thread.append("zebra", metadata={"zebra": "zebra"})
    await thread.refresh()
    assert len(told) == 2
    assert "zebra" not in repr(told)


async def test_a_run_sees_its_threads_without_any_subscriber() -> None:
    thread, trace = Thread(InMemoryThreadStore(), "team", "t"), Trace(run="run-1")
    with traced(trace):
        await thread.append("one")
    await thread.append("two")
    assert [(event.run, event.ids) for event in trace.events] == [("run-1", ids(thread)[:1])]


async def test_a_subscription_ends_when_told() -> None:
    thread, told = Thread(InMemoryThreadStore(), "team", "t"), list[Event]()
    end = thread.subscribe(told.append)
    await thread.append("one")
    end()
    await thread.append("two")
    assert len(told) == 1


def test_a_blocking_thread_tells_the_same(tmp_path: Path) -> None:
    thread, told = sync.open_thread("t", store=JsonlThreadStore(tmp_path)), list[str]()
    thread.subscribe(lambda event: told.append(event.verb))
    thread.append("one").refresh()
    assert told == ["append", "refresh"]
