"""A summary that is kept in a Memory is read and written there, and told."""

from retentive import Conversation, EventType, Memory
from retentive.events import Trace, traced
from retentive.short_term import ShortTermMemory
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.threads import Thread


async def summed_up(summary: str | None, turns: Conversation) -> str:
    return f"{summary or ''} {len(turns)} turns"


async def test_reading_and_writing_a_summary_are_events_of_the_run() -> None:
    thread, trace = Thread(InMemoryThreadStore(), "default", "t"), Trace(run="run-1")
    await thread.append_many([f"turn {number}" for number in range(8)])
    async with Memory(store="memory://") as memory:
        short = ShortTermMemory(thread, max_turns=4, summarize=summed_up, memory=memory, user_id="ada")
        with traced(trace):
            assert (await short.window()).summary is not None
    assert {event.run for event in trace.events} == {"run-1"}
    told = [(event.type, event.verb, event.scope.user_id) for event in trace.events]
    assert (EventType.MEMORY_READ, "notes", "ada") in told
    assert (EventType.MEMORY_WRITE, "apply", "ada") in told
