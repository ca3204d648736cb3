"""Remember, recall, forget; keep a conversation. Run it: python examples/quickstart.py"""

import asyncio

from retentive import Memory, open_thread


async def main() -> None:
    async with Memory() as memory:
        await memory.remember("User prefers email over phone.", user_id="user-42")
        await memory.remember("User's invoices go to the Leipzig office.", user_id="user-42")

        hits = await memory.recall("how should I contact this user?", user_id="user-42")
        print(hits[0].content)
        # > User prefers email over phone.

        receipt = await memory.forget(hits[0].id, user_id="user-42")
        print(receipt.removed["rows"], await memory.count(user_id="user-42"))
        # > 1 1

    thread = await open_thread("ticket-981", namespace="support")
    await thread.append("My invoice is wrong.")
    await thread.append("Looking into it now.", role="assistant")
    for turn in thread.messages():
        print(f"{turn.seq} {turn.role}: {turn.content}")
    # > 1 user: My invoice is wrong.
    # > 2 assistant: Looking into it now.


asyncio.run(main())
