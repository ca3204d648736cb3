"""The archive: equal data give equal bytes, nothing damaged is taken, nothing here is overwritten."""

import asyncio
import base64
import contextlib
import hashlib
import io
import json
import re
import tracemalloc
import zipfile
from collections.abc import Callable, Sequence
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from retentive import (
    ArchiveCorrupt,
    ArchiveTooNew,
    Event,
    EventType,
    InvalidInput,
    Memory,
    MemoryItem,
    MemoryKind,
    Origin,
    Scope,
    StoreUnavailable,
)
from retentive.archive import reading
from retentive.archive.lines import memory_to_line
from retentive.archive.writing import ArchiveWriter
from retentive.stores.base import NewTurn, StoredMemory
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.stores.sqlite import SQLiteStore
from retentive.testing.clocks import START, FakeClock
from retentive.testing.embedders import HashingEmbedder, ScriptedEmbedder
from retentive.testing.places import Place

Members = dict[str, bytes]


def files_in(folder: Path) -> Members:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


async def archive_of(memory: Memory, **options: Any) -> bytes:
    file = io.BytesIO()
    await memory.export(file, **options)
    return file.getvalue()


def members(archive: bytes) -> Members:
    with zipfile.ZipFile(io.BytesIO(archive)) as packed:
        return {name: packed.read(name) for name in packed.namelist()}


def packed(parts: Members) -> io.BytesIO:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, raw in parts.items():
            archive.writestr(name, raw)
    file.seek(0)
    return file


def with_manifest(parts: Members, **edits: Any) -> Members:
    """The members with a manifest that is true of them, but for the edits."""
    manifest = json.loads(parts["manifest.json"])
    for member in manifest["members"]:
        raw = parts[member["name"]]
        member |= {"lines": raw.count(b"\n"), "bytes": len(raw), "sha256": hashlib.sha256(raw).hexdigest()}
    return {**parts, "manifest.json": json.dumps(manifest | edits).encode()}


def edited(archive: bytes, edit: Callable[[dict[str, Any]], dict[str, Any]]) -> io.BytesIO:
    """The archive with every memory changed, and a manifest that is true of it."""
    parts = members(archive)
    lines = [edit(json.loads(line)) for line in parts["memories.jsonl"].splitlines()]
    raw = "".join(json.dumps(line) + "\n" for line in lines).encode()
    return packed(with_manifest({**parts, "memories.jsonl": raw}))


def other(clock: FakeClock | None = None, **options: Any) -> Memory:
    defaults: dict[str, Any] = {"clock": clock or FakeClock(), "embedder": HashingEmbedder()}
    return Memory("other", store=InMemoryStore(), **(defaults | options))


async def test_equal_data_give_equal_bytes_and_another_path_changes_nothing(
    place: Place, tmp_path: Path
) -> None:
    memory = place.open()
    await memory.remember_many([f"Locker {n} is guest {n * 7}'s." for n in range(30)], user_id="ann")
    await memory.remember("The house has two keys.")
    first = await archive_of(memory, vectors=True)
    await memory.export(tmp_path / "all.zip", vectors=True)
    assert (tmp_path / "all.zip").read_bytes() == first == await archive_of(place.open(), vectors=True)
    assert [name for name in files_in(tmp_path) if name.endswith(".part")] == []


async def test_a_failed_export_leaves_the_file_as_it_was(tmp_path: Path) -> None:
    class Failing(InMemoryStore):
        async def get(self, scope: Scope, ids: Sequence[str]) -> Any:
            raise StoreUnavailable("the disk is gone")

    memory = Memory(store=Failing(), embedder=HashingEmbedder())
    await memory.remember("x")
    (tmp_path / "a.zip").write_bytes(b"before")
    with pytest.raises(StoreUnavailable, match="the disk is gone"):
        await memory.export(tmp_path / "a.zip")
    assert files_in(tmp_path) == {"a.zip": b"before"}
    with pytest.raises(StoreUnavailable, match="cannot be written"):
        await memory.export(tmp_path / "missing" / "a.zip")


