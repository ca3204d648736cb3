"""Who read and wrote which memories is on disk before the call returns, without a word of what they say."""

import asyncio
import subprocess
import sys
import threading
from datetime import UTC, datetime
from pathlib import Path

import pytest

from retentive import (
    AuditLog,
    Event,
    EventType,
    InvalidInput,
    Memory,
    RetentionPolicy,
    Scope,
    StoreUnavailable,
)
from retentive import audit as audit_module
from retentive.audit import AuditEntry, read_audit
from retentive.events import Trace, traced
from retentive.memory.audited import AuditedStore
from retentive.stores.base import KeepsFiles, ListsIds
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.sqlite import SQLiteStore
from retentive.stores.wrapped import able
from retentive.testing.places import Place

AT = datetime(2026, 1, 1, tzinfo=UTC)


@pytest.fixture
def path(tmp_path: Path) -> Path:
    return tmp_path / "logs" / "audit.jsonl"


def entries(path: Path) -> list[AuditEntry]:
    return [entry for entry in read_audit(path) if entry is not None]


def bytes_of(path: Path) -> bytes:
    return path.read_bytes()


def event(*ids: str, verb: str = "recall", type: EventType = EventType.MEMORY_READ) -> Event:
    return Event(
        type=type,
        verb=verb,
        at=AT,
        duration_ms=1.0,
        memory="m",
        store="memory://",
        scope=Scope("n", "ann"),
        ids=ids,
    )


async def test_each_call_leaves_a_line_with_who_what_and_which_and_no_content(
    place: Place, path: Path
) -> None:
    memory = place.open(audit=AuditLog(path, actor="support-api"))
    item = await memory.remember("The secret is 1234.", user_id="ann", tags=["vault"])
    with traced(Trace("run-7")):
        await memory.recall("what is the secret?", user_id="ann")
    await memory.forget(item.id, user_id="ann")
    found = entries(path)
    assert [(entry.type, entry.verb, entry.ids) for entry in found] == [
        ("memory_write", "remember", (item.id,)),
        ("memory_read", "recall", (item.id,)),
        ("memory_forget", "forget", (item.id,)),
    ]
    assert {(entry.namespace, entry.user_id, entry.actor, entry.at) for entry in found} == {
        ("default", "ann", "support-api", place.clock.now)
    }
    assert [entry.run for entry in found] == [None, "run-7", None]
    said = bytes_of(path)
    assert not any(word in said for word in (b"1234", b"secret", b"vault"))


async def test_prune_and_consolidate_are_in_it(place: Place, path: Path) -> None:
    memory = place.open(audit=AuditLog(path))
    await memory.remember("Tea is at five.", origin="tool")
    await memory.remember("Tea is at five.")
    (merged,) = (await memory.consolidate(user_id=None, dry_run=False)).merged
    await memory.prune(RetentionPolicy(keep_top=0), user_id=None, dry_run=False)
    merging, pruning = entries(path)[-2:]
    assert (merging.verb, set(merging.ids)) == ("consolidate", {merged.id, *merged.sources})
    assert (pruning.verb, pruning.type, set(pruning.ids)) == ("prune", "memory_forget", set(merging.ids))


def test_full_files_are_put_aside_and_the_oldest_go(path: Path) -> None:
    log = AuditLog(path, max_bytes=4_096, keep=2)
    for number in range(200):
        log.record(event(f"m{number:04}"))
    assert sorted(each.name for each in path.parent.glob("audit.jsonl*") if each.suffix != ".lock") == [
        "audit.jsonl",
        "audit.jsonl.1",
        "audit.jsonl.2",
    ]
    assert all(each.stat().st_size <= 4_096 for each in path.parent.glob("audit.jsonl*"))
    ids = [entry.ids[0] for entry in entries(path)]
    assert ids == [f"m{number:04}" for number in range(200 - len(ids), 200)]
    assert len(ids) > 50


def test_no_full_file_is_kept_if_none_is_asked_for(path: Path) -> None:
    log = AuditLog(path, max_bytes=4_096, keep=0)
    for number in range(100):
        log.record(event(f"m{number:04}"))
    assert not path.with_name("audit.jsonl.1").exists()
    assert entries(path)[-1].ids == ("m0099",)


def test_a_call_of_very_many_ids_has_several_entries(path: Path) -> None:
    ids = [f"m{number:05}" for number in range(1_234)]
    AuditLog(path).record(event(*ids))
    found = entries(path)
    assert [(entry.part, entry.parts, len(entry.ids)) for entry in found] == [
        (1, 3, 500),
        (2, 3, 500),
        (3, 3, 234),
    ]
    assert [id for entry in found for id in entry.ids] == ids


def test_a_line_that_was_cut_off_costs_that_line_only(path: Path) -> None:
    log = AuditLog(path)
    log.record(event("a"))
    whole = path.read_bytes()
    for cut in range(1, len(whole)):
        path.write_bytes(whole + whole[:cut])
        assert next(entry and entry.ids for entry in read_audit(path)) == ("a",)
        log.record(event("b"))
        found = list(read_audit(path))
        assert [entry.ids for entry in found if entry is not None][-1] == ("b",)
        assert len(found) == 3


