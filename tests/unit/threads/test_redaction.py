"""What redacting a turn does to the files, and how those who have the thread open come to know of it."""
# ruff: noqa: ASYNC240  (a test acts on the files by hand)

import errno
import os
from collections.abc import AsyncIterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from retentive import Turn
from retentive.errors import Conflict, ReadOnly, StoreUnavailable
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.stores.thread_log import Mark, Marks, parse, redact, redactions
from retentive.testing.thread_store_suite import contents, new_turn
from retentive.threads import Thread, open_thread
from retentive.types import REDACTED

NOON = datetime(2026, 3, 8, 12, tzinfo=UTC)


@pytest.fixture
async def store(tmp_path: Path) -> AsyncIterator[JsonlThreadStore]:
    store = JsonlThreadStore(tmp_path / "threads")
    yield store
    await store.close()


@pytest.fixture
def log(tmp_path: Path) -> Path:
    return tmp_path / "threads" / "ns" / "t.jsonl"


async def put(store: JsonlThreadStore, *texts: str) -> None:
    for text in texts:
        since = (await store.turns("ns", "t")).position
        await store.append("ns", "t", [new_turn(text)], since)


def below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


async def test_the_words_leave_the_files_and_every_other_line_stays(
    store: JsonlThreadStore, log: Path, tmp_path: Path
) -> None:
    await put(store, "kept", "quixotic", "kept too")
    before = log.read_bytes().split(b"\n")
    await store.redact("ns", "t", [2], NOON)
    after = log.read_bytes().split(b"\n")
    assert b"quixotic" not in below(tmp_path)
    assert after[0] == b'{"redactions":1}'
    assert [after[1], *after[3:]] == [before[0], *before[2:]]
    assert sorted(path.name for path in log.parent.iterdir()) == ["t.jsonl", "t.jsonl.lock"]


async def test_damage_and_a_torn_end_stay_and_are_reported_as_before(
    store: JsonlThreadStore, log: Path
) -> None:
    await put(store, "a", "b")
    first, second, _ = log.read_bytes().split(b"\n")
    doubled = second.replace(b'"seq":2', b'"seq":1')
    log.write_bytes(b"\n".join([first, b"{bad}", doubled, b'{"seq":3,"torn']))
    assert [turn.content for turn in await store.redact("ns", "t", [2], NOON)] == ["b"]
    assert log.read_bytes().endswith(b'\n{"seq":3,"torn')
    read = await store.turns("ns", "t")
    assert (contents(read), [damage.line for damage in read.damage]) == (["a", REDACTED], [3, 5])
    read = await store.append("ns", "t", [new_turn("c")], 2)
    assert (contents(read), read.turns[0].seq) == (["c"], 3)


@pytest.mark.parametrize("since", [0, 1])
async def test_another_process_reads_on_and_appends_after_a_redaction(
    store: JsonlThreadStore, tmp_path: Path, since: int
) -> None:
    other = JsonlThreadStore(tmp_path / "threads")
    await put(store, "a" * 300, "b")
    assert len((await other.turns("ns", "t", since)).turns) == 2 - since
    await store.redact("ns", "t", [1], NOON)
    read = await other.append("ns", "t", [new_turn("c")], 2)
    assert (contents(read), read.redactions) == (["c"], 1)
    assert contents(await store.turns("ns", "t")) == [REDACTED, "b", "c"]
    await other.close()


async def test_a_log_with_fewer_redactions_is_another_log(store: JsonlThreadStore, log: Path) -> None:
    await put(store, "a", "b")
    old = log.read_bytes()
    await store.redact("ns", "t", [1], NOON)
    await put(store, "c")
    log.write_bytes(old + old.replace(b'"seq":1', b'"seq":3').replace(b'"seq":2', b'"seq":4'))
    with pytest.raises(Conflict):
        await store.append("ns", "t", [new_turn("d")], 3)


async def test_open_threads_lose_the_words_at_the_next_refresh_or_append(tmp_path: Path) -> None:
    mine = await open_thread("t", "ns", home=tmp_path)
    await mine.append_many(["quixotic", "b"])
    other = JsonlThreadStore(tmp_path / "threads")
    reading, writing = Thread(other, "ns", "t"), Thread(other, "ns", "t")
    for thread in (reading, writing):
        await thread.refresh()
    assert isinstance(mine.store, JsonlThreadStore)
    await mine.store.redact("ns", "t", [1], NOON)
    assert reading.messages()[0].content == "quixotic"
    await reading.refresh()
    await writing.append("c")
    await mine.append("d")
    for thread, texts in ((reading, "b"), (writing, "bc"), (mine, "bcd")):
        assert [turn.content for turn in thread.messages()] == [REDACTED, *texts]
        assert thread.messages()[0].is_redacted
    await mine.store.redact("ns", "t", [2], NOON)
    assert [turn.is_redacted for turn in (await mine.refresh()).messages()] == [True, True, False, False]
    await other.close()


