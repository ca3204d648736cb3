"""What the file store promises beyond the laws of every store."""

import json
import logging
from base64 import b64encode
from pathlib import Path

import pytest

from retentive.errors import StoreUnavailable
from retentive.stores import log_file
from retentive.stores.base import Changes
from retentive.stores.file import FileStore
from retentive.testing.memory_model import make_memory
from retentive.types import Scope

ANN = Scope("acme", "ann")


async def insert(store: FileStore, *ids: str, scope: Scope = ANN) -> None:
    await store.write(Changes(scope=scope, inserts=[make_memory(scope, id) for id in ids]))


def bytes_in(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.iterdir())


def names_in(folder: Path) -> set[str]:
    return {path.name for path in folder.iterdir()}


async def ids_in(store: FileStore, scope: Scope = ANN) -> list[str]:
    return [row.id for row in (await store.scan(scope, 0)).rows]


async def test_a_line_is_readable_and_begins_with_the_memory(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    memory = make_memory(ANN, "a", content="Ann likes \u8336", text_key=b"t", key="k", vector=b"1234")
    await store.write(Changes(scope=ANN, inserts=[memory]))
    (line,) = (tmp_path / "acme.jsonl").read_text(encoding="utf-8").splitlines()
    assert line.startswith(
        '{"id":"a","namespace":"acme","user_id":"ann","kind":"semantic","content":"Ann likes \u8336"'
    )
    assert list(json.loads(line))[-4:] == ["key", "text_key", "packed", "vector"]
    await store.close()


async def test_one_change_is_one_line(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await insert(store, "a", "b", "c")
    await insert(store, "d")
    assert (tmp_path / "acme.jsonl").read_bytes().count(b"\n") == 2
    await store.close()


async def test_a_line_with_notes_names_the_scope_and_is_one_line(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    memories = [make_memory(ANN, id) for id in "ab"]
    await store.write(Changes(scope=ANN, inserts=memories, notes={"n": b"\x00\xff", "gone": None}))
    await store.write(Changes(scope=Scope("acme"), notes={"m": b""}))
    both, note = map(json.loads, (tmp_path / "acme.jsonl").read_bytes().splitlines())
    assert list(both) == ["namespace", "user_id", "memories", "notes"]
    assert (both["user_id"], len(both["memories"]), both["notes"]) == ("ann", 2, {"n": "AP8="})
    assert note == {"namespace": "acme", "user_id": None, "notes": {"m": ""}}
    await store.close()


async def test_a_note_that_stays_the_same_adds_nothing(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await store.write(Changes(scope=ANN, notes={"n": b"1"}))
    before = (tmp_path / "acme.jsonl").stat()
    await store.write(Changes(scope=ANN, notes={"n": b"1", "m": None}, expected={"n": b"1"}))
    after = (tmp_path / "acme.jsonl").stat()
    assert (after.st_ino, after.st_size) == (before.st_ino, before.st_size)
    await store.close()


async def test_nothing_of_a_removed_or_replaced_note_stays_on_disk(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await insert(store, "a")
    await store.write(Changes(scope=ANN, notes={"secretname": b"UNSPOKEN1", "kept": b"KEPT"}))
    await store.write(Changes(scope=ANN, notes={"secretname": b"UNSPOKEN2"}))
    assert b64encode(b"UNSPOKEN1") not in bytes_in(tmp_path)
    assert b64encode(b"UNSPOKEN2") in bytes_in(tmp_path)
    await store.write(Changes(scope=ANN, notes={"secretname": None}))
    assert b64encode(b"UNSPOKEN2") not in bytes_in(tmp_path)
    assert b"secretname" not in bytes_in(tmp_path)
    assert await FileStore(tmp_path).notes(ANN) == {"kept": b"KEPT"}
    await store.write(Changes(scope=ANN, deletes=["a"], notes={"kept": None}))
    assert not (tmp_path / "acme.jsonl").exists()
    await store.close()


@pytest.mark.parametrize("torn", [b'{"id":"x","namesp', b"\x00\x00", b'{"memories":[{"id":"b"}]}'])
async def test_a_torn_tail_is_moved_aside_and_reported(
    torn: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = FileStore(tmp_path)
    await insert(store, "a")
    journal = tmp_path / "acme.jsonl"
    with journal.open("ab") as file:
        file.write(torn)
    assert await ids_in(store) == ["a"]
    assert journal.read_bytes().endswith(torn)
    with caplog.at_level(logging.WARNING):
        await insert(store, "b")
    assert "acme.jsonl.torn-1" in caplog.text
    assert (tmp_path / "acme.jsonl.torn-1").read_bytes() == torn
    assert await ids_in(store) == await ids_in(FileStore(tmp_path)) == ["a", "b"]
    await store.close()


async def test_a_whole_last_line_without_its_end_is_kept(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await insert(store, "a")
    await insert(store, "b")
    journal = tmp_path / "acme.jsonl"
    journal.write_bytes(journal.read_bytes()[:-1])
    await insert(store, "c")
    assert await ids_in(store) == await ids_in(FileStore(tmp_path)) == ["a", "b", "c"]
    await store.close()


@pytest.mark.parametrize(
    "bad",
    [
        b"not json",
        b"[]",
        b"7",
        b'{"id":"b"}',
        b"\xff\xfe",
        b'{"memories":[null]}',
        b'{"memories":[]}',
        b'{"notes":{"n":"AA=="}}',
        b'{"namespace":"acme","user_id":null,"notes":[]}',
        b'{"namespace":"acme","user_id":null,"notes":{"n":"?"}}',
        b'{"namespace":"acme","user_id":null,"notes":{"n":7}}',
        b'{"namespace":"acme","user_id":null,"notes":{"":"AA=="}}',
        b'{"namespace":"acme","user_id":7,"notes":{"n":"AA=="}}',
    ],
)
async def test_a_bad_line_costs_that_line_only_and_stays_reported(
    bad: bytes, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    store = FileStore(tmp_path)
    for id in "abc":
        await insert(store, id)
    journal = tmp_path / "acme.jsonl"
    lines = journal.read_bytes().splitlines(keepends=True)
    journal.write_bytes(lines[0] + bad + b"\n" + lines[2])
    with caplog.at_level(logging.WARNING):
        assert await ids_in(store) == ["a", "c"]
    assert "acme.jsonl line 2" in caplog.text
    await store.write(Changes(scope=ANN, deletes=["a"]))
    for reader in (store, FileStore(tmp_path)):
        assert await ids_in(reader) == ["c"]
        (damage,) = await reader.damage("acme")
        assert damage.kept_at == str(journal)
        assert journal.read_bytes().splitlines()[damage.line - 1] == bad
        await reader.close()


async def test_a_line_of_another_namespace_is_not_let_in(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await insert(store, "a", scope=Scope("zeta"))
    (tmp_path / "acme.jsonl").write_bytes((tmp_path / "zeta.jsonl").read_bytes())
    assert await store.scopes("acme") == []
    assert await ids_in(store, Scope("zeta")) == ["a"]
    assert len(await store.damage("acme")) == 1
    await store.close()


async def test_an_empty_file_is_an_empty_store(tmp_path: Path) -> None:
    (tmp_path / "acme.jsonl").touch()
    store = FileStore(tmp_path)
    assert (await ids_in(store), await store.namespaces()) == ([], [])
    await insert(store, "a")
    assert (await ids_in(store), await store.namespaces()) == (["a"], ["acme"])
    await store.close()


async def test_nothing_of_a_deleted_or_replaced_text_stays_on_disk(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await store.write(
        Changes(scope=ANN, inserts=[make_memory(ANN, id, content=f"word-{id}") for id in "abc"])
    )
    await store.write(
        Changes(scope=ANN, deletes=["a"], updates=[make_memory(ANN, "b", content="new", version=1)])
    )
    on_disk = bytes_in(tmp_path)
    assert [word in on_disk for word in (b"word-a", b"word-b", b"word-c", b"new")] == [
        False,
        False,
        True,
        True,
    ]
    await store.write(Changes(scope=ANN, deletes=["b", "c"]))
    assert not (tmp_path / "acme.jsonl").exists()
    await insert(store, "d")
    assert await ids_in(store) == ["d"]
    await store.close()


async def test_what_others_append_rewrite_or_remove_is_noticed(tmp_path: Path) -> None:
    one, other = FileStore(tmp_path), FileStore(tmp_path)
    await insert(one, "a", "b")
    assert await ids_in(other) == ["a", "b"]
    await insert(one, "c")
    assert await ids_in(other) == ["a", "b", "c"]
    await one.write(Changes(scope=ANN, deletes=["a"]))
    assert await ids_in(other) == ["b", "c"]
    await insert(other, "d")
    assert await ids_in(one) == ["b", "c", "d"]
    position = (await one.scan(ANN, 0)).position
    (tmp_path / "acme.jsonl").unlink()
    scan = await one.scan(ANN, position)
    assert (scan.reset, list(scan.rows)) == (True, [])
    await one.close()
    await other.close()


async def test_an_edit_by_hand_is_noticed(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await insert(store, "a", "b")
    position = (await store.scan(ANN, 0)).position
    journal = tmp_path / "acme.jsonl"
    journal.write_bytes(journal.read_bytes().replace(b"a says 0", b"a was edited"))
    assert (await store.scan(ANN, position)).reset
    found = (await store.get(ANN, ["a"]))[0]
    assert found is not None
    assert found.item.content == "a was edited"
    await store.close()


async def test_a_disk_that_refuses_leaves_all_as_it_was(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object) -> None:
        raise OSError(28, "No space left on device")

    store = FileStore(tmp_path)
    await insert(store, "a")
    before = (tmp_path / "acme.jsonl").read_bytes()
    for changes in (
        Changes(scope=ANN, inserts=[make_memory(ANN, "b")]),
        Changes(scope=ANN, deletes=["a"]),
    ):
        with monkeypatch.context() as patch:
            patch.setattr(log_file.os, "fsync", refuse)
            with pytest.raises(StoreUnavailable, match="No space left"):
                await store.write(changes)
        assert (tmp_path / "acme.jsonl").read_bytes() == before
        assert await ids_in(store) == ["a"]
    await insert(store, "c")
    assert await ids_in(store) == await ids_in(FileStore(tmp_path)) == ["a", "c"]
    assert names_in(tmp_path) == {"acme.jsonl", "acme.jsonl.lock"}
    await store.close()


async def test_a_file_marked_read_only_is_not_written(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await insert(store, "a")
    (tmp_path / "acme.jsonl").chmod(0o444)
    for changes in (Changes(scope=ANN, inserts=[make_memory(ANN, "b")]), Changes(scope=ANN, deletes=["a"])):
        with pytest.raises(StoreUnavailable):
            await store.write(changes)
    assert await ids_in(store) == ["a"]
    (tmp_path / "acme.jsonl").chmod(0o644)
    await store.close()


async def test_a_folder_that_cannot_be_is_unavailable(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    store = FileStore(tmp_path / "file" / "folder")
    with pytest.raises(StoreUnavailable):
        await store.open()
    with pytest.raises(StoreUnavailable):
        await insert(store, "a")
    await store.close()
