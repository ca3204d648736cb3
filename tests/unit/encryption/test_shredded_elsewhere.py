"""A process that has a namespace open when another shreds its key never writes with the old one."""

from pathlib import Path

import pytest

from retentive import Memory, WrongKey, open_thread
from retentive.encryption import EncryptedThreadStore, Encryption, FolderRing, purge
from retentive.stores.base import Changes, Written
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.sqlite import SQLiteStore

KEY = b"k" * 32


def encryption(folder: Path) -> Encryption:
    return Encryption(key=KEY, ring=FolderRing(folder / "ring"))


def opened(folder: Path) -> Memory:
    return Memory("acme", store=SQLiteStore(folder / "m.db"), encryption=encryption(folder))


async def start_anew(folder: Path) -> None:
    """Shred and purge, as another process does."""
    await encryption(folder).shred("acme")
    bare = SQLiteStore(folder / "m.db")
    await bare.open()
    await purge(bare, "acme")
    await bare.close()


async def test_what_is_acknowledged_after_a_new_start_can_be_read_by_all(tmp_path: Path) -> None:
    long_open = opened(tmp_path)
    await long_open.remember("The margin is 12 percent.", user_id="ann")
    await start_anew(tmp_path)
    other = opened(tmp_path)
    await other.remember("A new life begins.", user_id="ann")
    await long_open.remember("The price is 9 euros.", user_id="bob")
    for memory in (other, long_open):
        assert [item.content for item in await memory.list(user_id="bob")] == ["The price is 9 euros."]
        assert [item.content for item in await memory.list(user_id="ann")] == ["A new life begins."]
    await long_open.close()
    await other.close()


async def test_a_shredded_namespace_is_refused_at_once_to_who_has_it_open(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    item = await memory.remember("The margin is 12 percent.")
    await encryption(tmp_path).shred("acme")
    with pytest.raises(WrongKey):
        await memory.get(item.id)
    with pytest.raises(WrongKey):
        await memory.remember("The price is 9 euros.")
    await memory.close()


async def test_a_write_during_which_the_key_is_shredded_is_not_acknowledged(tmp_path: Path) -> None:
    store = SQLiteStore(tmp_path / "m.db")
    memory = Memory("acme", store=store, encryption=encryption(tmp_path))
    await memory.remember("The margin is 12 percent.")
    write = store.write

    async def shredding(changes: Changes) -> Written:
        written = await write(changes)
        await encryption(tmp_path).shred("acme")
        await encryption(tmp_path).make_keys("acme")
        return written

    store.write = shredding  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(WrongKey, match="shredded during this write"):
        await memory.remember("The price is 9 euros.")
    await memory.close()


async def test_a_thread_that_was_open_goes_on_with_the_new_key(tmp_path: Path) -> None:
    def store() -> EncryptedThreadStore:
        return EncryptedThreadStore(JsonlThreadStore(tmp_path / "threads"), encryption(tmp_path))

    first, second = store(), store()
    old = await open_thread("old", "acme", store=first)
    await old.append("My invoice is wrong.")
    await encryption(tmp_path).shred("acme")
    with pytest.raises(WrongKey):
        await old.append("It still is.")
    assert await first.delete("acme", "old")
    await (await open_thread("new", "acme", store=second)).append("A new life begins.")
    await (await open_thread("more", "acme", store=first)).append("And goes on.")
    again = await open_thread("more", "acme", store=second)
    assert [turn.content for turn in again.messages()] == ["And goes on."]


async def test_what_nobody_can_read_any_more_can_be_cleared(tmp_path: Path) -> None:
    memory = opened(tmp_path)
    await memory.remember("The margin is 12 percent.", user_id="ann")
    await memory.remember("The price is 9 euros.", user_id="ann")
    await encryption(tmp_path).shred("acme")
    receipt = await memory.clear(user_id="ann")
    assert receipt.removed["rows"] == 2
    assert await memory.scopes() == []
    await memory.remember("A new life begins.", user_id="ann")
    assert await memory.count(user_id="ann") == 1
    await memory.close()
