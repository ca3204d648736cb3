"""Files that a newer Retentive wrote are refused, by name, and left as they are."""

import json
import re
from datetime import UTC, datetime
from pathlib import Path

import pytest

from retentive import Memory
from retentive.errors import SchemaTooNew
from retentive.stores.base import Changes, NewTurn
from retentive.stores.file import FileStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.schema import SCHEMA, check_schema, schema_of
from retentive.testing.memory_model import make_memory
from retentive.types import Scope

ANN = Scope("acme", "ann")
NEWER = b'{"schema":2}\n'
NOW = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.mark.parametrize(
    ("head", "schema"),
    [
        (b"", 1),
        (b'{"id":"a","namespace":"acme"}\n', 1),
        (b'{"redactions":3}\n', 1),
        (b'{"schema":2}\n', 2),
        (b'{ "schema" : 3, "redactions": 1}', 3),
        (b'{"schema":123456789}', 123456789),
        (b'{"schema":"x"}', 1),
        (b'\n{"id":1}\n{"schema":2}', 1),
    ],
)
def test_the_schema_of_a_file_is_told_by_its_first_line(head: bytes, schema: int) -> None:
    assert schema_of(head) == schema


def test_the_newest_known_schema_is_read() -> None:
    check_schema(Path("x"), b'{"schema":%d}' % SCHEMA)


async def test_a_newer_journal_is_neither_read_nor_written(tmp_path: Path) -> None:
    file = tmp_path / "acme.jsonl"
    file.write_bytes(NEWER + b'{"what":"it holds is not known"}\n')
    before = file.read_bytes()
    store = FileStore(tmp_path)
    refused = pytest.raises(SchemaTooNew, match=re.escape(str(file)) + ".*version 2.*upgrade")
    with refused:
        await store.get(ANN, ["a"])
    with refused:
        await store.scan(ANN, 0)
    with refused:
        await store.scopes("acme")
    with refused:
        await store.write(Changes(scope=ANN, inserts=[make_memory(ANN, "a")]))
    with refused:
        await store.write(Changes(scope=ANN, deletes=["a"]))
    await store.close()
    assert file.read_bytes() == before


async def test_a_journal_that_becomes_newer_while_it_is_open_is_refused(tmp_path: Path) -> None:
    store = FileStore(tmp_path)
    await store.write(Changes(scope=ANN, inserts=[make_memory(ANN, "a")]))
    file = tmp_path / "acme.jsonl"
    anew = tmp_path / "anew"
    anew.write_bytes(NEWER + file.read_bytes())
    anew.replace(file)
    with pytest.raises(SchemaTooNew):
        await store.get(ANN, ["a"])
    with pytest.raises(SchemaTooNew):
        await store.write(Changes(scope=ANN, inserts=[make_memory(ANN, "b")]))
    assert file.read_bytes().startswith(NEWER)
    await store.close()


@pytest.mark.parametrize("several", [False, True])
async def test_a_field_that_is_not_known_is_never_lost(tmp_path: Path, several: bool) -> None:
    store = FileStore(tmp_path)
    ids = ("a", "b") if several else ("a",)
    await store.write(Changes(scope=ANN, inserts=[make_memory(ANN, id) for id in ids]))
    await store.close()
    file = tmp_path / "acme.jsonl"
    said = json.loads(file.read_bytes())
    (said["memories"][1] if several else said)["mood"] = "glad"
    file.write_text(json.dumps(said) + "\n", encoding="utf-8")
    before = file.read_bytes()
    store = FileStore(tmp_path)
    with pytest.raises(SchemaTooNew, match=r"line 1: .*'mood'.*upgrade"):
        await store.get(ANN, ["a"])
    with pytest.raises(SchemaTooNew):
        await store.write(Changes(scope=ANN, deletes=["a"]))
    assert file.read_bytes() == before
    await store.close()


async def test_a_memory_in_a_newer_file_store_refuses_every_verb(tmp_path: Path) -> None:
    (tmp_path / "acme.jsonl").write_bytes(NEWER)
    async with Memory("acme", store=FileStore(tmp_path)) as memory:
        with pytest.raises(SchemaTooNew):
            await memory.recall("tea")
        with pytest.raises(SchemaTooNew):
            await memory.remember("Ann likes tea.")
        with pytest.raises(SchemaTooNew):
            await memory.clear(user_id=None)
    assert (tmp_path / "acme.jsonl").read_bytes() == NEWER


async def test_a_newer_thread_is_neither_read_nor_written(tmp_path: Path) -> None:
    store = JsonlThreadStore(tmp_path)
    turn = NewTurn(id="t1", role="user", content="one", at=NOW)
    await store.append("acme", "talk", [turn], 0)
    file = tmp_path / "acme" / "talk.jsonl"
    before = b'{"schema":2,"redactions":1}\n' + file.read_bytes()
    file.write_bytes(before)
    refused = pytest.raises(SchemaTooNew, match=re.escape(str(file)) + ".*version 2.*upgrade")
    for opened in (store, JsonlThreadStore(tmp_path)):
        with refused:
            await opened.turns("acme", "talk")
        with refused:
            await opened.turns("acme", "talk", 1)
        with refused:
            await opened.append("acme", "talk", [turn], 0)
        with refused:
            await opened.redact("acme", "talk", [1], NOW)
    assert file.read_bytes() == before
    assert await store.delete("acme", "talk")  # whoever wants it gone need not read it
