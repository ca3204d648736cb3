"""Makes the sample of the schema that the installed Retentive writes: `make_samples.py <new folder>`.

Run it with the code of the release that the sample is to stand for (see README.md), never again later.
"""

import asyncio
import json
import sys
from base64 import b64encode
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

from retentive import Memory, MemoryKind, NewMemory, Origin, Source
from retentive.codec import item_to_dict, turn_to_dict
from retentive.drafts import key_of
from retentive.ranking.features import features, pack
from retentive.stores.base import Changes, MemoryStore, NewTurn, StoredMemory
from retentive.stores.file import FileStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.sqlite import SQLiteStore
from retentive.testing.clocks import START, CountingIds, FakeClock
from retentive.types import MemoryItem

ANN = "ann"


async def live(store: MemoryStore) -> None:
    """A short life in two namespaces: every kind, keys, near links, expiry, changes and deletes."""
    clock, ids = FakeClock(), CountingIds()
    acme = Memory("acme", store=store, clock=clock, new_id=ids)
    zeta = Memory("Zeta & Sons", store=store, clock=clock, new_id=ids)
    for kind in MemoryKind:
        await acme.remember(f"Ann keeps a {kind} note about the harbour.", user_id=ANN, kind=kind)
        clock.move(minutes=1)
    await acme.remember("The ferry leaves pier 4 at 9:30.", user_id=ANN, key="ferry", tags=["travel"])
    await acme.remember("The ferry leaves pier 5 at 9:30.", user_id=ANN)
    await acme.remember("The guest code is 4711.", user_id=ANN, ttl=timedelta(hours=1))
    await acme.remember(
        "Ann lived in Bergen.", user_id=ANN, valid_from=START, valid_until=START.replace(year=2027)
    )
    await acme.remember(
        "The boiler was repaired; 抹茶アイス was served.",
        user_id=ANN,
        kind=MemoryKind.EPISODIC,
        importance=0.9,
        metadata={"big": 2**63, "list": [1, None, {"ä\u2028": ""}]},
        occurred_at=START - timedelta(days=3),
        source=Source(thread="talk", turns=(1, 2), speaker="Ann"),
        origin=Origin.TOOL,
        success=True,
    )
    clock.move(days=1)
    await acme.remember_many([NewMemory(content=f"Shared rule number {n}.") for n in range(3)])
    changed = await acme.remember("The office is in Oslo.")
    await acme.update(changed.id, content="The office is in Tromsø.", importance=0.7)
    gone = await acme.remember("The launch word is heron.")
    await acme.forget(gone.id)
    await zeta.remember("The margin is 12 percent.", origin=Origin.DOCUMENT, source=Source(document="d.pdf"))
    old = await acme.remember("Ann drinks coffee.", user_id=ANN)
    new = await acme.remember("Since May Ann only takes tea.", user_id=ANN)
    await supersede(store, old, new)


async def supersede(store: MemoryStore, old: MemoryItem, new: MemoryItem) -> None:
    """What schema 1 can hold but its release has no verb for: history, and a memory without a vector."""
    kept = await store.get(old.scope, [old.id, new.id])
    items = [
        replace(old, superseded_by=new.id, valid_until=START, embedder=None),
        replace(new, supersedes=old.id, valid_from=START),
    ]
    updates = [
        replace(
            memory,
            item=item,
            text_key=key_of(item),
            packed=pack(features(item)),
            vector=memory.vector if item.embedder else None,
        )
        for memory, item in zip(kept, items, strict=True)
        if memory is not None
    ]
    await store.write(Changes(scope=old.scope, updates=updates))


async def talk(store: JsonlThreadStore) -> None:
    """Two threads of a few turns."""
    said = [("user", "Where is the kettle?"), ("assistant", "At the harbour.\u2028"), ("tool", "{}")]
    turns = [
        NewTurn(id=f"t{n}", role=role, content=content, at=START + timedelta(seconds=n), metadata={"n": [n]})
        for n, (role, content) in enumerate(said)
    ]
    await store.append("acme", "talk", turns[:2], 0)
    await store.append("acme", "talk", turns[2:], 2)
    await store.append("Zeta & Sons", "Ünïcode thread", turns[:1], 0)


async def memories_of(store: MemoryStore) -> list[dict[str, Any]]:
    """All that the store holds, in its order."""
    found: list[dict[str, Any]] = []
    for namespace in await store.namespaces():
        for scope in await store.scopes(namespace):
            ids = [row.id for row in (await store.scan(scope, 0)).rows]
            found += [told(memory) for memory in await store.get(scope, ids) if memory is not None]
    return found


def told(memory: StoredMemory) -> dict[str, Any]:
    """The memory and what is kept beside it, as JSON."""
    return {
        "item": item_to_dict(memory.item),
        "key": memory.key,
        "text_key": None if memory.text_key is None else memory.text_key.hex(),
        "packed": b64encode(memory.packed).decode(),
        "vector": None if memory.vector is None else b64encode(memory.vector).decode(),
    }


async def turns_of(store: JsonlThreadStore) -> dict[str, dict[str, list[Any]]]:
    """All turns, by namespace and thread."""
    return {
        namespace: {
            thread: [turn_to_dict(turn) for turn in (await store.turns(namespace, thread)).turns]
            for thread in await store.threads(namespace)
        }
        for namespace in await store.namespaces()
    }


async def make(folder: Path) -> dict[str, Any]:
    """What the sample that this makes holds."""
    told_by: list[Any] = []
    for store in (SQLiteStore(folder / "memory.db"), FileStore(folder / "memories")):
        await live(store)
        told_by.append(await memories_of(store))
        await store.close()
    if told_by[0] != told_by[1]:
        raise SystemExit("the stores differ; this is no sample")
    threads = JsonlThreadStore(folder / "threads")
    await talk(threads)
    expected = {"memories": told_by[0], "threads": await turns_of(threads)}
    await threads.close()
    return expected


def main(folder: Path) -> None:
    """Make the sample in the folder."""
    text = json.dumps(asyncio.run(make(folder)), ensure_ascii=False, indent=1) + "\n"
    (folder / "expected.json").write_text(text, encoding="utf-8", newline="\n")
    for lock in folder.rglob("*.lock"):
        lock.unlink()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
