"""An answer that is stopped in the middle: what had come is kept, and the conversation goes on from there.

Run it: python examples/agents/streaming.py [provider:model]
"""

import asyncio

from scripted import Request, model_or

from retentive import Thread, open_thread
from retentive.agent import Agent
from retentive.clock import new_id

STOP_AFTER = 8


def answer(asked: Request) -> str:
    if "shorter" in asked.said:
        return "Beat the eggs, season, fry in butter, fold."
    return (
        "For an omelette, beat three eggs with a pinch of salt and let them rest while the butter "
        "melts. Pour them in when it foams, stir gently, and fold the omelette while it is still soft."
    )


guide = Agent(model=model_or(answer), instructions="You explain recipes.")


async def read(text: str, thread: Thread, enough: asyncio.Event, stop_after: int | None) -> None:
    """Print the answer as it comes; say when there has been enough of it."""
    async with guide.run_stream(text, thread=thread) as stream:
        pieces = 0
        async for piece in stream.stream_text(delta=True, debounce_by=None):
            print(piece, end="", flush=True)
            pieces += 1
            if pieces == stop_after:
                enough.set()
                await asyncio.sleep(60)  # the user reads, and has seen enough
    print()


async def main() -> None:
    thread = await open_thread(f"recipe-{new_id()}")
    print("user:      How do I cook an omelette?\nassistant: ", end="")
    enough = asyncio.Event()
    task = asyncio.create_task(read("How do I cook an omelette?", thread, enough, STOP_AFTER))
    await asyncio.wait([task, asyncio.ensure_future(enough.wait())], return_when="FIRST_COMPLETED")
    task.cancel()
    await asyncio.gather(task, return_exceptions=True)
    print("\n  (the user stops the answer)")

    print("user:      A shorter version, please.\nassistant: ", end="")
    await read("A shorter version, please.", thread, asyncio.Event(), None)

    print("\nWhat the thread keeps:")
    for turn in thread.messages():
        state = f" [{turn.metadata['state']}]" if "state" in turn.metadata else ""
        print(f"  {turn.seq} {turn.role}{state}: {turn.content.strip()}")


async def connected() -> None:
    async with guide:  # ends the connections of its model, too
        await main()


asyncio.run(connected())
