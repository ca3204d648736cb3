"""Filling stores with many memories fast: straight into the store, with what `remember` would have computed.

`remember` compares each memory with all others of its scope, which for a hundred thousand in one scope takes
minutes. The rows are the same as it would have written.
"""

import asyncio
from collections.abc import Sequence
from dataclasses import replace

from bench.corpus import sentences
from bench.measure import over
from bench.plan import Plan

from retentive import NewMemory, Scope, StoreError
from retentive.clock import new_id, utc_now
from retentive.drafts import DEFAULT_LIFETIMES, key_of, make_item, text_to_embed
from retentive.embedders.base import embed_checked, fingerprint
from retentive.embedders.static import shared
from retentive.ranking.features import features, pack
from retentive.stores.base import Changes, StoredMemory
from retentive.stores.sqlite import SQLiteStore

NAMESPACE = "bench"
BATCH = 1_000
AT_ONCE = 32
_DONE = "done"


async def memories(texts: Sequence[str], scope: Scope, what: str) -> list[StoredMemory]:
    """The texts as `remember` would store them."""
    embedder = shared()
    mark, now = fingerprint(embedder), utc_now()
    made: list[StoredMemory] = []
    for start in over(range(0, len(texts), BATCH), what):
        drafts = [NewMemory(content=text) for text in texts[start : start + BATCH]]
        items = [
            replace(make_item(draft, scope, now, DEFAULT_LIFETIMES, new_id), embedder=mark)
            for draft in drafts
        ]
        vectors = await embed_checked(embedder, [text_to_embed(item) for item in items], "document")
        made += [
            StoredMemory(
                item=item,
                text_key=key_of(item),
                key=None,
                packed=pack(features(item)),
                vector=vector.tobytes(),
            )
            for item, vector in zip(items, vectors, strict=True)
        ]
    return made


async def one_scope(plan: Plan, count: int) -> tuple[str, list[str]]:
    """The url of a store with `count` memories of user "one", and their texts; made once a run."""
    path = plan.work / f"one-{count}.db"
    texts = sentences(count, seed=plan.seed)
    if not path.exists():
        store = SQLiteStore(path)
        scope = Scope(NAMESPACE, "one")
        made = await memories(texts, scope, f"make {count:,} memories")
        for start in over(range(0, count, BATCH), f"write {count:,} memories"):
            await store.write(Changes(scope=scope, inserts=made[start : start + BATCH]))
        await store.close()
    return f"sqlite:///{path.as_posix()}", texts


async def many_scopes(plan: Plan, scopes: int, each: int) -> tuple[str, list[str]]:
    """The url of a store with `each` memories of each of many users "0", "1", ..., and some of their texts.

    Kept between runs. The users share a stock of 50,000 texts, a hundred a user: no scope has one twice.
    """
    path = plan.kept / f"retentive-bench-{scopes}x{each}-{plan.seed}-{shared().name}.db"
    texts = sentences(min(50_000, scopes * each), seed=plan.seed)
    done = path.with_suffix(f".{_DONE}")
    if not done.exists():
        plan.kept.mkdir(parents=True, exist_ok=True)
        for old in plan.kept.glob(f"{path.name}*"):
            old.unlink()
        stock = await memories(texts, Scope(NAMESPACE), f"make {len(texts):,} memories")
        store = SQLiteStore(path)
        users = range(scopes)
        for start in over(range(0, scopes, AT_ONCE), f"write {scopes * each:,} memories"):
            await asyncio.gather(
                *(_fill_user(store, user, stock, each) for user in users[start : start + AT_ONCE])
            )
        await store.close()
        done.touch()
    return f"sqlite:///{path.as_posix()}", texts


async def _fill_user(store: SQLiteStore, user: int, stock: Sequence[StoredMemory], each: int) -> None:
    scope = Scope(NAMESPACE, str(user))
    first = user * each
    inserts: list[StoredMemory] = []
    for place in range(first, first + each):
        like = stock[place % len(stock)]
        inserts.append(replace(like, item=replace(like.item, id=new_id(), scope=scope)))
    written = await store.write(Changes(scope=scope, inserts=inserts))
    if len(set(written.inserted)) != each:
        raise StoreError(f"user {user} got fewer than {each} memories")
