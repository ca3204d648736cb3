"""Encrypted stores in use: what is on the disk, wrong keys, rotation, shredding, swapped records."""

import json
import sqlite3
from pathlib import Path

import pytest

from retentive import Memory, WrongKey, open_thread
from retentive.encryption import Encryption, FolderRing, purge
from retentive.integrity import FolderAnchor, Integrity, audit
from retentive.stores.file import FileStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.sqlite import SQLiteStore

KEY, OTHER = b"e" * 32, b"f" * 32
SECRETS = ("zanzibar", "walrus", "quicksilver", "harpsichord", "marmalade")


def encryption(folder: Path, key: bytes = KEY) -> Encryption:
    return Encryption(key=key, ring=FolderRing(folder / "ring"))


def url(folder: Path) -> str:
    return f"sqlite:///{(folder / 'store' / 'm.db').as_posix()}"


async def fill(memory: Memory) -> None:
    await memory.remember(
        "The zanzibar office closes at six.",
        tags=["walrus"],
        metadata={"code": "quicksilver"},
        key="marmalade",
    )
    item = await memory.remember("The walrus plays the harpsichord.", user_id="ann")
    await memory.update(item.id, user_id="ann", content="The walrus sold the harpsichord.")


def bytes_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()).lower()


@pytest.mark.parametrize("kind", ["sqlite", "file"])
@pytest.mark.parametrize("sealed", [True, False])
async def test_no_word_of_a_memory_is_on_the_disk_and_all_is_found(
    tmp_path: Path, kind: str, sealed: bool
) -> None:
    store = tmp_path / "store"
    store.mkdir()
    where = url(tmp_path) if kind == "sqlite" else f"file:///{store.as_posix().lstrip('/')}"
    integrity = Integrity(key=KEY, anchor=FolderAnchor(tmp_path / "anchor")) if sealed else None
    async with Memory(store=where, integrity=integrity, encryption=encryption(tmp_path)) as memory:
        await fill(memory)
        assert not [word for word in SECRETS if word.encode() in bytes_below(store)]  # with the WAL
        assert (await memory.recall("zanzibar"))[0].item.metadata == {"code": "quicksilver"}
        again = await memory.remember("The zanzibar office closes at six.", key="marmalade")
        assert again.tags == ("walrus",)
    assert not [word for word in SECRETS if word.encode() in bytes_below(store)]
    async with Memory(store=where, integrity=integrity, encryption=encryption(tmp_path)) as memory:
        assert (await memory.recall("harpsichord", user_id="ann"))[0].content.startswith("The walrus sold")


async def test_the_search_for_plain_words_would_see_them(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    async with Memory(store=url(tmp_path)) as memory:
        await fill(memory)
    assert all(word.encode() in bytes_below(tmp_path / "store") for word in SECRETS)


async def test_no_word_of_a_thread_is_on_the_disk(tmp_path: Path) -> None:
    store = JsonlThreadStore(tmp_path / "t")
    settings = encryption(tmp_path)
    thread = await open_thread("t", store=store, encryption=settings)
    await thread.append("about zanzibar", metadata={"who": "walrus"})
    assert not [word for word in SECRETS if word.encode() in bytes_below(tmp_path / "t")]
    again = await open_thread("t", store=JsonlThreadStore(tmp_path / "t"), encryption=settings)
    assert again.messages()[0].content == "about zanzibar"
    assert again.messages()[0].metadata == {"who": "walrus"}


async def test_a_wrong_key_is_told_at_open_and_nothing_is_written(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    async with Memory(store=url(tmp_path), encryption=encryption(tmp_path)) as memory:
        await fill(memory)
    before = bytes_below(tmp_path / "store")
    with pytest.raises(WrongKey, match="master key"):
        async with Memory(store=url(tmp_path), encryption=encryption(tmp_path, OTHER)):
            pass
    assert bytes_below(tmp_path / "store") == before


async def test_a_rotated_key_opens_and_the_old_one_does_not(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    for namespace in ("a", "b"):
        async with Memory(namespace, store=url(tmp_path), encryption=encryption(tmp_path)) as memory:
            await fill(memory)
    assert await encryption(tmp_path).rotate(OTHER) == 2
    assert await encryption(tmp_path).rotate(OTHER) == 0
    async with Memory("a", store=url(tmp_path), encryption=encryption(tmp_path, OTHER)) as memory:
        assert await memory.recall("zanzibar")
    with pytest.raises(WrongKey):
        async with Memory("a", store=url(tmp_path), encryption=encryption(tmp_path)):
            pass


async def test_a_shredded_namespace_is_unreadable_and_another_is_not(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    for namespace in ("a", "b"):
        async with Memory(namespace, store=url(tmp_path), encryption=encryption(tmp_path)) as memory:
            await fill(memory)
    assert await encryption(tmp_path).shred("a")
    assert not await encryption(tmp_path).shred("a")
    async with Memory("a", store=url(tmp_path), encryption=encryption(tmp_path)) as memory:
        with pytest.raises(WrongKey, match="shredded"):
            await memory.recall("zanzibar")
        with pytest.raises(WrongKey, match="shredded"):
            await memory.remember("something new")
    async with Memory("b", store=url(tmp_path), encryption=encryption(tmp_path)) as memory:
        assert await memory.recall("zanzibar")
    bare = SQLiteStore(tmp_path / "store" / "m.db")
    assert await purge(bare, "a") == 2
    await bare.close()
    async with Memory("a", store=url(tmp_path), encryption=encryption(tmp_path)) as memory:
        await memory.remember("a new life")
        assert await memory.count() == 1


async def test_records_that_trade_places_cannot_be_read(tmp_path: Path) -> None:
    (tmp_path / "store").mkdir()
    async with Memory(store=url(tmp_path), encryption=encryption(tmp_path)) as memory:
        one = await memory.remember("the boat is red")
        two = await memory.remember("the sky is blue")
    with sqlite3.connect(tmp_path / "store" / "m.db") as connection:
        ((item,),) = connection.execute("SELECT item FROM memories WHERE id = ?", (one.id,)).fetchall()
        moved = json.dumps({**json.loads(item), "id": two.id})
        connection.execute("UPDATE memories SET text_key = NULL, item = ? WHERE id = ?", (moved, two.id))
    connection.close()
    async with Memory(store=url(tmp_path), encryption=encryption(tmp_path)) as memory:
        with pytest.raises(WrongKey, match="changed or moved"):
            await memory.get(two.id)


async def test_an_auditor_who_cannot_read_finds_an_edit(tmp_path: Path) -> None:
    store, where = tmp_path / "store", (tmp_path / "store").as_uri()
    integrity = Integrity(key=KEY, anchor=FolderAnchor(tmp_path / "anchor"))
    async with Memory(store=where, integrity=integrity, encryption=encryption(tmp_path)) as memory:
        await fill(memory)
    bare, threads = FileStore(store), JsonlThreadStore(tmp_path / "t")
    assert (await audit(bare, threads, integrity)).is_clean
    path = store / "default.jsonl"
    path.write_bytes(path.read_bytes().replace(b'"semantic"', b'"episodic"'))
    kinds = [each.kind for each in (await audit(bare, threads, integrity)).checked]
    assert kinds == ["edited", "edited"]
    await bare.close()
