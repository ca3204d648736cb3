"""Whatever is remembered and forgotten, in whatever order: no file holds the word of a forgotten memory."""

import asyncio
import tempfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retentive import Receipt, Source
from retentive.stores.base import NewTurn
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.testing.embedders import HashingEmbedder
from retentive.testing.places import Place

_steps = st.lists(
    st.tuples(
        st.sampled_from(
            ["remember", "remember", "remember", "supersede", "forget", "redact", "clear", "user"]
        ),
        st.integers(0, 5),
        st.sampled_from(["ada", "bob"]),
    ),
    min_size=3,
    max_size=20,
)


async def _live(kind: str, folder: Path, steps: list[tuple[str, int, str]]) -> None:
    place, threads = Place(kind, folder / "place"), JsonlThreadStore(folder / "threads")
    memory = place.open(embedder=HashingEmbedder())
    words: dict[str, str] = {}
    living: dict[str, list[str]] = {"ada": [], "bob": []}
    receipts: list[Receipt] = []
    for number, (verb, pick, user) in enumerate(steps):
        ids, word = living[user], f"wordlet{number:03}quixotic"
        if verb == "remember":
            turn = NewTurn(id=word, role="user", content=f"I said {word}", at=place.clock(), metadata={})
            read = await threads.append("default", user, [turn], 0)
            source = Source(thread=user, turns=(read.position,))
            item = await memory.remember(f"Item {word} here", user_id=user, source=source)
            words[item.id] = word
            ids.append(item.id)
        elif verb == "supersede" and ids:
            item = await memory.supersede(ids[pick % len(ids)], f"Now {word} here", user_id=user)
            words[item.id] = word
            ids[pick % len(ids)] = item.id
        elif verb in ("forget", "redact") and ids:
            redact = verb == "redact"
            gone = ids.pop(pick % len(ids))
            receipts.append(
                await memory.forget(
                    gone, user_id=user, redact_source=redact, threads=threads if redact else None
                )
            )
        elif verb == "clear":
            receipts.append(await memory.clear(user_id=user))
            ids.clear()
        elif verb == "user":
            receipts.append(await memory.forget_user(user, threads=threads, also=[user]))
            ids.clear()
            assert user not in await threads.threads("default")
    on_disk = place.bytes_on_disk() if place.keeps and place.folder.exists() else b""
    for receipt in receipts:
        assert bool(await memory.verify_forgotten(receipt, threads=threads)) is bool(receipt)
        for memory_id in receipt.ids:
            assert words[memory_id].encode() not in on_disk
    await place.close()
    await threads.close()


@pytest.mark.parametrize("kind", ["sqlite", "file"])
@settings(max_examples=12, deadline=None)
@given(steps=_steps)
def test_no_word_of_a_forgotten_memory_is_left_in_any_file(
    kind: str, steps: list[tuple[str, int, str]]
) -> None:
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(_live(kind, Path(folder), steps))
