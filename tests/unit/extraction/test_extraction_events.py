"""What extraction reads and writes is told, to the run that asked for it, however late it is done."""

from extraction_rig import USER, EveryTurn, Rig, Scripted

from retentive import Event, EventType
from retentive.events import Trace, traced
from retentive.extraction import ExtractionQueue
from retentive.extraction.backlog import Backlog


async def test_every_read_and_write_of_an_extraction_is_tied_to_its_run(rig: Rig) -> None:
    extraction, trace = rig.extraction(EveryTurn()), Trace(run="run-1")
    with traced(trace):
        backlog = await extraction.begin_thread("default", "t", user_id=USER)
        thread = await rig.thread("tea at five")
        done = await extraction.extract(backlog)
    assert {event.run for event in trace.events} == {"run-1"}
    told = [(event.type, event.verb) for event in trace.events]
    assert (EventType.MEMORY_READ, "notes") in told
    assert (EventType.MEMORY_WRITE, "apply") in told
    log = [event for event in trace.events if event.type is EventType.THREAD_READ and event.verb == "extract"]
    assert [(event.thread, event.store) for event in log][:1] == [("t", rig.threads.url)]
    assert log[0].ids == tuple(turn.id for turn in thread.messages())
    assert tuple(item.id for item in done.items) in [event.ids for event in trace.events]


async def test_a_failed_extraction_is_in_the_events_of_its_run(rig: Rig) -> None:
    extraction, trace, told = rig.extraction(Scripted(ValueError("bad"))), Trace(run="run-1"), list[Event]()
    rig.memory.subscribe(told.append)
    await rig.thread("tea at five")
    with traced(trace):
        backlog = await extraction.begin_thread("default", "t", user_id=USER)
        assert not await extraction.extract(backlog)
    (failed,) = [event for event in trace.events if event.type is EventType.EXTRACTION_FAILED]
    assert failed.run == "run-1"
    assert "bad" in str(failed.error)
    assert failed in told


async def test_what_a_queue_does_is_told_to_the_run_that_queued_it(rig: Rig) -> None:
    """The task that works the queue off was begun in the first run; the others' events are still theirs."""
    extraction = rig.extraction(EveryTurn())
    traces = {name: Trace(run=name) for name in ("a", "b", "c")}
    waiting: dict[str, Backlog] = {}
    for name in traces:
        await rig.thread(f"said in {name}", id=name)
        waiting[name] = await extraction.begin_thread("default", name, user_id=USER)
    queue = ExtractionQueue(extraction)
    for name, trace in traces.items():
        with traced(trace):
            queue.put(waiting[name])
    await queue.drain()
    for name, trace in traces.items():
        read = [event for event in trace.events if event.type is EventType.THREAD_READ]
        assert {event.thread for event in read} == {name}
        assert {event.run for event in trace.events} == {name}
        assert len([event for event in trace.events if event.ids and event.verb == "apply"]) == 1


async def test_a_backlog_that_is_queued_twice_is_told_to_the_later_run(rig: Rig) -> None:
    extraction, first, second = rig.extraction(EveryTurn()), Trace(run="first"), Trace(run="second")
    await rig.thread("tea at five")
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    async with ExtractionQueue(extraction) as queue:
        for trace in (first, second):
            with traced(trace):
                queue.put(backlog)
    assert first.events == []
    assert {event.run for event in second.events} == {"second"}
