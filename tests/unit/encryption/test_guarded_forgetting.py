"""Forgetting in sealed and encrypted stores: the bytes that lay there go, and the verdict looks for them."""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from retentive import Memory, NewMemory, Source, open_thread
from retentive.audit import AuditLog
from retentive.encryption import Encryption, FolderRing
from retentive.integrity import FolderAnchor, Integrity, audit
from retentive.life.batch import Batch
from retentive.life.removal import ERASING
from retentive.stores.base import KeepsFiles
from retentive.stores.file import FileStore
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.sqlite import SQLiteStore
from retentive.stores.wrapped import bare_memories
from retentive.types import Scope

SAID = "The vault opens with quixotic-marmalade-4711."
MARKER = b"marmalade"
WAYS = ("sealed", "encrypted", "both")
KINDS = ("sqlite", "file")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETENTIVE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RETENTIVE_STATE", str(tmp_path / "state"))


def guards(folder: Path, way: str) -> dict[str, Any]:
    keyed = Integrity(key=b"k" * 32, anchor=FolderAnchor(folder / "anchor"))
    secret = Encryption(key=b"k" * 32, ring=FolderRing(folder / "ring"))
    wanted = {"sealed": {"integrity": keyed}, "encrypted": {"encryption": secret}}
    return wanted.get(way) or {"integrity": keyed, "encryption": secret}


def store_of(kind: str, folder: Path) -> Any:
    (folder / "store").mkdir(exist_ok=True)
    return SQLiteStore(folder / "store" / "m.db") if kind == "sqlite" else FileStore(folder / "store")


def disk(*folders: Path) -> bytes:
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    return b"".join(path.read_bytes() for path in files)


async def stored_bytes(store: Any, scope: Scope, ids: Sequence[str]) -> list[bytes]:
    """What the store below keeps of these memories, as far as it says nothing of others."""
    kept = [one for one in await bare_memories(store).get(scope, ids) if one is not None]
    assert len(kept) == len(ids)
    return [one.item.content[40:80].encode() for one in kept] + [
        one.vector[30:60] for one in kept if one.vector is not None
    ]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
async def test_what_lay_there_is_gone_and_the_verdict_says_what_it_looked_for(
    tmp_path: Path, kind: str, way: str
) -> None:
    store, given = store_of(kind, tmp_path), guards(tmp_path, way)
    memory = Memory(store=store, **given)
    thread = await open_thread("t", **given)
    for who, said in (("ada", SAID), ("bob", "Bob rows.")):
        await thread.append(said, metadata={"user_id": who})
    item = await memory.remember(SAID, user_id="ada", source=Source(thread="t", turns=(1,)))
    newer = await memory.update(item.id, user_id="ada", content=SAID + " Still.")
    await memory.remember("Bob rows the boat.", user_id="bob")
    await memory.apply(Batch(notes={"exchange/r": SAID.encode()}), user_id="ada")
    (log,) = (tmp_path / "home").rglob("*.jsonl")
    spoken = json.loads(log.read_text().splitlines()[0])["content"][-30:].encode()
    kept = await stored_bytes(store, Scope("default", "ada"), [newer.id])
    note = (await store.notes(Scope("default", "ada")))["exchange/r"]
    receipt = await memory.forget_user("ada")
    assert receipt.turns == {"default/t": (1,)}
    assert receipt.removed["notes"] == 1
    verdict = await memory.verify_forgotten(receipt)
    assert verdict, verdict
    assert verdict.complete
    assert verdict.encrypted is (way != "sealed")
    places = {checked.place.split()[0] for checked in verdict.checked}
    assert places >= {"rows", "index", "links", "notes", "thread", "file"}
    left = disk(tmp_path / "store", tmp_path / "home")
    assert not [piece for piece in [*kept, note, spoken] if piece in left]
    if way != "sealed":
        assert MARKER not in left
    assert not await memory.forget_user("ada")
    assert ERASING not in await memory.notes("", user_id="ada")
    if way != "encrypted":
        found = await audit(store, JsonlThreadStore(tmp_path / "home" / "threads"), given["integrity"])
        assert found.is_clean, found.checked
    await memory.close()
    await store.close()
    assert not [piece for piece in [*kept, note, spoken] if piece in disk(tmp_path / "store")]


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
async def test_a_copy_of_what_lay_there_is_found(tmp_path: Path, kind: str, way: str) -> None:
    """Also where only who has the key could read it."""
    store = store_of(kind, tmp_path)
    memory = Memory(store=store, **guards(tmp_path, way))
    await memory.remember("The cat sleeps on the piano.", user_id="ada")
    item = await memory.remember(SAID, user_id="ada")
    kept = [one for one in await bare_memories(store).get(Scope("default", "ada"), [item.id]) if one]
    receipt = await memory.forget(item.id, user_id="ada")
    assert await memory.verify_forgotten(receipt)
    aside = tmp_path / "store" / ("m.db.v1.bak" if kind == "sqlite" else "default.jsonl.torn-1")
    aside.write_bytes(b"-" * 1_000_003 + kept[0].item.content.encode() + b"-" * 77)
    verdict = await memory.verify_forgotten(receipt)
    assert [found.split(": ")[0] for found in verdict.found] == [f"file {aside}"]
    aside.unlink()
    assert await memory.verify_forgotten(receipt)
    await store.close()


