"""What `open_thread` and `Thread` promise."""
# ruff: noqa: ASYNC240  (a test acts on the files by hand)

import asyncio
import gc
import logging
import threading
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from retentive.errors import Conflict, InvalidInput, ReadOnly, StoreClosed
from retentive.stores.base import LogRead, NewTurn
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.threads import Thread, open_thread
from retentive.types import Turn


def said(thread: Thread) -> list[str]:
    return [turn.content for turn in thread.messages()]


async def test_an_append_is_in_messages_and_on_disk_when_it_returns(tmp_path: Path) -> None:
    thread = await open_thread("ticket-981", namespace="support", home=tmp_path)
    chained = await (await thread.append("My invoice is wrong.")).append("Looking.", role="assistant")
    assert chained is thread
    assert [(t.seq, t.role, t.content) for t in thread.messages()] == [
        (1, "user", "My invoice is wrong."),
        (2, "assistant", "Looking."),
    ]
    log = tmp_path / "threads" / "support" / "ticket-981.jsonl"
    assert len(log.read_text().splitlines()) == 2
    assert thread.url == log.as_uri().removesuffix(".jsonl")
    assert len(thread) == 2
    assert repr(thread) == "<Thread 'ticket-981' in 'support': 2 turns>"


async def test_the_same_name_gives_the_same_object_while_it_lives(tmp_path: Path) -> None:
    first, second = await asyncio.gather(open_thread("t", home=tmp_path), open_thread("t", home=tmp_path))
    assert first is second
    assert await open_thread("t", "other", home=tmp_path) is not first
    assert await open_thread("t", home=tmp_path / "elsewhere") is not first
    assert await open_thread("t", home=tmp_path, read_only=True) is not first
    await first.append("kept")
    del first, second
    gc.collect()
    assert said(await open_thread("t", home=tmp_path)) == ["kept"]


async def test_a_given_store_has_its_own_threads() -> None:
    one, two = InMemoryThreadStore(), InMemoryThreadStore()
    thread = await open_thread("t", store=one)
    assert thread.url == "memory://default/t"
    await thread.append("a")
    assert await open_thread("t", store=one) is thread
    assert said(await open_thread("t", store=two)) == []


async def test_home_and_store_together_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InvalidInput, match="not both"):
        await open_thread("t", home=tmp_path, store=InMemoryThreadStore())


