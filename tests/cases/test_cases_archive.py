"""The handed cases of export and import, and the export parts of others; named by their ids."""

import io
import json
import os
import time
import zipfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from retentive import Memory
from retentive.checks import Json
from retentive.stores.base import NewTurn
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.testing.clocks import START
from retentive.testing.places import Place


async def archive_of(memory: Memory, **options: Any) -> io.BytesIO:
    file = io.BytesIO()
    await memory.export(file, **options)
    return file


def contents(archive: io.BytesIO) -> list[str]:
    with zipfile.ZipFile(archive) as packed:
        return [json.loads(line)["content"] for line in packed.read("memories.jsonl").splitlines()]


@pytest.fixture
def tokyo(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    if hasattr(time, "tzset"):
        time.tzset()
    yield
    monkeypatch.undo()
    if hasattr(time, "tzset"):
        time.tzset()


async def test_mig_2_a_round_trip_keeps_everything_and_a_second_import_adds_nothing(place: Place) -> None:
    memory, threads = place.open(), InMemoryThreadStore()
    place.clock.now = datetime(2020, 5, 1, tzinfo=UTC)
    for user in ("u1", "u2", "u3"):
        item = None
        for n in range(10):
            item = await memory.remember(
                f"Locker {n} of {user}:\n\"red\" 'blue'\u2028🎣",
                user_id=user,
                importance=n / 10,
                metadata={"n": n, "deep": {"x": [n]}},
                tags=[f"t{n}"],
                ttl=timedelta(days=n + 1) if n % 2 else None,
            )
            place.clock.move(seconds=1)
        assert item is not None
        await memory.update(item.id, user_id=user, importance=1.0)
        forgotten = await memory.remember(f"forgotten {user}", user_id=user)
        await memory.forget(forgotten.id, user_id=user)
    for thread in ("a", "b", "c"):
        call: dict[str, Json] = {"tool_calls": [{"id": "1", "name": "look", "args": {"q": "🎣"}}]}
        turns = [
            NewTurn(id="1", role="user", content="Which locker?", at=START),
            NewTurn(id="2", role="assistant", content="Looking.", at=START, metadata=call),
            NewTurn(id="3", role="tool", content='{"locker": 3}', at=START),
        ]
        await threads.append("default", thread, turns, 0)
    first = await archive_of(memory, threads=threads)
    assert len(contents(first)) == 30
    assert not any("forgotten" in content for content in contents(first))

    empty, kept = Memory(store=InMemoryStore(), clock=place.clock), InMemoryThreadStore()
    await empty.import_(first, threads=kept)
    assert (await archive_of(empty, threads=kept)).getvalue() == first.getvalue()
    again = await memory.import_(first, threads=threads)
    assert (again.imported, again.present, again.threads, again.refused) == (0, 30, 0, 0)
    assert (await archive_of(memory, threads=threads)).getvalue() == first.getvalue()

    place.clock.move(days=2, hours=1)
    later = Memory(store=InMemoryStore(), clock=place.clock)
    report = await later.import_(first)
    assert (report.imported, report.expired) == (27, 3)
    left = {item.expires_at for item in await later.list(user_id="u1", limit=100) if item.expires_at}
    assert min(left) > place.clock()
    assert left <= {item.expires_at for item in await memory.list(user_id="u1", limit=100)}


@pytest.mark.usefixtures("tokyo")
async def test_tim_3_nothing_expired_is_exported(place: Place) -> None:
    assert os.environ["TZ"] == "Asia/Tokyo"
    memory = place.open()
    await memory.remember("gate code 7781", ttl=timedelta(seconds=60))
    assert contents(await archive_of(memory)) == ["gate code 7781"]
    place.clock.move(seconds=59.999)
    assert contents(await archive_of(memory)) == ["gate code 7781"]
    for step in (0.001, 1):
        place.clock.move(seconds=step)
        assert contents(await archive_of(memory)) == []
    await memory.remember("gate code 7781")
    assert contents(await archive_of(memory)) == ["gate code 7781"]


TEN_1 = ["ann_lee", "annxlee", "ann-lee", "100%", "100x", "a*", "ab", "a[bc]", "a?c", "a\\b"]


@pytest.mark.parametrize("as_namespaces", [False, True])
async def test_ten_1_an_export_holds_its_own_scope_alone(place: Place, as_namespaces: bool) -> None:
    names = [name for name in TEN_1 if not (as_namespaces and "\\" in name)]
    for name in names:
        memory = place.open(name) if as_namespaces else place.open()
        await memory.remember(f"secret of {name}", user_id=None if as_namespaces else name)
    for name in names:
        archive = (
            await archive_of(place.open(name))
            if as_namespaces
            else await archive_of(place.open(), user_id=name)
        )
        assert contents(archive) == [f"secret of {name}"]
        into = Memory("fresh", store=InMemoryStore())
        await into.import_(archive)
        assert [scope.user_id for scope in await into.scopes()] == [None if as_namespaces else name]


async def test_ten_5_no_export_or_import_reaches_another_tenant(place: Place) -> None:
    mine, theirs = place.open("a"), place.open("b")
    await mine.remember("alpha word KITEFISH")
    other = await theirs.remember("beta word KITEFISH")
    archive = await archive_of(mine)
    with zipfile.ZipFile(archive) as packed:
        assert not any(b"beta" in packed.read(name) for name in packed.namelist())
    before = (await archive_of(theirs)).getvalue()
    report = await mine.import_(io.BytesIO(before))
    assert report.imported == 1
    assert (await archive_of(theirs)).getvalue() == before
    assert await theirs.get(other.id) == other
    assert {scope.namespace for scope in await mine.scopes()} == {"a"}


async def test_del_1_the_old_wording_is_not_exported(place: Place) -> None:
    memory = place.open()
    item = await memory.remember("Elin rows for Harbour Club")
    await memory.update(item.id, content="Elin rows for Lakeside Club")
    archive = await archive_of(memory, vectors=True)
    assert contents(archive) == ["Elin rows for Lakeside Club"]
    with zipfile.ZipFile(archive) as packed:
        assert not any(b"Harbour" in packed.read(name) for name in packed.namelist())