@pytest.mark.parametrize("way", WAYS)
async def test_a_copy_of_what_was_said_in_a_guarded_thread_is_found(tmp_path: Path, way: str) -> None:
    given = guards(tmp_path, way)
    memory = Memory(store="memory://", **given)
    await (await open_thread("t", **given)).append(SAID, metadata={"user_id": "ada"})
    (log,) = (tmp_path / "home").rglob("*.jsonl")
    old = log.read_bytes()
    receipt = await memory.forget_user("ada")
    verdict = await memory.verify_forgotten(receipt)
    assert verdict, verdict
    (log.parent / "t.jsonl.torn-1").write_bytes(old)
    assert not await memory.verify_forgotten(receipt)


async def test_forgetting_many_of_several_users_leaves_the_others_words(tmp_path: Path) -> None:
    store = store_of("sqlite", tmp_path)
    memory = Memory(store=store, **guards(tmp_path, "both"))
    for who in ("ada", "bob"):
        texts = [NewMemory(content=f"{who} keeps parcel {n} at pier {n * 7}") for n in range(60)]
        await memory.remember_many(texts, user_id=who)
    receipt = await memory.clear(user_id="ada")
    assert len(receipt.ids) == 60
    verdict = await memory.verify_forgotten(receipt)
    assert verdict, verdict
    assert await memory.count(user_id="bob") == 60
    await store.close()


@pytest.mark.parametrize("guarded", [True, False])
async def test_an_audited_store_keeps_the_powers_of_the_one_it_wraps(tmp_path: Path, guarded: bool) -> None:
    store = store_of("sqlite", tmp_path)
    log = AuditLog(tmp_path / "audit.jsonl", strict=True)
    memory = Memory(store=store, audit=log, **(guards(tmp_path, "both") if guarded else {}))
    item = await memory.remember(SAID)
    verdict = await memory.verify_forgotten(await memory.forget(item.id))
    assert verdict, verdict
    assert "file" in {checked.place.split()[0] for checked in verdict.checked}
    await store.close()


async def test_a_verdict_that_could_not_look_everywhere_is_no_proof() -> None:
    class Silent(InMemoryStore):
        """It keeps files, and does not say which."""

        @property
        def url(self) -> str:
            return "silent://"

    assert not isinstance(Silent(), KeepsFiles)
    memory = Memory(store=Silent())
    item = await memory.remember(SAID)
    verdict = await memory.verify_forgotten(await memory.forget(item.id))
    assert (verdict.found, verdict.complete, bool(verdict)) == ((), False, False)
    assert "does not say" in verdict.skipped[0]


async def test_a_receipt_of_nothing_proves_nothing() -> None:
    """Whoever mistypes a user's name is not told that the user is forgotten."""
    memory = Memory(store="memory://")
    await memory.remember(SAID, user_id="ada")
    verdict = await memory.verify_forgotten(await memory.forget_user("adaa"))
    assert (verdict.found, verdict.complete, bool(verdict)) == ((), False, False)


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("kind", KINDS)
async def test_what_another_says_in_the_same_words_is_not_found(tmp_path: Path, kind: str, way: str) -> None:
    store = store_of(kind, tmp_path)
    memory = Memory(store=store, **guards(tmp_path, way))
    item = await memory.remember(SAID, user_id="ada")
    await memory.remember(SAID, user_id="bob")
    verdict = await memory.verify_forgotten(await memory.forget(item.id, user_id="ada"))
    assert verdict, verdict
    assert [hit.content for hit in await memory.recall("vault", user_id="bob")] == [SAID]
    await store.close()