async def test_the_home_is_that_of_the_environment_unless_given(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RETENTIVE_HOME", str(tmp_path / "env"))
    await (await open_thread("t")).append("a")
    monkeypatch.delenv("RETENTIVE_HOME")
    monkeypatch.chdir(tmp_path)
    await (await open_thread("t")).append("b")
    logs = sorted(str(path.relative_to(tmp_path)) for path in tmp_path.rglob("*.jsonl"))
    assert logs == [".retentive/threads/default/t.jsonl", "env/threads/default/t.jsonl"]


async def test_opening_makes_nothing_on_disk(tmp_path: Path) -> None:
    await open_thread("t", home=tmp_path / "none")
    await open_thread("t", home=tmp_path / "none", read_only=True)
    assert list(tmp_path.iterdir()) == []


async def test_a_read_only_thread_reads_and_refuses_appends(tmp_path: Path) -> None:
    writer = await open_thread("t", home=tmp_path)
    await writer.append("a")
    reader = await open_thread("t", home=tmp_path, read_only=True)
    assert said(reader) == ["a"]
    with pytest.raises(ReadOnly, match="read_only"):
        await reader.append("b")
    with pytest.raises(ReadOnly):
        await reader.append_many([])
    await writer.append("b")
    assert said(await reader.refresh()) == ["a", "b"]
    assert "read-only" in repr(reader)


@pytest.mark.parametrize(
    "arguments",
    [
        {"content": ""},
        {"content": " \n"},
        {"content": None},
        {"content": b"bytes"},
        {"content": "half \ud83e"},
        {"content": "a\x00b"},
        {"content": "x" * 1_000_001},
        {"content": "x", "role": "robot"},
        {"content": "x", "role": "User"},
        {"content": "x", "role": None},
        {"content": "x", "role": ["user"]},
        {"content": "x", "metadata": {"a": object()}},
        {"content": "x", "metadata": {1: "a"}},
        {"content": "x", "metadata": [1]},
        {"content": "x", "metadata": {"n": float("nan")}},
    ],
    ids=range(15),
)
async def test_what_cannot_be_kept_is_refused_before_anything_is_written(
    tmp_path: Path, arguments: Mapping[str, Any]
) -> None:
    thread = await open_thread("t", home=tmp_path)
    with pytest.raises(InvalidInput):
        await thread.append(**arguments)
    with pytest.raises(InvalidInput):
        await thread.append_many([{"content": "good"}, arguments])
    assert said(thread) == []
    assert list(tmp_path.iterdir()) == []


async def test_append_many_takes_texts_turns_and_mappings_in_order(tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    old = Turn(
        seq=7, id="old", role="tool", content="out", at=datetime(2020, 1, 1, tzinfo=UTC), metadata={"a": [1]}
    )
    await thread.append_many(["hi", {"content": "yes", "role": "assistant", "metadata": {"b": 2}}, old])
    assert [(t.seq, t.role, t.content, t.metadata) for t in thread.messages()] == [
        (1, "user", "hi", {}),
        (2, "assistant", "yes", {"b": 2}),
        (3, "tool", "out", {"a": [1]}),
    ]
    assert thread.messages()[2].id != "old"


@pytest.mark.parametrize("bad", [5, None, {"role": "user"}, {"content": "x", "name": "n"}, {"text": "x"}])
async def test_append_many_refuses_what_is_no_turn(tmp_path: Path, bad: Any) -> None:
    thread = await open_thread("t", home=tmp_path)
    with pytest.raises(InvalidInput):
        await thread.append_many(["good", bad])
    assert len(thread) == 0


async def test_turns_of_other_processes_come_in_with_an_append_and_a_refresh(tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    other = await open_thread("t", store=JsonlThreadStore(tmp_path / "threads"))
    await thread.append("mine")
    await other.append("theirs")
    assert said(thread) == ["mine"]
    await thread.append("mine again")
    assert said(thread) == said(await other.refresh()) == ["mine", "theirs", "mine again"]
    assert [turn.seq for turn in thread.messages()] == [1, 2, 3]


async def test_opening_again_sees_what_others_appended(tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    await (await open_thread("t", store=JsonlThreadStore(tmp_path / "threads"))).append("theirs")
    assert await open_thread("t", home=tmp_path) is thread
    assert said(thread) == ["theirs"]


async def test_appends_started_together_keep_the_order_of_the_calls(tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    await asyncio.gather(*(thread.append(str(n)) for n in range(200)))
    assert said(thread) == [str(n) for n in range(200)]
    assert [turn.seq for turn in thread.messages()] == list(range(1, 201))


async def test_sibling_tasks_go_on_while_an_append_waits_for_the_disk(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from retentive.stores import log_file

    sibling_ran = threading.Event()
    really = log_file.append_durably

    def waits(fd: int, data: bytes, keep: int) -> None:
        assert sibling_ran.wait(60), "the event loop stood still"
        really(fd, data, keep)

    monkeypatch.setattr(log_file, "append_durably", waits)
    thread = await open_thread("t", home=tmp_path)

    async def sibling() -> None:
        sibling_ran.set()

    await asyncio.gather(thread.append("a"), sibling())
    assert said(thread) == ["a"]


async def test_appends_that_wait_together_share_one_fsync(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import os

    thread = await open_thread("t", home=tmp_path)
    await thread.append("first")
    calls: list[int] = []
    really = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: (calls.append(fd), really(fd))[1])  # pyright: ignore
    await asyncio.gather(*(thread.append(str(n)) for n in range(100)))
    assert 1 <= len(calls) <= 10


async def test_a_cancelled_append_reaches_the_caller_and_leaves_all_or_nothing(tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    for n in range(40):
        task = asyncio.create_task(thread.append_many([f"{n}a", f"{n}b"]))
        for _ in range(n % 5):
            await asyncio.sleep(0)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
    await thread.append("end")
    texts = said(thread)
    assert texts == said(await thread.refresh())
    assert texts.pop() == "end"
    assert texts[::2] == [text[:-1] + "a" for text in texts[1::2]]


def test_one_object_serves_loops_one_after_the_other_and_at_once(tmp_path: Path) -> None:
    thread = asyncio.run(open_thread("t", home=tmp_path))
    asyncio.run(_append_range(thread, "x", 3))

    def work(prefix: str) -> None:
        asyncio.run(_append_range(thread, prefix, 25))

    workers = [threading.Thread(target=work, args=(f"w{w}-",)) for w in range(4)]
    for worker in workers:
        worker.start()
    for worker in workers:
        worker.join()
    texts = said(thread)
    assert len(texts) == 103
    assert [turn.seq for turn in thread.messages()] == list(range(1, 104))
    for w in range(4):
        assert [text for text in texts if text.startswith(f"w{w}-")] == [f"w{w}-{n}" for n in range(25)]
    assert texts == said(asyncio.run(thread.refresh()))


async def _append_range(thread: Thread, prefix: str, count: int) -> None:
    for n in range(count):
        await thread.append(f"{prefix}{n}")
        assert f"{prefix}{n}" in [turn.content for turn in thread.messages(60)]


async def test_messages_are_a_value_that_later_appends_do_not_change(tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    await thread.append("a")
    before = thread.messages()
    assert thread.messages() is before
    await thread.append("b")
    assert [turn.content for turn in before] == ["a"]
    assert said(thread) == ["a", "b"]


async def test_damage_met_on_load_is_told_once_and_stays_to_be_asked_for(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    thread = await open_thread("t", home=tmp_path)
    await thread.append_many(["secret a", "secret b", "secret c"])
    log = tmp_path / "threads" / "default" / "t.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    log.write_bytes(lines[0] + b'{"secret half\n' + lines[2] + b'{"secret stub')
    with caplog.at_level(logging.WARNING, "retentive.threads"):
        again = await open_thread("t", store=JsonlThreadStore(tmp_path / "threads"))
        assert [(d.line, d.kept_at) for d in again.damage] == [(2, None), (4, None)]
        await again.refresh()
        assert len(caplog.records) == 2
    await again.append("d")
    assert [(d.line, d.kept_at) for d in again.damage] == [(2, None), (4, str(log) + ".torn-1")]
    assert said(again) == ["secret a", "secret c", "d"]
    assert "secret" not in caplog.text


async def test_an_append_to_a_deleted_thread_is_refused_and_the_next_begins_anew(tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    await thread.append_many(["a", "b"])
    await JsonlThreadStore(tmp_path / "threads").delete("default", "t")
    with pytest.raises(Conflict):
        await thread.append("c")
    assert said(thread) == []
    await thread.append("c")
    assert [(turn.seq, turn.content) for turn in thread.messages()] == [(1, "c")]


async def test_a_refresh_after_the_log_was_replaced_shows_the_new_one(tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    await thread.append_many(["a", "b"])
    store = JsonlThreadStore(tmp_path / "threads")
    await store.delete("default", "t")
    await (await open_thread("t", store=store)).append_many(["x", "y", "z"])
    assert said(await thread.refresh()) == ["x", "y", "z"]


async def test_answers_that_come_in_another_order_leave_no_hole() -> None:
    class LateStore(InMemoryThreadStore):
        """Gives the answer of the first append after that of the second."""

        def __init__(self) -> None:
            super().__init__()
            self.second_done = asyncio.Event()

        async def append(self, namespace: str, thread: str, turns: Sequence[NewTurn], since: int) -> LogRead:
            read = await super().append(namespace, thread, turns, since)
            if turns[0].content == "first":
                await self.second_done.wait()
            else:
                self.second_done.set()
            return read

    thread = await open_thread("t", store=LateStore())
    await asyncio.gather(thread.append("first"), thread.append("second"))
    assert said(thread) == ["first", "second"]


async def test_a_closed_store_says_so() -> None:
    store = InMemoryThreadStore()
    thread = await open_thread("t", store=store)
    await store.close()
    with pytest.raises(StoreClosed):
        await thread.append("a")


async def test_clock_and_ids_are_injected() -> None:
    noon = datetime(2026, 3, 8, 12, tzinfo=UTC)
    thread = Thread(InMemoryThreadStore(), "ns", "t", clock=lambda: noon, new_id=lambda: "the-id")
    await thread.append("a")
    assert [(turn.at, turn.id) for turn in thread.messages()] == [(noon, "the-id")]
