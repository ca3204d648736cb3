"""Sealed stores in use: keys, anchors, several processes, kills between store and anchor, moved stores."""

import asyncio
import json
import os
import sqlite3
import subprocess
import sys
from pathlib import Path

import pytest

from retentive import InvalidInput, Memory, ReadOnly, Tampered, open_thread
from retentive.cli import main
from retentive.integrity import (
    CallbackAnchor,
    EnvironmentAnchor,
    FolderAnchor,
    Head,
    InMemoryAnchor,
    Integrity,
    adopt,
    audit,
    sealed_memories,
)
from retentive.stores.base import Changes
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.sqlite import SQLiteStore
from retentive.types import Scope

KEY = b"k" * 32


def integrity(folder: Path, key: bytes = KEY) -> Integrity:
    return Integrity(key=key, anchor=FolderAnchor(folder / "anchor"))


def memory(folder: Path, key: bytes = KEY) -> Memory:
    return Memory(store=f"sqlite:///{(folder / 'm.db').as_posix()}", integrity=integrity(folder, key))


WORKER = """
import asyncio, os, sys
from pathlib import Path
from retentive import Memory, open_thread
from retentive.integrity import FolderAnchor, Integrity
from retentive.stores.base import Changes
from retentive.stores.jsonl_threads import JsonlThreadStore

folder, name, count, kill = Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]), sys.argv[4]

class Deadly(FolderAnchor):
    left = count
    async def advance(self, name, head):
        Deadly.left -= 1
        if kill == "before" and not Deadly.left:
            os._exit(9)
        kept = await super().advance(name, head)
        if kill == "after" and not Deadly.left:
            os._exit(9)
        return kept

async def main():
    settings = Integrity(key=b"k" * 32, anchor=Deadly(folder / "anchor"))
    thread = await open_thread("t", store=JsonlThreadStore(folder / "t"), integrity=settings)
    async with Memory(store=f"sqlite:///{(folder / 'm.db').as_posix()}", integrity=settings) as memory:
        for n in range(count):
            await memory.remember(f"{name} keeps parcel {n} at pier {n * 7}")
            await thread.append(f"{name} says {n}")

asyncio.run(main())
"""


def worker(folder: Path, name: str, count: int, kill: str = "never") -> "subprocess.Popen[bytes]":
    return subprocess.Popen([sys.executable, "-c", WORKER, str(folder), name, str(count), kill])


async def test_processes_with_one_key_and_anchor_write_together(tmp_path: Path) -> None:
    running = [worker(tmp_path, name, 12) for name in ("ann", "bob")]
    assert [process.wait() for process in running] == [0, 0]
    async with memory(tmp_path) as again:
        assert await again.count() == 24
    thread = await open_thread("t", store=JsonlThreadStore(tmp_path / "t"), integrity=integrity(tmp_path))
    assert len(thread) == 24


@pytest.mark.parametrize("kill", ["before", "after"])
@pytest.mark.parametrize("count", [1, 2, 3, 4])
async def test_a_kill_at_the_anchor_locks_nobody_out(tmp_path: Path, kill: str, count: int) -> None:
    assert worker(tmp_path, "ann", count, kill).wait() == 9
    async with memory(tmp_path) as again:
        assert await again.count() == (count + 1) // 2
        await again.remember("life goes on")
    thread = await open_thread("t", store=JsonlThreadStore(tmp_path / "t"), integrity=integrity(tmp_path))
    assert len(thread) == count // 2
    assert len(await thread.append("and on")) == count // 2 + 1


@pytest.mark.parametrize("gone", [True, False])
async def test_a_kill_within_a_delete_leaves_the_thread_whole_or_gone(tmp_path: Path, gone: bool) -> None:
    store, anchor = JsonlThreadStore(tmp_path / "t"), FolderAnchor(tmp_path / "anchor")
    settings = Integrity(key=KEY, anchor=anchor)
    thread = await open_thread("t", store=store, integrity=settings)
    await thread.append_many(["one", "two"])
    ((name, head),) = (await anchor.heads()).items()
    await anchor.advance(name, Head(version=head.version, mac=head.mac, going=True, label=head.label))
    if gone:
        await store.delete("default", "t")
    again = await open_thread("t", store=JsonlThreadStore(tmp_path / "t"), integrity=settings)
    assert len(again) == (0 if gone else 2)
    assert len(await again.append("three")) == (1 if gone else 3)


async def test_an_old_thread_does_not_come_back_after_it_was_deleted(tmp_path: Path) -> None:
    settings, path = integrity(tmp_path), tmp_path / "t" / "default" / "t.jsonl"
    thread = await open_thread("t", store=JsonlThreadStore(tmp_path / "t"), integrity=settings)
    await thread.append("one")
    old = path.read_bytes()
    await thread.store.delete("default", "t")
    path.write_bytes(old)
    with pytest.raises(Tampered):
        await open_thread("t", store=JsonlThreadStore(tmp_path / "t"), integrity=settings)


