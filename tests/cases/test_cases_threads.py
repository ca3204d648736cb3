"""The handed cases that concern threads, named by their ids."""
# ruff: noqa: ASYNC240  (a test acts on the files by hand)

import asyncio
import copy
import datetime as dt
import enum
import gc
import json
import os
import subprocess
import sys
import threading
import unicodedata
import uuid
from collections.abc import AsyncIterator
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest

from retentive.errors import InvalidInput, StoreClosed
from retentive.names import file_name
from retentive.stores.base import ThreadStore
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.threads import Thread, open_thread
from retentive.tokens import truncate


@pytest.fixture(params=["jsonl", "memory"])
async def store(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ThreadStore]:
    store = JsonlThreadStore(tmp_path / "threads") if request.param == "jsonl" else InMemoryThreadStore()
    yield store
    await store.close()


def said(thread: Thread) -> list[str]:
    return [turn.content for turn in thread.messages()]


async def fresh(home: Path, id: str = "t", namespace: str = "default") -> Thread:
    """The thread as a new process would load it."""
    return await open_thread(id, namespace, store=JsonlThreadStore(home / "threads"))


def run_python(script: str, *args: object, **environment: str) -> subprocess.Popen[str]:
    command = [sys.executable, "-c", script, *map(str, args)]
    pipe = subprocess.PIPE
    return subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, env={**os.environ, **environment})


def finished(process: subprocess.Popen[str]) -> str:
    output, errors = process.communicate(timeout=120)
    assert process.returncode == 0, errors
    return output


APPENDER = """
import asyncio, sys
from pathlib import Path
from retentive.threads import open_thread

async def main(home, p):
    thread = await open_thread("standup", "team", home=Path(home))
    Path(home, f"ready-{p}").touch()
    while len(list(Path(home).glob("ready-*"))) < 4:  # all four begin at once
        await asyncio.sleep(0)
    for i in range(25):
        await thread.append(f"p{p}-m{i}")

asyncio.run(main(*sys.argv[1:]))
"""


async def test_con_2_four_processes_append_without_loss_or_hole(tmp_path: Path) -> None:
    for process in [run_python(APPENDER, tmp_path, p) for p in range(4)]:
        finished(process)
    thread = await open_thread("standup", "team", home=tmp_path)
    texts = said(thread)
    assert len(texts) == len(set(texts)) == 100
    assert [turn.seq for turn in thread.messages()] == list(range(1, 101))
    for p in range(4):
        assert [text for text in texts if text.startswith(f"p{p}-")] == [f"p{p}-m{i}" for i in range(25)]
    lines = (tmp_path / "threads" / "team" / "standup.jsonl").read_text().splitlines()
    assert sorted(json.loads(line)["content"] for line in lines) == sorted(texts)