async def test_a_redacted_turn_can_be_sent_to_every_provider(tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    await thread.append_many(["quixotic", {"content": "marmalade", "role": "assistant"}, "on"])
    assert isinstance(thread.store, JsonlThreadStore)
    await thread.store.redact("default", "t", [1, 2], NOON)
    talk = (await thread.refresh()).messages()
    assert [message["content"] for message in talk.to_openai()] == [REDACTED, REDACTED, "on"]
    assert [message["role"] for message in talk.to_anthropic()[1]] == ["user", "assistant", "user"]
    assert len(talk.to_pydantic_ai()) == 3


async def test_what_a_kill_left_of_a_rewriting_is_no_thread_and_goes(
    store: JsonlThreadStore, log: Path
) -> None:
    await put(store, "a", "b")
    left = log.with_name("t.jsonl.new")
    for verb in ("redact", "delete"):
        left.write_bytes(log.read_bytes())
        assert await store.threads("ns") == ["t"]
        assert left in await store.files("ns")
        await (store.redact("ns", "t", [1], NOON) if verb == "redact" else store.delete("ns", "t"))
        assert not left.exists()
    assert await store.files("ns") == []


async def test_a_log_that_nobody_may_write_stays(store: JsonlThreadStore, log: Path) -> None:
    await put(store, "a")
    before = log.read_bytes()
    log.chmod(0o444)
    with pytest.raises(ReadOnly):
        await store.redact("ns", "t", [1], NOON)
    assert log.read_bytes() == before


@pytest.mark.parametrize("call", ["write", "fsync", "replace"])
async def test_a_full_disk_leaves_the_log_as_it_was(
    store: JsonlThreadStore, log: Path, monkeypatch: pytest.MonkeyPatch, call: str
) -> None:
    await put(store, "a", "b")
    before = log.read_bytes()

    def full(*_: Any, **__: Any) -> Any:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patch:
        patch.setattr(os, call, full)
        with pytest.raises(StoreUnavailable):
            await store.redact("ns", "t", [1], NOON)
    assert log.read_bytes() == before
    assert not log.with_name("t.jsonl.new").exists()
    assert len(await store.redact("ns", "t", [1], NOON)) == 1


async def test_the_log_keeps_its_rights(store: JsonlThreadStore, log: Path) -> None:
    await put(store, "a")
    log.chmod(0o600)
    await store.redact("ns", "t", [1], NOON)
    assert log.stat().st_mode & 0o777 == 0o600


def test_the_head_is_told_from_turns_and_counts_up() -> None:
    line = b'{"seq":1,"id":"x","at":"2026-03-08T12:00:00Z","role":"user","content":"{\\"redactions\\":7}"}\n'
    assert (redactions(b""), redactions(line)) == (0, 0)
    once, taken = redact(line, [1], NOON)
    assert [turn.content for turn in taken] == ['{"redactions":7}']
    twice, none = redact(once, [1], NOON)
    assert (redactions(once), redactions(twice), none) == (1, 2, [])
    read = parse(once, Mark())
    assert (len(read.turns), read.damage, read.lines) == (1, (), 2)
    assert parse(b'{"redactions":1}', Mark()).torn == b""
    assert parse(line + b'{"redactions":1}\n' + line, Mark()).damage != ()


def test_marks_hold_for_one_count_of_redactions(tmp_path: Path) -> None:
    marks = Marks()
    marks.add(tmp_path, [Mark(offset=9, seq=1)], 1)
    assert marks.latest(tmp_path, 5, 1)[0].offset == 9
    assert marks.latest(tmp_path, 5, 2) == [Mark()]
    assert marks.latest(tmp_path, 5, 0) == []
    marks.add(tmp_path, [Mark(offset=5, seq=1)], 2)
    marks.add(tmp_path, [Mark(offset=99, seq=9)], 1)
    assert [mark.offset for mark in marks.latest(tmp_path, 9, 2)] == [5, 0]


def test_only_the_whole_sign_makes_a_turn_a_redacted_one() -> None:
    def is_redacted(content: str, **metadata: Any) -> bool:
        return Turn(seq=1, id="x", role="user", content=content, at=NOON, metadata=metadata).is_redacted

    assert is_redacted(REDACTED, redacted_at="2026-03-08T12:00:00.000000Z")
    assert not is_redacted(REDACTED)
    assert not is_redacted("said", redacted_at="then")