@pytest.mark.parametrize("line", [b"null\n", b"[1]\n", b"{}\n", b"\xff\xfe\n", b'{"at":"x"}\n'])
def test_what_is_no_entry_is_said_to_be_none(path: Path, line: bytes) -> None:
    AuditLog(path).record(event("a"))
    with path.open("ab") as file:
        file.write(line)
    assert [entry is None for entry in read_audit(path)] == [False, True]


def test_threads_and_processes_share_the_file(path: Path) -> None:
    code = (
        "import sys; sys.path.insert(0, sys.argv[2])\n"
        "from test_audit import AuditLog, event\n"
        "log = AuditLog(sys.argv[1], max_bytes=20_000, keep=100)\n"
        "for n in range(100): log.record(event(f'p-{n}'))\n"
    )
    process = subprocess.Popen([sys.executable, "-c", code, str(path), str(Path(__file__).parent)])
    log = AuditLog(path, max_bytes=20_000, keep=100)

    def work(name: int) -> None:
        for number in range(100):
            log.record(event(f"{name}-{number}"))

    threads = [threading.Thread(target=work, args=(name,)) for name in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert process.wait() == 0
    found = list(read_audit(path))
    assert None not in found
    ids = [entry.ids[0] for entry in found if entry is not None]
    assert sorted(ids) == sorted(f"{name}-{number}" for name in (0, 1, "p") for number in range(100))
    for name in ("0-", "1-", "p-"):
        own = [id for id in ids if id.startswith(name)]
        assert own == [f"{name}{number}" for number in range(100)]


async def test_a_log_that_cannot_be_written_breaks_no_call_and_says_so(
    place: Place, path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    path.parent.write_bytes(b"no folder")
    log = AuditLog(path)
    memory = place.open(audit=log)
    item = await memory.remember("Tea is at five.")
    assert (await memory.recall("tea"))[0].id == item.id
    assert log.missing == 2
    assert "audit log misses" in caplog.text
    path.parent.unlink()
    await memory.recall("tea")
    gap, call = entries(path)
    assert (gap.type, gap.missing, call.verb, log.missing) == ("gap", 2, "recall", 0)


async def test_a_strict_log_refuses_what_it_cannot_tell(place: Place, path: Path) -> None:
    memory = place.open(audit=AuditLog(path, strict=True))
    item = await memory.remember("Tea is at five.")
    assert [entry.type for entry in entries(path)] == ["intent", "memory_write"]
    assert entries(path)[0].ids == (item.id,)
    aside = path.parent.with_name("aside")
    path.parent.rename(aside)
    path.parent.write_bytes(b"no folder")
    with pytest.raises(StoreUnavailable, match="audit log"):
        await memory.remember("Ida runs.")
    with pytest.raises(StoreUnavailable, match="audit log"):
        await memory.forget(item.id)
    with pytest.raises(StoreUnavailable, match="audit log"):
        await memory.recall("tea")
    path.parent.unlink()
    assert [each.content for each in await memory.list()] == ["Tea is at five."]


async def test_a_strict_log_leaves_the_store_its_powers(tmp_path: Path) -> None:
    log = AuditLog(tmp_path / "audit.jsonl", strict=True)
    for store in (SQLiteStore(tmp_path / "memory.db"), InMemoryStore()):
        around = AuditedStore(store, log)
        for power in (KeepsFiles, ListsIds):
            assert (able(around, power) is None) == (not isinstance(store, power))
        await store.close()


@pytest.mark.parametrize("fsync", [False, True])
def test_fsync_waits_for_the_disk(path: Path, monkeypatch: pytest.MonkeyPatch, fsync: bool) -> None:
    log = AuditLog(path, fsync=fsync)
    log.record(event("a"))
    synced: list[int] = []
    monkeypatch.setattr(audit_module.os, "fsync", synced.append)
    log.record(event("b"))
    assert bool(synced) == fsync
    assert [entry.ids for entry in entries(path)] == [("a",), ("b",)]


@pytest.mark.parametrize("wrong", [{"max_bytes": 10}, {"max_bytes": "1"}, {"keep": -1}, {"actor": ""}])
def test_what_can_mean_nothing_is_refused(path: Path, wrong: dict[str, object]) -> None:
    with pytest.raises(InvalidInput):
        AuditLog(path, **wrong)  # type: ignore[arg-type]


def test_a_log_that_is_not_there_is_said(path: Path) -> None:
    with pytest.raises(StoreUnavailable, match="no audit log"):
        list(read_audit(path))
    assert list(read_audit(path, missing_ok=True)) == []


async def test_many_tasks_are_all_in_it(path: Path) -> None:
    async with Memory(store="memory://", audit=AuditLog(path)) as memory:
        await asyncio.gather(*(memory.remember(f"The box {n} is in room {n}.") for n in range(20)))
        assert len({entry.ids for entry in entries(path)}) == 20
