"""A key makes the retry of an append harmless, whoever retries."""

import asyncio
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from retentive import open_thread
from retentive.errors import Conflict, InvalidInput
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.threads import Thread

AT = datetime(2026, 3, 8, tzinfo=UTC)
_RETRY = """
import asyncio, sys
from pathlib import Path
from retentive import open_thread

async def main():
    thread = await open_thread("t", home=Path(sys.argv[1]))
    for number in range(20):
        await thread.append(f"say {number}", key=f"call-{number}")

asyncio.run(main())
"""


def said(thread: Thread) -> list[str]:
    return [turn.content for turn in thread.messages()]


async def test_a_retry_with_the_same_key_gives_the_same_turn(tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    await thread.append("one", key="k")
    first = thread.messages()[0]
    await thread.append("two")
    await thread.append("one", key="k")
    assert said(thread) == ["one", "two"]
    assert thread.messages()[0] == first


async def test_a_key_is_known_after_the_process_ended_and_to_those_behind(tmp_path: Path) -> None:
    behind = Thread(JsonlThreadStore(tmp_path), "n", "t")
    await Thread(JsonlThreadStore(tmp_path), "n", "t").append("one", key="k")
    await behind.append("one", key="k")
    assert said(behind) == ["one"]
    await (await Thread(JsonlThreadStore(tmp_path), "n", "t").refresh()).append("one", key="k")
    assert said(await behind.refresh()) == ["one"]


async def test_of_a_group_those_with_used_keys_are_left_out() -> None:
    store = InMemoryThreadStore()
    behind = Thread(store, "n", "t")
    await Thread(store, "n", "t").append("two", key="2")
    await behind.append_many(
        [
            "one",
            {"content": "two", "key": "2"},
            {"content": "three", "key": "3"},
            {"content": "three", "key": "3"},
        ]
    )
    assert said(behind) == ["two", "one", "three"]


async def test_a_key_of_another_turn_is_refused_and_nothing_of_the_call_is_written(tmp_path: Path) -> None:
    behind = Thread(JsonlThreadStore(tmp_path), "n", "t")
    thread = Thread(JsonlThreadStore(tmp_path), "n", "t")
    await thread.append("one", key="k")
    for one in (behind, thread):
        for other in ({"content": "two", "key": "k"}, {"content": "one", "role": "assistant", "key": "k"}):
            with pytest.raises(Conflict, match="used for another turn"):
                await one.append_many(["before", other])
    with pytest.raises(Conflict, match="used for another turn"):
        await thread.append_many([{"content": "a", "key": "l"}, {"content": "b", "key": "l"}])
    assert said(await behind.refresh()) == said(await thread.refresh()) == ["one"]


async def test_keys_of_other_threads_and_no_key_are_nothing_to_it() -> None:
    store = InMemoryThreadStore()
    one, other = Thread(store, "n", "one"), Thread(store, "n", "other")
    for thread in (one, other):
        await thread.append("a", key="k")
        await thread.append("a", key="l")
        await thread.append("a")
        await thread.append("a")
    assert len(one) == len(other) == 4
    await store.delete("n", "one")
    await one.refresh()
    await one.append("a", key="k")
    assert said(one) == ["a"]


@pytest.mark.parametrize("key", ["", "x" * 257, "a\nb", 7])
async def test_a_key_that_is_none_is_refused(key: str) -> None:
    thread = Thread(InMemoryThreadStore(), "n", "t")
    with pytest.raises(InvalidInput, match="key"):
        await thread.append("a", key=key)
    with pytest.raises(InvalidInput, match="key"):
        await thread.append_many([{"content": "a", "key": key}])
    assert not thread.messages()


async def test_a_redacted_turn_still_knows_its_key(tmp_path: Path) -> None:
    store = JsonlThreadStore(tmp_path)
    thread = Thread(store, "n", "t")
    await thread.append("one", key="k")
    await store.redact("n", "t", [1], AT)
    await thread.append("one", key="k")
    assert said(await thread.refresh()) == ["[redacted]"]


@pytest.mark.parametrize("guards", [{"integrity": "keyed"}, {"encryption": b"e" * 32}])
async def test_keys_hold_in_guarded_threads(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, guards: dict[str, str]
) -> None:
    monkeypatch.setenv("RETENTIVE_INTEGRITY_KEY", "00" * 32)
    monkeypatch.setenv("RETENTIVE_STATE", str(tmp_path / "state"))
    one = await open_thread("t", home=tmp_path / "home", **guards)  # pyright: ignore[reportArgumentType]
    await one.append_many(["a", {"content": "b", "key": "k"}])
    await one.append_many(["c", {"content": "b", "key": "k"}, "d"])
    assert said(one) == ["a", "b", "c", "d"]
    assert said(await one.refresh()) == ["a", "b", "c", "d"]


async def test_four_processes_that_retry_the_same_calls_append_each_once(tmp_path: Path) -> None:
    def retry(name: str) -> None:
        subprocess.run([sys.executable, "-c", _RETRY, str(tmp_path), name], check=True)

    await asyncio.gather(*[asyncio.to_thread(retry, name) for name in "abcd"])
    thread = await open_thread("t", home=tmp_path)
    assert sorted(int(text.split()[1]) for text in said(thread)) == list(range(20))


@settings(max_examples=50, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 2), st.lists(st.sampled_from(["a", "b", "c", None]), max_size=4))))
def test_each_key_is_there_once_and_the_others_as_often_as_appended(
    calls: list[tuple[int, list[str | None]]],
) -> None:
    async def run() -> None:
        store = InMemoryThreadStore()
        threads = [Thread(store, "n", "t") for _ in range(3)]
        for which, keys in calls:
            await threads[which].append_many([{"content": key or "-", "key": key} for key in keys])
        there = said(await threads[0].refresh())
        asked = [key or "-" for _, keys in calls for key in keys]
        assert there.count("-") == asked.count("-")
        for key in "abc":
            assert there.count(key) == (key in asked)

    asyncio.run(run())