async def test_trn_1_a_cut_last_line_costs_that_turn_only(tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    await asyncio.gather(*(thread.append(f"m{n}") for n in range(200)))
    del thread
    log = tmp_path / "threads" / "default" / "t.jsonl"
    os.truncate(log, log.stat().st_size - 7)
    torn = log.read_bytes().rsplit(b"\n", 1)[1]
    again = await fresh(tmp_path)
    assert said(again) == [f"m{n}" for n in range(199)]
    assert [damage.line for damage in again.damage] == [200]
    await again.append("after")
    assert said(again) == said(await fresh(tmp_path)) == [*(f"m{n}" for n in range(199)), "after"]
    [damage] = again.damage
    assert Path(str(damage.kept_at)).read_bytes() == torn


@pytest.mark.parametrize("variant", ["A", "B"])
async def test_trn_2_a_stub_or_a_missing_newline_spoils_no_later_turn(tmp_path: Path, variant: str) -> None:
    await (await open_thread("t", home=tmp_path)).append_many(["one", "two", "three"])
    log = tmp_path / "threads" / "default" / "t.jsonl"
    whole = log.read_bytes()
    log.write_bytes(whole + b'{"role":"user","te' if variant == "A" else whole[:-1])
    await (await fresh(tmp_path)).append("four")
    await (await fresh(tmp_path)).append("five")
    assert said(await fresh(tmp_path)) == ["one", "two", "three", "four", "five"]
    lines = log.read_bytes().splitlines()
    assert [json.loads(line)["seq"] for line in lines] == [1, 2, 3, 4, 5]
    assert b"}{" not in log.read_bytes()


async def test_trn_3_a_bad_line_in_the_middle_costs_that_line_only(tmp_path: Path) -> None:
    thread = await open_thread("t", home=tmp_path)
    for n in range(10):
        await thread.append(f"m{n}")
    log = tmp_path / "threads" / "default" / "t.jsonl"
    lines = log.read_bytes().splitlines(keepends=True)
    lines[3] = b'{"role":"assistant","text":"half\n'
    log.write_bytes(b"".join(lines))
    kept = [f"m{n}" for n in range(10) if n != 3]
    again = await fresh(tmp_path)
    assert said(again) == kept
    assert [damage.line for damage in again.damage] == [4]
    await again.append("m10")
    assert said(again) == said(await fresh(tmp_path)) == [*kept, "m10"]
    assert log.read_bytes().startswith(b"".join(lines))


@pytest.mark.parametrize(
    "tail", ["🦀🦀🦀", "👩‍👩‍👧‍👦👩‍👩‍👧‍👦", "e\u0301e\u0301"], ids=["crab", "family", "accent"]
)
@pytest.mark.parametrize("more", [-1, 0, 1, 2, 5])
async def test_uni_1_a_cut_text_is_a_whole_beginning_and_strict_json(
    tmp_path: Path, tail: str, more: int
) -> None:
    text = "x" * 9 + tail
    cut = truncate(text, 10 + more)
    assert text.startswith(cut)
    thread = await open_thread("t", home=tmp_path)
    await thread.append(cut, role="tool")
    for shape in (thread.messages().to_openai(), thread.messages().to_anthropic()):
        sent = json.dumps(shape, ensure_ascii=False).encode()
        assert not any(0xD800 <= ord(char) < 0xE000 for char in sent.decode())
    (tmp_path / "threads" / "default" / "t.jsonl").read_bytes().decode()


async def test_uni_1_half_a_character_is_never_stored(store: ThreadStore) -> None:
    thread = await open_thread("t", store=store)
    for bad in ("x\ud83e", "\udd80x"):
        with pytest.raises(InvalidInput, match="surrogate"):
            await thread.append(bad)
    assert said(thread) == []


async def test_uni_2_u_0000_is_refused_before_anything_is_written(store: ThreadStore) -> None:
    thread = await open_thread("t", store=store)
    await thread.append("before")
    with pytest.raises(InvalidInput, match=r"U\+0000"):
        await thread.append("out\x00put", role="tool")
    with pytest.raises(InvalidInput, match=r"U\+0000"):
        await thread.append("ok", metadata={"k": "a\x00b"})
    with pytest.raises(InvalidInput):
        await thread.append_many(["one", "two\x00", "three"])
    await thread.append("after")
    assert said(thread) == said(await thread.refresh()) == ["before", "after"]


HOSTILE = [
    "../../evil",
    "/var/evil",
    "..",
    ".",
    "a/../../b",
    "a\\..\\b",
    "%2e%2e%2fevil",
    "~root",
    "a\0b",
    "a" * 300,
]
HOSTILE.append("C:evil")


@pytest.mark.parametrize("name", HOSTILE, ids=range(len(HOSTILE)))
@pytest.mark.parametrize("as_namespace", [False, True], ids=["id", "namespace"])
async def test_ids_1_no_name_leaves_the_folder(tmp_path: Path, name: str, as_namespace: bool) -> None:
    home = tmp_path / "parent" / "home"
    (tmp_path / "parent").mkdir()
    (tmp_path / "parent" / "b").write_text("bystander")
    where = ("t", name) if as_namespace else (name, "ns")
    store = JsonlThreadStore(home / "threads")
    try:
        thread = await open_thread(*where, home=home)
        await thread.append("hello")
    except InvalidInput:
        assert not home.exists()
    else:
        assert said(await open_thread(*where, store=store)) == ["hello"]
        assert await store.threads(where[1]) == [where[0]]
        assert await store.namespaces() == [where[1]]
        [log] = home.rglob("*.jsonl")
        assert log.parent.parent == home / "threads"
        assert await store.delete(where[1], where[0])
        assert [path for path in home.rglob("*") if path.is_file()] == []
    outside = [path for path in tmp_path.rglob("*") if home not in path.parents and path.is_file()]
    assert outside == [tmp_path / "parent" / "b"]
    await store.close()


async def test_ids_2_names_that_differ_by_case_are_different_threads(store: ThreadStore) -> None:
    names = ["User", "user", "USER", "straße", "STRASSE", "é", "e\u0301"]
    for name in names:
        await (await open_thread(name, store=store)).append(f"I am {name}")
    gc.collect()
    for name in names:
        assert said(await open_thread(name, store=store)) == [f"I am {name}"]
    assert await store.threads("default") == sorted(names)
    files = {unicodedata.normalize("NFC", file_name(name)).casefold() for name in names}
    assert len(files) == len(names)


async def test_tim_1_order_is_that_of_the_appends_though_the_clock_stands_still(store: ThreadStore) -> None:
    noon = dt.datetime(2026, 3, 8, 12, tzinfo=dt.UTC)
    thread = Thread(store, "default", "t", clock=lambda: noon)
    roles = ["user", "assistant", "tool", "assistant"]
    await thread.append_many({"content": f"s{n}", "role": role} for n, role in enumerate(roles))
    await asyncio.gather(*(thread.append(str(n)) for n in range(50)))
    for n in range(50, 100):
        await thread.append(str(n))
    expected = ["s0", "s1", "s2", "s3", *(str(n) for n in range(100))]
    for _ in range(20):
        again = await Thread(store, "default", "t").refresh()
        assert said(again) == expected
        assert [turn.content for turn in again.messages(limit=3)] == ["97", "98", "99"]
        assert {turn.at for turn in again.messages()} == {noon}


ZONED = """
import asyncio, datetime, sys
from pathlib import Path
from retentive.threads import Thread
from retentive.stores.jsonl_threads import JsonlThreadStore

async def main(home, zone):
    at = datetime.datetime.fromisoformat("2026-03-08T10:30:00+05:30")
    store = JsonlThreadStore(Path(home) / "threads")
    thread = Thread(store, "default", "t", clock=lambda: at)
    await thread.refresh()
    await thread.append(zone)
    print(*(turn.at.isoformat() for turn in (await Thread(store, "default", "t").refresh()).messages()))

asyncio.run(main(*sys.argv[1:]))
"""


async def test_tim_2_a_time_is_the_same_instant_in_every_zone(tmp_path: Path) -> None:
    for zone in ("UTC", "America/Los_Angeles", "Asia/Kolkata"):
        times = finished(run_python(ZONED, tmp_path, zone, TZ=zone)).split()
        assert set(times) == {"2026-03-08T05:00:00+00:00"}
    thread = await open_thread("t", home=tmp_path)
    assert [turn.at.utcoffset() for turn in thread.messages()] == [dt.timedelta(0)] * 3


async def test_lim_2_a_limit_gives_the_latest_and_nonsense_is_refused(store: ThreadStore) -> None:
    thread = await open_thread("t", store=store)
    await thread.append_many(f"m{n}" for n in range(5))
    assert [turn.content for turn in thread.messages(limit=3)] == ["m2", "m3", "m4"]
    assert thread.messages(limit=0) == []
    assert len(thread.messages(limit=None)) == len(thread.messages(limit=1_000_000)) == 5
    bad: list[Any] = [-1, -100, 2.0, "3", True]
    for limit in bad:
        with pytest.raises(InvalidInput):
            thread.messages(limit=limit)


async def test_jsn_1_nobody_changes_a_thread_through_an_alias(store: ThreadStore) -> None:
    thread = await open_thread("t", store=store)
    meta: dict[str, Any] = {"tags": ["a"]}
    passed: dict[str, Any] = {"content": "x", "metadata": meta}
    await thread.append_many([passed])
    meta["tags"].append("b")
    passed["content"] = "changed"
    messages = thread.messages()
    with pytest.raises(AttributeError):
        messages.clear()  # type: ignore[attr-defined]  # pyright: ignore
    tags: Any = messages[0].metadata["tags"]
    with pytest.raises(TypeError):
        tags.append("c")
    mine = copy.deepcopy(messages[0].metadata["tags"])
    assert isinstance(mine, list)
    mine.append("c")
    for again in (thread, await Thread(store, "default", "t").refresh()):
        assert [(turn.content, turn.metadata) for turn in again.messages()] == [("x", {"tags": ["a"]})]
    assert said(await open_thread("another", store=store)) == []


class Colour(enum.Enum):
    RED = "red"


NOT_JSON: list[Any] = [
    b"\xff\xfe",
    dt.datetime(2026, 1, 2, 3, 4, 5, tzinfo=dt.UTC),
    dt.date(2026, 1, 2),
    uuid.UUID(int=7),
    Decimal("10.10"),
    Colour.RED,
    {3, 1},
    Path("a"),
    {1: "a"},
    object(),
]


async def test_jsn_2_what_json_cannot_hold_is_refused_with_its_place(store: ThreadStore) -> None:
    thread = await open_thread("t", store=store)
    await thread.append("x", metadata={"pair": (1, 2), "big": 2**63})
    for value in NOT_JSON:
        with pytest.raises(InvalidInput, match=r"metadata\.result"):
            await thread.append("y", role="tool", metadata={"result": value})
    again = await Thread(store, "default", "t").refresh()
    assert [turn.metadata for turn in again.messages()] == [{"pair": [1, 2], "big": 2**63}]


def descriptors() -> int:
    gc.collect()
    return len(list(Path("/proc/self/fd").iterdir()))


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="descriptors cannot be counted here")
def test_res_1_descriptors_do_not_grow_with_loops_or_threads(tmp_path: Path) -> None:
    store = JsonlThreadStore(tmp_path / "threads")
    start = descriptors()

    async def turn() -> None:
        thread = await open_thread("t", store=store)
        await thread.append("a")

    def read() -> None:
        assert asyncio.run(store.turns("default", "t")).turns

    for n in range(200):
        asyncio.run(turn())
        worker = threading.Thread(target=read)
        worker.start()
        worker.join()
        if n == 10:
            at_10 = descriptors()
    assert descriptors() - at_10 <= 3  # pyright: ignore[reportPossiblyUnboundVariable]
    closer = threading.Thread(target=lambda: asyncio.run(store.close()))
    closer.start()
    closer.join()
    assert descriptors() <= start
    with pytest.raises(StoreClosed):
        asyncio.run(turn())