async def test_only_the_user_asked_for_is_in_it(memory: Memory) -> None:
    for user in ("ann", "ben", None):
        await memory.remember(f"secret of {user}", user_id=user)
    for user in ("ann", "ben", None):
        report = await memory.export(io.BytesIO(), user_id=user)
        assert [scope.user_id for scope in report.scopes] == [user]
        lines = members(await archive_of(memory, user_id=user))["memories.jsonl"].splitlines()
        assert [json.loads(line)["content"] for line in lines] == [f"secret of {user}"]
    assert (await memory.export(io.BytesIO(), user_id="nobody")).memories == 0


async def test_threads_of_a_user_must_be_named(memory: Memory) -> None:
    store = InMemoryThreadStore()
    for thread in ("a", "b"):
        await store.append("default", thread, [NewTurn(id="1", role="user", content=thread, at=START)], 0)
    await store.append("elsewhere", "c", [NewTurn(id="1", role="user", content="c", at=START)], 0)
    with pytest.raises(InvalidInput, match="thread_ids"):
        await memory.export(io.BytesIO(), user_id="ann", threads=store)
    with pytest.raises(InvalidInput, match="threads="):
        await memory.export(io.BytesIO(), thread_ids=["a"])
    assert (await memory.export(io.BytesIO(), threads=store)).threads == 2
    assert (await memory.export(io.BytesIO(), user_id="ann", threads=store, thread_ids=["b"])).threads == 1


def with_directory(raw: bytes, at: int, new: bytes) -> bytes:
    """The archive with other bytes in the first entry of its directory."""
    start = raw.index(b"PK\x01\x02") + at
    return raw[:start] + new + raw[start + len(new) :]


