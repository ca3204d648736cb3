"""A user is erased in one call; the receipt is verified. Run it: python examples/life/forgetting.py"""

import asyncio
import tempfile
from pathlib import Path

from retentive import Memory, Source, open_thread
from retentive.stores.jsonl_threads import JsonlThreadStore


async def main(folder: Path) -> None:
    threads = JsonlThreadStore(folder / "threads")
    thread = await open_thread("ticket-7", store=threads)
    await thread.append("My door code is 4711-quixotic.", metadata={"user_id": "ada"})
    await thread.append("Is the lift mended?", metadata={"user_id": "bob"})

    async with Memory(store=f"sqlite:///{(folder / 'm.db').as_posix()}") as memory:
        source = Source(thread="ticket-7", turns=(1,))
        await memory.remember("The door code is 4711-quixotic.", user_id="ada", source=source)
        await memory.remember("Bob waits for the lift.", user_id="bob")

        receipt = await memory.forget_user("ada", threads=threads)
        print(receipt.removed["rows"], receipt.turns)
        # > 1 {'default/ticket-7': (1,)}
        verdict = await memory.verify_forgotten(receipt, threads=threads)
        print(bool(verdict), verdict.found, sorted({checked.unit for checked in verdict.checked}))
        # > True () [...'bytes'...]
        print([turn.content for turn in (await thread.refresh()).messages()])
        # > ['[redacted]', 'Is the lift mended?']
        print([scope.user_id for scope in await memory.scopes()])
        # > ['bob']

    left = [path.name for path in folder.rglob("*") if path.is_file() and b"quixotic" in path.read_bytes()]
    print(left)
    # > []


with tempfile.TemporaryDirectory() as place:
    asyncio.run(main(Path(place)))
