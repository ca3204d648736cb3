"""One rule for every way to a store: what a Memory, a command or an agent opens is guarded as it was told."""

import asyncio
import io
import json
import sys
from pathlib import Path
from typing import Any

import pytest

from retentive import InvalidInput, Memory, Source, Tampered, WrongKey, open_thread, sync
from retentive.cli import main
from retentive.encryption import EncryptedMemoryStore, EncryptedThreadStore, Encryption, FolderRing
from retentive.extraction import Extraction, VerbatimExtractor
from retentive.guards import Guards, guards_of
from retentive.integrity import FolderAnchor, Integrity, SealedThreadStore
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.wrapped import layers
from retentive.types import REDACTED

KEY = b"k" * 32
SECRET = b"marmalade"
SAID = "The vault opens with marmalade."
WAYS = {
    "sealed": {"RETENTIVE_INTEGRITY": "keyed"},
    "encrypted": {"RETENTIVE_ENCRYPTION": "keyed"},
    "both": {"RETENTIVE_INTEGRITY": "keyed", "RETENTIVE_ENCRYPTION": "keyed"},
}


@pytest.fixture(autouse=True)
def places(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETENTIVE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RETENTIVE_STATE", str(tmp_path / "state"))
    for name in ("RETENTIVE_INTEGRITY", "RETENTIVE_ENCRYPTION", "RETENTIVE_URL"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture(params=WAYS)
def way(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in WAYS[request.param].items():
        monkeypatch.setenv(name, value)
    return request.param


def options(folder: Path, way: str) -> dict[str, Any]:
    keyed = Integrity(key=KEY, anchor=FolderAnchor(folder / "anchor"))
    secret = Encryption(key=KEY, ring=FolderRing(folder / "ring"))
    wanted = {"sealed": {"integrity": keyed}, "encrypted": {"encryption": secret}}
    return wanted.get(way) or {"integrity": keyed, "encryption": secret}


def plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RETENTIVE_INTEGRITY", raising=False)
    monkeypatch.delenv("RETENTIVE_ENCRYPTION", raising=False)


def bytes_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


class Shell:
    """The command line, run in this process."""

    def __init__(self, capsys: pytest.CaptureFixture[str]) -> None:
        self._capsys = capsys

    def __call__(self, *words: str, code: int = 0) -> dict[str, Any]:
        self._capsys.readouterr()
        given = main([*words, "--json"])
        out = self._capsys.readouterr()
        assert given == code, (words, given, out)
        return json.loads(out.out or out.err)


@pytest.fixture
def shell(capsys: pytest.CaptureFixture[str]) -> Shell:
    return Shell(capsys)


def test_every_command_reads_and_writes_what_the_others_wrote(shell: Shell, way: str, tmp_path: Path) -> None:
    home = tmp_path / "home"
    shell("append", "t", SAID, "--metadata", '{"user_id": "ada"}')
    shell("append", "t", "And Bob rows.", "--metadata", '{"user_id": "bob"}')
    shell("remember", "The boat is red.", "--user", "ada")
    assert (SECRET in bytes_below(home)) is (way == "sealed")
    assert [turn["content"] for turn in shell("show", "t")["turns"]] == [SAID, "And Bob rows."]
    assert shell("threads")["threads"][0]["latest"]["content"] == "And Bob rows."
    assert shell("extract", "--verbatim", "--thread", "t", "--user", "ada")["turns"] == 1
    assert shell("recall", "vault", "--user", "ada")["hits"]
    archive = str(tmp_path / "all.zip")
    assert shell("export", archive)["turns"] == 2
    assert shell("import", archive, "--namespace", "other")["turns"] == 2
    assert shell("show", "t", "--namespace", "other")["turns"][0]["metadata"] == {"user_id": "ada"}
    if way != "encrypted":
        assert shell("verify")["clean"]
    done = shell("forget-user", "ada", "--yes", "--verify")
    assert done["turns"] == {"default/t": [1]}
    assert done["verdict"]["forgotten"] is True
    assert done["verdict"]["encrypted"] is (way != "sealed")
    assert [turn["content"] for turn in shell("show", "t")["turns"]] == [REDACTED, "And Bob rows."]
    shell("append", "t", "Life goes on.")
    if way != "encrypted":
        assert shell("verify")["clean"]
    shell("forget-user", "ada", "--namespace", "other", "--yes", "--verify")
    assert SECRET not in bytes_below(home)


def test_forgetting_with_its_source_through_the_command_is_no_tampering(
    shell: Shell, way: str, tmp_path: Path
) -> None:
    with sync.Memory() as memory:
        sync.open_thread("t").append(SAID)
        item = memory.remember(SAID, source=Source(thread="t", turns=(1,)))
    done = shell("forget", item.id, "--redact-source", "--verify")
    assert (done["turns"], done["verdict"]["found"]) == ({"default/t": [1]}, [])
    assert shell("show", "t")["turns"][0]["content"] == REDACTED
    assert SECRET not in bytes_below(tmp_path / "home")


def test_a_chat_keeps_its_thread_guarded(
    shell: Shell, way: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "stdin", io.StringIO(f"{SAID}\n/quit\n"))
    main(["chat", "--model", "scripted", "--thread", "c"])
    assert shell("show", "c")["turns"][0]["content"] == SAID
    assert (SECRET in bytes_below(tmp_path / "home")) is (way == "sealed")


async def test_a_store_without_its_guards_is_refused_before_anything_changes(
    tmp_path: Path, way: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with Memory() as memory:
        thread = await open_thread("t")
        await thread.append_many(
            [{"content": SAID, "metadata": {"user_id": user}} for user in ("ada", "bob")]
        )
        before = bytes_below(tmp_path / "home" / "threads")
        bare = JsonlThreadStore(tmp_path / "home" / "threads")
        item = await memory.remember(SAID, user_id="ada", source=Source(thread="t", turns=(1,)))
        refused = (InvalidInput, WrongKey)
        with pytest.raises(refused, match="opened without"):
            await memory.forget_user("ada", threads=bare, also=["t"])
        with pytest.raises(refused, match="opened without"):
            await memory.forget_thread("t", user_id="ada", threads=bare)
        if way == "sealed":
            with pytest.raises(refused, match="opened without"):
                await memory.forget(item.id, user_id="ada", redact_source=True, threads=bare)
        with pytest.raises(refused, match="opened without"):
            await memory.export(io.BytesIO(), threads=bare)
        assert await memory.count(user_id="ada") == 1
        plainly(monkeypatch)
        with pytest.raises(refused, match="opened without"):
            await (await open_thread("t")).append("written without")
        async with Memory(store="memory://") as plain:
            with pytest.raises(refused, match="opened without"):
                await plain.forget_thread("t", user_id="ada")
            with pytest.raises(refused, match="opened without"):
                await plain.forget_user("ada")
        assert bytes_below(tmp_path / "home" / "threads") == before
        assert await memory.forget_user("ada", threads=memory.guards.threads(bare))


@pytest.mark.parametrize("way", ["encrypted", "both"])
async def test_nothing_is_drawn_from_what_cannot_be_read(tmp_path: Path, way: str) -> None:
    given = options(tmp_path, way)
    await (await open_thread("t", **given)).append(SAID)
    with pytest.raises(WrongKey, match="opened without"):
        await open_thread("t")
    async with Memory(store="memory://") as memory:
        extraction = Extraction(memory, VerbatimExtractor())
        waiting = await extraction.begin_thread("default", "t")
        done = await extraction.extract(waiting)
        assert "opened without" in str(done.failure)
        assert await memory.count() == 0


async def test_an_import_is_kept_as_the_memory_is(tmp_path: Path) -> None:
    archive = io.BytesIO()
    async with Memory(store="memory://") as plain:
        await (await open_thread("t")).append(SAID)
        await plain.export(archive, threads=plain.guards.threads_below())
    given, place = options(tmp_path, "both"), tmp_path / "threads"
    async with Memory(store="memory://", **given) as memory:
        await memory.import_(archive, threads=JsonlThreadStore(place))
    assert SECRET not in bytes_below(place)
    thread = await open_thread("t", store=JsonlThreadStore(place), **given)
    assert [turn.content for turn in thread.messages()] == [SAID]


def test_what_is_guarded_already_is_not_guarded_twice(tmp_path: Path) -> None:
    given = options(tmp_path, "both")
    guards = guards_of(**given)
    threads = guards.threads(InMemoryThreadStore())
    assert guards.threads(threads) is threads
    memories = guards.memories(InMemoryStore())
    assert guards.memories(memories) is memories
    half = guards_of(integrity=given["integrity"]).threads(InMemoryThreadStore())
    assert [type(layer) for layer in layers(guards.threads(half))] == [
        EncryptedThreadStore,
        SealedThreadStore,
        InMemoryThreadStore,
    ]
    with pytest.raises(InvalidInput, match="below encryption"):
        guards.memories(EncryptedMemoryStore(InMemoryStore(), given["encryption"]))


def test_a_thread_whose_store_is_guarded_is_found_again_with_the_variable_set(
    way: str, tmp_path: Path
) -> None:
    async def twice() -> int:
        thread = await open_thread("t")
        await thread.append(SAID)
        return len(await open_thread("t", store=thread.store))

    assert asyncio.run(twice()) == 1


def test_an_option_says_more_than_the_variable(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("RETENTIVE_INTEGRITY", "RETENTIVE_ENCRYPTION"):
        monkeypatch.setenv(name, "keyed")
    assert guards_of("off", "off") == Guards()
    key = Encryption(key=KEY)
    assert guards_of("off", key) == Guards(None, key)
    assert guards_of("off").encryption == Encryption()
    assert guards_of(encryption="keyed") == Guards(Integrity(), Encryption())


@pytest.mark.parametrize("name", ["RETENTIVE_INTEGRITY", "RETENTIVE_ENCRYPTION"])
@pytest.mark.parametrize("said", ["yes", "1", "ab" * 32])
def test_a_variable_that_says_something_else_is_refused_and_not_repeated(
    monkeypatch: pytest.MonkeyPatch, name: str, said: str
) -> None:
    monkeypatch.setenv(name, said)
    with pytest.raises(InvalidInput, match=f"{name} must be 'keyed' or 'off'") as refused:
        guards_of()
    assert "ab" * 32 not in str(refused.value)


async def test_an_edit_of_a_sealed_thread_is_refused_wherever_it_is_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("RETENTIVE_INTEGRITY", "keyed")
    await (await open_thread("t")).append_many([SAID, "two"])
    (path,) = (tmp_path / "home" / "threads").rglob("*.jsonl")
    path.write_bytes(path.read_bytes().replace(SECRET, b"margarine"))
    async with Memory() as memory:
        with pytest.raises(Tampered):
            await memory.forget_thread("t")
        with pytest.raises(Tampered):
            await memory.export(io.BytesIO(), threads=memory.guards.threads_below())
        extraction = Extraction(memory, VerbatimExtractor())
        waiting = await extraction.begin_thread("default", "t")
        done = await extraction.extract(waiting)
        assert "was tampered with" in str(done.failure)
    for words in (["threads"], ["export", str(tmp_path / "x.zip")], ["forget-user", "ada", "--yes"]):
        assert await asyncio.to_thread(main, words) == 5, words