async def test_res_2_what_is_kept_in_memory_is_bounded_by_what_is_in_use(tmp_path: Path) -> None:
    from retentive import threads as module
    from retentive.stores.thread_log import MAX_LOGS_MARKED

    store = JsonlThreadStore(tmp_path / "threads")
    for n in range(0, 2_000, 50):
        opened = await asyncio.gather(*(open_thread(f"t{k}", store=store) for k in range(n, n + 50)))
        await asyncio.gather(*(thread.append("a") for thread in opened))
    del opened  # pyright: ignore[reportPossiblyUnboundVariable]
    gc.collect()
    live = vars(module)["_live"]
    assert len(live) < 100
    assert len(vars(store)["_marks"]) <= MAX_LOGS_MARKED
    await store.close()
    assert vars(vars(store)["_queue"])["_waiting"] == {}


async def test_res_2_batches_of_one_thread_never_overlap_while_others_come_and_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from retentive.stores import log_file

    inside: dict[int, int] = {}
    really = log_file.append_durably

    def watched(fd: int, data: bytes, keep: int) -> None:
        log = os.fstat(fd).st_ino
        assert inside.setdefault(log, 0) == 0, "two batches at once"
        inside[log] += 1
        really(fd, data, keep)
        inside[log] -= 1

    monkeypatch.setattr(log_file, "append_durably", watched)
    stores = [JsonlThreadStore(tmp_path / "threads") for _ in range(2)]

    async def rounds(store: JsonlThreadStore) -> None:
        for n in range(150):
            thread = await open_thread("same", store=store)
            await thread.append("a")
            del thread
            await (await open_thread(f"other-{n % 40}", store=store)).append("b")

    await asyncio.gather(*(rounds(store) for store in stores))
    assert len(await open_thread("same", store=stores[0])) == 300
    for store in stores:
        await store.close()


async def test_ten_2_a_longer_name_is_another_tenant(store: ThreadStore) -> None:
    namespaces = ["org:nova", "org:nova2", "org:nova:team", "org:novae"]
    for namespace in namespaces:
        await (await open_thread("t", namespace, store=store)).append(f"of {namespace}")
    assert await store.threads("org:nova") == ["t"]
    assert said(await open_thread("t", "org:nova", store=store)) == ["of org:nova"]
    assert await store.delete("org:nova", "t")
    assert await store.namespaces() == sorted(namespaces[1:])
    for namespace in namespaces[1:]:
        assert said(await Thread(store, namespace, "t").refresh()) == [f"of {namespace}"]