async def test_another_key_is_refused_and_named(tmp_path: Path) -> None:
    async with memory(tmp_path) as mine:
        await mine.remember("the boat is red")
    async with memory(tmp_path, b"x" * 32) as other:
        with pytest.raises(Tampered) as refused:
            await other.recall("boat")
        assert refused.value.kind in {"other key", "unsealed"}
        with pytest.raises(Tampered):
            await other.remember("the boat is blue")


async def test_a_lost_anchor_and_a_store_that_had_no_seal_are_refused_until_taken(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    url = f"sqlite:///{(tmp_path / 'm.db').as_posix()}"
    monkeypatch.setenv("RETENTIVE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RETENTIVE_STATE", str(tmp_path / "state"))
    async with Memory(store=url) as plain:
        await plain.remember("the boat is red")
    monkeypatch.setenv("RETENTIVE_INTEGRITY", "keyed")
    async with Memory(store=url) as sealed:
        with pytest.raises(Tampered, match="verify --seal"):
            await sealed.recall("boat")
    assert await asyncio.to_thread(main, ["verify", "--store", url]) == 5
    assert await asyncio.to_thread(main, ["verify", "--store", url, "--seal", "--json"]) == 0
    told = json.loads(capsys.readouterr().out.splitlines()[-1])
    assert (told["clean"], told["sealed"], told["checked"][0]["records"]) == (True, 1, 1)
    async with Memory(store=url) as sealed:
        assert (await sealed.recall("boat"))[0].content == "the boat is red"


async def test_an_audit_names_a_scope_that_is_gone_whole(tmp_path: Path) -> None:
    async with memory(tmp_path) as mine:
        await mine.remember("the boat is red", user_id="ann")
    (tmp_path / "m.db").unlink()
    store = SQLiteStore(tmp_path / "m.db")
    found = await audit(store, JsonlThreadStore(tmp_path / "t"), integrity(tmp_path))
    await store.close()
    assert [(each.kind, each.name) for each in found.checked] == [("missing", "ann")]


async def test_after_everything_is_forgotten_the_scope_is_gone_and_an_old_copy_is_refused(
    tmp_path: Path,
) -> None:
    async with memory(tmp_path) as mine:
        await mine.remember("the boat is red", user_id="ann")
        await mine.remember("the sky is blue")
    old = (tmp_path / "m.db").read_bytes()
    async with memory(tmp_path) as mine:
        await mine.clear(everyone=True)
        assert not await mine.scopes()
    for beside in ("m.db-wal", "m.db-shm"):
        (tmp_path / beside).unlink(missing_ok=True)
    (tmp_path / "m.db").write_bytes(old)
    async with memory(tmp_path) as mine:
        with pytest.raises(Tampered, match="older copy"):
            await mine.recall("boat", user_id="ann")


async def test_a_pinned_anchor_reads_and_refuses_to_write(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    url = f"sqlite:///{(tmp_path / 'm.db').as_posix()}"
    async with memory(tmp_path) as mine:
        await mine.remember("the boat is red")
    heads = await FolderAnchor(tmp_path / "anchor").heads()
    monkeypatch.setenv(
        "PINNED", json.dumps({name: json.loads(head.to_json()) for name, head in heads.items()})
    )
    async with Memory(store=url, integrity=Integrity(key=KEY, anchor=EnvironmentAnchor("PINNED"))) as pinned:
        assert await pinned.recall("boat")
        with pytest.raises(ReadOnly):
            await pinned.remember("the sky is blue")


async def test_a_callback_keeps_the_heads(tmp_path: Path) -> None:
    kept: dict[str, str] = {}

    async def read(name: str) -> str | None:
        return kept.get(name)

    async def replace(name: str, old: str | None, new: str) -> bool:
        if kept.get(name) != old:
            return False
        kept[name] = new
        return True

    settings = Integrity(key=KEY, anchor=CallbackAnchor(read, replace))
    async with Memory(store="memory://", integrity=settings) as mine:
        await mine.remember("the boat is red")
        await mine.remember("the sky is blue")
        assert await mine.count() == 2
    assert [json.loads(text)["version"] for text in kept.values()] == [2]


async def test_the_anchor_never_goes_back_and_survives_a_torn_write(tmp_path: Path) -> None:
    anchor = FolderAnchor(tmp_path)
    for version in (1, 2, 3):
        await anchor.advance("abcd", Head(version=version, mac="m"))
    assert (await anchor.advance("abcd", Head(version=2, mac="other"))).version == 3
    path = tmp_path / "ab" / "abcd"
    data = bytearray(path.read_bytes())
    data[20] ^= 1  # the third head stands where the first stood
    path.write_bytes(data)
    kept = await anchor.read("abcd")
    assert kept is not None
    assert kept.version == 2


@pytest.mark.skipif(os.name == "nt", reason="Windows has no such bits")
async def test_a_key_file_that_others_may_read_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "key"
    path.write_text("ab" * 32)
    path.chmod(0o644)
    with pytest.raises(InvalidInput, match="chmod 600"):
        Memory(store="memory://", integrity=Integrity(key=path))
    path.chmod(0o600)
    Memory(store="memory://", integrity=Integrity(key=path, anchor=InMemoryAnchor()))


def test_one_word_turns_it_on_with_a_key_of_its_owner_alone(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETENTIVE_STATE", str(tmp_path / "state"))
    Memory(store="memory://", integrity="keyed")
    key = tmp_path / "state" / "integrity.key"
    assert len(bytes.fromhex(key.read_text())) == 32
    if os.name != "nt":
        assert key.stat().st_mode & 0o777 == 0o600
    with pytest.raises(InvalidInput):
        Memory(store="memory://", integrity="yes")  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]


@pytest.mark.parametrize("column", ["packed", "vector"])
async def test_what_ranking_reads_is_sealed_too(tmp_path: Path, column: str) -> None:
    async with memory(tmp_path) as mine:
        await mine.remember("the boat is red")
    with sqlite3.connect(tmp_path / "m.db") as attacker:
        ((value,),) = attacker.execute(f"SELECT {column} FROM memories").fetchall()
        changed = value[:-1] + bytes([value[-1] ^ 1])
        attacker.execute(f"UPDATE memories SET {column} = ?", (changed,))
    attacker.close()
    async with memory(tmp_path) as mine:
        with pytest.raises(Tampered) as refused:
            await mine.search("boat")
    assert refused.value.kind == "edited"


async def test_a_genuine_turn_said_again_at_the_end_is_refused(tmp_path: Path) -> None:
    settings, path = integrity(tmp_path), tmp_path / "t" / "default" / "t.jsonl"
    thread = await open_thread("t", store=JsonlThreadStore(tmp_path / "t"), integrity=settings)
    for text in ("pay", "wait", "thanks"):
        await thread.append(text)
    again = {**json.loads(path.read_text().splitlines()[0]), "seq": 4}
    with path.open("a") as attacker:
        attacker.write(json.dumps(again) + "\n")
    with pytest.raises(Tampered, match="turn 4 repeats turn 1"):
        await open_thread("t", store=JsonlThreadStore(tmp_path / "t"), integrity=settings)


async def test_an_edit_under_a_running_process_is_not_handed_out(tmp_path: Path) -> None:
    async with memory(tmp_path) as mine:
        item = await mine.remember("the boat is red")
        assert await mine.recall("boat")
        with sqlite3.connect(tmp_path / "m.db") as attacker:
            attacker.execute("UPDATE memories SET item = replace(item, 'red', 'new')")
        attacker.close()
        with pytest.raises(Tampered) as refused:
            await mine.recall("boat")
        assert refused.value.record == item.id


async def test_notes_are_sealed(tmp_path: Path) -> None:
    store = sealed_memories(SQLiteStore(tmp_path / "m.db"), integrity(tmp_path))
    scope = Scope("acme")
    await store.write(Changes(scope=scope, notes={"watermark": b"7"}))
    with sqlite3.connect(tmp_path / "m.db") as attacker:
        attacker.execute("UPDATE notes SET value = ? WHERE name = 'watermark'", (b"1",))
    attacker.close()
    with pytest.raises(Tampered):
        await store.notes(scope)
    await store.close()


async def test_threads_without_a_seal_are_taken_as_found_and_held_from_then_on(tmp_path: Path) -> None:
    settings, path = integrity(tmp_path), tmp_path / "t" / "default" / "t.jsonl"
    plain = await open_thread("t", store=JsonlThreadStore(tmp_path / "t"))
    await plain.append_many(["one", "two"])
    store, logs = SQLiteStore(tmp_path / "m.db"), JsonlThreadStore(tmp_path / "t")
    with pytest.raises(Tampered, match="verify --seal"):
        await open_thread("t", store=logs, integrity=settings)
    assert await adopt(store, logs, settings) == 2
    thread = await open_thread("t", store=logs, integrity=settings)
    await thread.append("three")
    assert (await audit(store, logs, settings)).is_clean
    path.write_text(path.read_text().replace("two", "six"))
    with pytest.raises(Tampered):
        await open_thread("t", store=JsonlThreadStore(tmp_path / "t"), integrity=settings)
    await store.close()


async def test_a_link_is_sealed_and_may_only_go_with_what_it_names(tmp_path: Path) -> None:
    async with memory(tmp_path) as mine:
        first = await mine.remember("The limit is 250 euros.")
        second = await mine.remember("The limit is 300 euros.")
        assert second.near == first.id
    cut = "UPDATE memories SET near = NULL, item = json_remove(item, '$.near') WHERE id = ?"
    with sqlite3.connect(tmp_path / "m.db") as attacker:
        attacker.execute(cut, (second.id,))
    attacker.close()
    async with memory(tmp_path) as mine:
        with pytest.raises(Tampered, match="its link was changed"):
            await mine.get(second.id)


async def test_forgetting_what_a_link_names_is_no_damage(tmp_path: Path) -> None:
    async with memory(tmp_path) as mine:
        first = await mine.remember("The limit is 250 euros.")
        second = await mine.remember("The limit is 300 euros.")
        await mine.forget(first.id)
    async with memory(tmp_path) as mine:
        found = await mine.get(second.id)
        assert found is not None
        assert found.near is None