DAMAGE: dict[str, Callable[[bytes], bytes | io.BytesIO]] = {
    "cut": lambda raw: raw[: len(raw) // 2],
    "empty": lambda _: b"",
    "no zip": lambda _: b"PK\x03\x04 nothing",
    "a flipped bit": lambda raw: raw[:90] + bytes([raw[90] ^ 4]) + raw[91:],
    "a changed line": lambda raw: packed(
        (parts := members(raw)) | {"memories.jsonl": parts["memories.jsonl"].replace(b"tea", b"gin")}
    ),
    "a dropped line": lambda raw: packed(members(raw) | {"memories.jsonl": b""}),
    "a member more": lambda raw: packed(members(raw) | {"../../evil": b"x"}),
    "a member less": lambda raw: packed({"manifest.json": members(raw)["manifest.json"]}),
    "an offset before the file": lambda raw: with_directory(raw, 42, b"\xff\xff\xff\x7f"),
    "a zip of a later version": lambda raw: with_directory(raw, 6, b"\xff\xff"),
    "a directory that begins too late": lambda raw: raw[:-6] + b"\xff\xff\xff\x7f" + raw[-2:],
    "no manifest": lambda raw: packed({"memories.jsonl": members(raw)["memories.jsonl"]}),
    "another manifest": lambda raw: packed(members(raw) | {"manifest.json": b'{"format": "x"}'}),
    "a manifest of nonsense": lambda raw: packed(members(raw) | {"manifest.json": b"[" * 99_999}),
    "no version": lambda raw: packed(with_manifest(members(raw), version=None)),
    "a count of text": lambda raw: packed(with_manifest(members(raw), threads="7")),
    "members of nonsense": lambda raw: packed(
        with_manifest(members(raw))
        | {"manifest.json": json.dumps(json.loads(members(raw)["manifest.json"]) | {"members": [3]}).encode()}
    ),
    "a line without end": lambda raw: packed(
        with_manifest(members(raw) | {"memories.jsonl": b"x" * reading.MAX_LINE_BYTES})
    ),
}


@pytest.mark.parametrize("damage", DAMAGE.values(), ids=DAMAGE)
async def test_a_damaged_archive_is_refused_before_anything_is_written(
    damage: Callable[[bytes], bytes | io.BytesIO],
) -> None:
    memory = other()
    await memory.remember("User likes tea.", user_id="ann")
    broken = damage(await archive_of(memory))
    into = other()
    raw = broken.getvalue() if isinstance(broken, io.BytesIO) else broken
    with pytest.raises(ArchiveCorrupt):
        await into.import_(io.BytesIO(raw), format="archive")
    with pytest.raises(InvalidInput):
        await into.import_(io.BytesIO(raw))
    assert await into.scopes() == []


async def test_whatever_byte_of_its_directory_is_damaged_an_archive_is_taken_or_refused() -> None:
    memory = other()
    await memory.remember("User likes tea.")
    raw = await archive_of(memory)
    start = raw.index(b"PK\x01\x02")
    for at in range(start, len(raw)):
        for byte in (0, 127, 255):
            with contextlib.suppress(ArchiveCorrupt, InvalidInput):
                await other().import_(io.BytesIO(raw[:at] + bytes([byte]) + raw[at + 1 :]))


async def test_an_archive_of_a_newer_version_is_refused() -> None:
    parts = members(await archive_of(other()))
    with pytest.raises(ArchiveTooNew, match="upgrade"):
        await other().import_(packed(with_manifest(parts, version=2)))


async def test_a_member_that_would_fill_the_memory_is_refused_unread(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(reading, "SMALL_BYTES", 1_000)
    parts = members(await archive_of(other()))
    bomb = packed(with_manifest({**parts, "memories.jsonl": b"\n" * 1_000_000}))
    with pytest.raises(ArchiveCorrupt, match="would unpack to 1,000,000 bytes"):
        await other().import_(bomb)


@pytest.mark.parametrize(
    ("edit", "reason"),
    [
        ({"content": " "}, "content"),
        ({"content": "a\u0000"}, "U\\+0000"),
        ({"importance": 2}, "importance"),
        ({"importance": "high"}, "importance"),
        ({"kind": "opinion"}, "opinion"),
        ({"origin": []}, "stored memory"),
        ({"created_at": "2026-01-01T00:00:00"}, "zone"),
        ({"created_at": 5}, "stored memory"),
        ({"tags": "abc"}, "tags"),
        ({"tags": [1]}, "tag"),
        ({"metadata": []}, "metadata"),
        ({"source": []}, "source"),
        ({"source": {"thread": "../x"}}, "source.thread"),
        ({"success": "yes"}, "success"),
        ({"id": ""}, "id"),
        ({"id": "x" * 200}, "id"),
        ({"id": None}, "id"),
        ({"key": 5}, "key"),
        ({"vector": "***"}, "base64"),
        ({"colour": "red"}, "colour"),
        ({"user_id": "mallory"}, "manifest"),
        ({"user_id": " "}, "user_id"),
        ({"namespace": "elsewhere"}, "namespace"),
        ({"valid_from": "2026-01-02T00:00:00Z", "valid_until": "2026-01-01T00:00:00Z"}, "valid_until"),
    ],
    ids=str,
)
async def test_a_line_that_cannot_be_used_is_named_and_the_rest_goes_on(
    edit: dict[str, Any], reason: str
) -> None:
    memory = other()
    await memory.remember_many(["User likes tea.", "User has a boat."], user_id="ann")
    archive = edited(await archive_of(memory), lambda line: line | (edit if "tea" in line["content"] else {}))
    into = other()
    report = await into.import_(archive)
    assert (report.imported, report.refused) == (1, 1)
    assert report.refusals[0].place == "memories.jsonl line 1"
    assert re.search(reason, report.refusals[0].reason)
    assert [item.content for item in await into.list(user_id="ann")] == ["User has a boat."]
    assert {scope.namespace for scope in await into.scopes()} == {"other"}


async def test_what_is_here_and_differs_is_refused_and_never_overwritten(place: Place) -> None:
    memory = place.open()
    item = await memory.remember("User likes tea.", user_id="ann", key="k")
    archive = await archive_of(memory)
    await memory.update(item.id, user_id="ann", content="User likes coffee.")
    report = await memory.import_(io.BytesIO(archive))
    assert (report.imported, report.present, report.refused) == (0, 0, 1)
    assert "differs" in report.refusals[0].reason
    assert [one.content for one in await memory.list(user_id="ann")] == ["User likes coffee."]
    into = other()
    await into.remember("User likes gin.", user_id="ann", key="k")
    report = await into.import_(io.BytesIO(archive))
    assert (report.imported, report.refused) == (0, 1)
    assert "has its key" in report.refusals[0].reason


async def test_the_same_statement_under_another_id_is_present(place: Place) -> None:
    memory = place.open()
    await memory.remember("User likes tea.", user_id="ann")
    archive = await archive_of(memory)
    into = other()
    held = await into.remember("User likes tea", user_id="ann")
    report = await into.import_(io.BytesIO(archive))
    assert (report.imported, report.present, report.refused) == (0, 1, 0)
    assert [item.id for item in await into.list(user_id="ann")] == [held.id]


async def test_an_expired_memory_stands_in_no_ones_way(place: Place) -> None:
    memory = place.open()
    await memory.remember("The gate code is 4471.")
    archive = await archive_of(memory)
    clock = FakeClock()
    into = other(clock)
    await into.remember("The gate code is 4471.", ttl=timedelta(seconds=5))
    clock.move(seconds=5)
    report = await into.import_(io.BytesIO(archive))
    assert (report.imported, report.refused) == (1, 0)
    assert len(await into.list()) == 1


async def test_twice_the_same_id_in_one_file_is_one_memory() -> None:
    memory = other()
    await memory.remember("User likes tea.")
    parts = members(await archive_of(memory))
    line = parts["memories.jsonl"]
    changed = line.replace(b"tea", b"gin")
    archive = packed(with_manifest({**parts, "memories.jsonl": line + line + changed}))
    report = await other().import_(archive)
    assert (report.imported, report.present, report.refused) == (1, 1, 1)


async def test_origins_are_believed_unless_told_not_to() -> None:
    memory = other()
    await memory.remember("User likes tea.")
    archive = await archive_of(memory)
    for trust, origin in ((True, Origin.USER), (False, Origin.IMPORTED)):
        into = other()
        for _ in range(2):
            await into.import_(io.BytesIO(archive), trust_origins=trust)
        assert [item.origin for item in await into.list()] == [origin]


async def test_everything_goes_to_the_user_named_if_it_is_one_users() -> None:
    memory = other()
    await memory.remember("User likes tea.", user_id="ann")
    archive = await archive_of(memory)
    into = other()
    await into.import_(io.BytesIO(archive), user_id="anna")
    await into.import_(io.BytesIO(archive), user_id=None)
    assert [scope.user_id for scope in await into.scopes()] == [None, "anna"]
    await memory.remember("User has a boat.", user_id="ben")
    with pytest.raises(InvalidInput, match="2 users"):
        await into.import_(io.BytesIO(await archive_of(memory)), user_id="anna")
    with pytest.raises(InvalidInput, match="user_id"):
        await into.import_(io.BytesIO(archive), user_id=" ")


async def test_a_dry_run_writes_nothing_and_says_what_would_come() -> None:
    memory = other()
    await memory.remember_many(["User likes tea.", "User has a boat."])
    threads = InMemoryThreadStore()
    await threads.append("other", "t", [NewTurn(id="1", role="user", content="hi", at=START)], 0)
    archive = await archive_of(memory, threads=threads)
    into, kept = other(embedder=ScriptedEmbedder({}, dimensions=2)), InMemoryThreadStore()
    report = await into.import_(io.BytesIO(archive), threads=kept, dry_run=True)
    assert (report.dry_run, report.imported, report.threads, report.turns) == (True, 2, 1, 1)
    assert await into.scopes() == []
    assert await kept.threads("other") == []


async def test_vectors_that_came_along_are_used_and_others_made_anew() -> None:
    memory = other()
    await memory.remember("User likes tea.")
    with_vectors, without = await archive_of(memory, vectors=True), await archive_of(memory)
    silent = ScriptedEmbedder({}, dimensions=64, name="hashing")
    into = other(embedder=silent)
    await into.import_(io.BytesIO(with_vectors))
    assert silent.calls == []
    assert await archive_of(into, vectors=True) == with_vectors
    namesake = other(embedder=HashingEmbedder(64, name="namesake"))
    await namesake.import_(io.BytesIO(with_vectors))
    direct = other(embedder=HashingEmbedder(64, name="namesake"))
    await direct.import_(io.BytesIO(without))
    assert await archive_of(namesake, vectors=True) == await archive_of(direct, vectors=True)
    for archive in (without, with_vectors):
        another = other(embedder=ScriptedEmbedder({"User likes tea.": (0, 1)}, dimensions=2, name="another"))
        await another.import_(io.BytesIO(archive))
        assert [item.embedder for item in await another.list()] == ["another/2"]


async def test_the_vectors_of_an_archive_that_is_not_believed_are_made_anew() -> None:
    memory = other()
    await memory.remember("User likes tea.")
    with_vectors = await archive_of(memory, vectors=True)
    planted = base64.b64encode(b"\0\0\x80?" * 64).decode()
    into = other()
    await into.import_(edited(with_vectors, lambda line: line | {"vector": planted}), trust_origins=False)
    lines = [
        json.loads(line)
        for line in members(await archive_of(into, vectors=True))["memories.jsonl"].splitlines()
    ]
    true = [json.loads(line) for line in members(with_vectors)["memories.jsonl"].splitlines()]
    assert [line["vector"] for line in lines] == [line["vector"] for line in true]


async def test_what_would_supersede_itself_in_the_end_is_refused_and_the_rest_goes_on() -> None:
    memory = other()
    old = await memory.remember("Ann has 3 cats.")
    new = await memory.supersede(old.id, "Ann has 4 cats.")
    await memory.remember("User likes tea.")
    round_trip = {new.id: old.id}
    archive = edited(
        await archive_of(memory),
        lambda line: line | {"superseded_by": round_trip[line["id"]]} if line["id"] in round_trip else line,
    )
    into = other()
    report = await into.import_(archive)
    assert (report.imported, report.refused) == (2, 1)
    assert "superseded by itself" in report.refusals[0].reason
    lone = edited(
        await archive_of(memory),
        lambda line: line | {"superseded_by": line["id"]} if line["id"] == new.id else line,
    )
    assert (await other().import_(lone)).refused == 1


@pytest.mark.parametrize("vector", [b"", b"\0" * 256, b"\xff" * 256, b"\0\0\x80?" * 3], ids=len)
async def test_a_vector_that_is_none_is_made_anew(vector: bytes) -> None:
    memory = other()
    await memory.remember("User likes tea.")
    archive = await archive_of(memory, vectors=True)
    text = base64.b64encode(vector).decode()
    into = other()
    await into.import_(edited(archive, lambda line: line | {"vector": text}))
    assert await archive_of(into, vectors=True) == archive


async def test_a_link_to_what_is_left_out_is_left_out(place: Place) -> None:
    memory = place.open(embedder=ScriptedEmbedder({}, dimensions=2, otherwise=(1, 0)))
    await memory.remember("Meet at 7 am", ttl=timedelta(seconds=5))
    linked = await memory.remember("Meet at 7 pm")
    assert linked.near is not None
    place.clock.move(seconds=5)
    archive = await archive_of(memory)
    assert b'"near"' not in members(archive)["memories.jsonl"]
    into = other(place.clock)
    await into.import_(edited(archive, lambda line: line | {"near": "nobody"}))
    assert [item.near for item in await into.list()] == [None]
    assert (await into.import_(io.BytesIO(archive))).present == 1


async def test_threads_are_left_out_where_none_are_kept_and_told_of(memory: Memory) -> None:
    threads = InMemoryThreadStore()
    await threads.append("default", "t", [NewTurn(id="1", role="user", content="hi", at=START)], 0)
    archive = await archive_of(memory, threads=threads)
    report = await other().import_(io.BytesIO(archive))
    assert (report.threads, report.threads_left_out) == (0, 1)


async def test_a_thread_grows_at_its_end_and_is_never_changed() -> None:
    turns = [NewTurn(id=str(n), role="user", content=f"turn {n}", at=START) for n in range(1, 6)]
    full = InMemoryThreadStore()
    await full.append("other", "t", turns, 0)
    archive = await archive_of(other(), threads=full)
    shorter, longer, changed = (InMemoryThreadStore() for _ in range(3))
    await shorter.append("other", "t", turns[:2], 0)
    await longer.append("other", "t", [*turns, turns[0]], 0)
    await changed.append("other", "t", [turns[0], turns[2]], 0)
    report = await other().import_(io.BytesIO(archive), threads=shorter)
    assert (report.threads, report.turns) == (1, 3)
    assert await shorter.turns("other", "t") == await full.turns("other", "t")
    assert (await other().import_(io.BytesIO(archive), threads=longer)).threads_present == 1
    report = await other().import_(io.BytesIO(archive), threads=changed)
    assert (report.threads, report.refused) == (0, 1)
    assert "turn 2 differs" in report.refusals[0].reason
    assert len((await changed.turns("other", "t")).turns) == 2


async def test_a_turn_lost_to_damage_leaves_its_number_free() -> None:
    threads = InMemoryThreadStore()
    turns = [NewTurn(id=str(n), role="user", content=f"turn {n}", at=START) for n in range(1, 4)]
    await threads.append("other", "t", turns, 0)
    parts = members(await archive_of(other(), threads=threads))
    lines = parts["threads.jsonl"].splitlines(keepends=True)
    holed = with_manifest({**parts, "threads.jsonl": lines[0] + lines[2]})
    into = InMemoryThreadStore()
    assert (await other().import_(packed(holed), threads=into)).turns == 2
    report = await other().import_(packed(holed), threads=into)
    assert (report.threads_present, report.refused) == (1, 0)
    kept = (await into.turns("other", "t")).turns
    assert [(turn.seq, turn.id) for turn in kept] == [(1, "1"), (2, "lost-2"), (3, "3")]
    far = lines[0] + lines[2].replace(b'"seq":3', b'"seq":2000000000')
    report = await other().import_(packed(with_manifest({**parts, "threads.jsonl": far})), threads=into)
    assert "missing" in report.refusals[0].reason
    swapped = with_manifest({**parts, "threads.jsonl": lines[1] + lines[0]})
    assert (await other().import_(packed(swapped), threads=InMemoryThreadStore())).refused == 1


async def test_each_batch_is_told_as_an_event() -> None:
    memory, events = other(), list[Event]()
    item = await memory.remember("User likes tea.", user_id="ann")
    memory.subscribe(events.append)
    archive = await archive_of(memory)
    into = other()
    into.subscribe(events.append)
    for _ in range(2):
        await into.import_(io.BytesIO(archive))
    assert [(event.type, event.verb, event.ids) for event in events] == [
        (EventType.MEMORY_READ, "export", (item.id,)),
        (EventType.MEMORY_WRITE, "import_", (item.id,)),
    ]


async def test_what_cannot_be_read_or_seek_is_refused(tmp_path: Path) -> None:
    class Stream(io.BytesIO):
        def seekable(self) -> bool:
            return False

    with pytest.raises(InvalidInput, match="seek"):
        await other().import_(Stream(b"x"))
    with pytest.raises(InvalidInput, match="cannot be read"):
        await other().import_(tmp_path / "missing.zip")
    with pytest.raises(InvalidInput, match="no format"):
        await other().import_(io.BytesIO(b"x"), format="diary")


MAX_PEAK_BYTES = 12 * 1024 * 1024


def large_archive(path: Path, count: int) -> int:
    """An archive of so many memories; gives how many bytes of lines it has."""
    words = "the tide table of Husum says nothing about the ferry in a storm " * 12
    with path.open("wb") as file, ArchiveWriter(file) as writer:
        with writer.member("memories.jsonl") as member:
            for n in range(count):
                item = MemoryItem(
                    id=f"{n:08}",
                    scope=Scope("x"),
                    kind=MemoryKind.SEMANTIC,
                    content=f"Entry {n} in the log. {words}",
                    created_at=START,
                    updated_at=START,
                )
                stored = StoredMemory(item=item, text_key=None, key=None, packed=b"", vector=None)
                member.write([memory_to_line(stored, vectors=False)])
        writer.finish("x", {None: count}, 0)
    return json.loads(members(path.read_bytes())["manifest.json"])["members"][0]["bytes"]


class Same:
    """An embedder to which all texts are alike, and that remembers none."""

    name, dimensions = "same", 2

    async def embed(self, texts: Sequence[str], kind: str) -> Sequence[Sequence[float]]:
        return [(1.0, 0.0)] * len(texts)


@pytest.mark.slow
async def test_memory_stays_bounded_however_much_is_moved(tmp_path: Path) -> None:
    size = await asyncio.to_thread(large_archive, tmp_path / "a.zip", 20_000)
    assert size > MAX_PEAK_BYTES
    store = SQLiteStore(tmp_path / "a.db")
    memory = Memory("x", store=store, embedder=Same(), clock=FakeClock())
    peaks: list[int] = []
    for work in (
        lambda: memory.import_(tmp_path / "a.zip"),
        lambda: memory.export(tmp_path / "b.zip"),
    ):
        tracemalloc.start()
        done = await work()
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
        assert 20_000 in (getattr(done, "memories", 0), getattr(done, "imported", 0))
    await store.close()
    files = await asyncio.to_thread(files_in, tmp_path)
    assert members(files["b.zip"]) == members(files["a.zip"])
    assert max(peaks) < MAX_PEAK_BYTES, peaks
