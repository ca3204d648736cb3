"""The handed cases of unicode, query syntax, sizes, names and times, for memories; named by their ids."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from retentive import InvalidInput, Memory
from retentive.names import file_name
from retentive.testing.embedders import ScriptedEmbedder
from retentive.testing.places import Place


def constant() -> ScriptedEmbedder:
    return ScriptedEmbedder({}, dimensions=2, otherwise=(1, 0))


def no_vectors() -> ScriptedEmbedder:
    return ScriptedEmbedder({}, dimensions=2, otherwise=(0, 0))


async def test_uni_2_u_0000_is_refused_before_anything_is_written(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match=r"U\+0000"):
        await memory.remember("valve\x00 open")
    with pytest.raises(InvalidInput, match=r"metadata\.k"):
        await memory.remember("valve open", metadata={"k": "a\x00b"})
    with pytest.raises(InvalidInput):
        await memory.remember_many(["one", "two\x00", "three"])
    assert await memory.count() == 0
    item = await memory.remember("valve open")
    assert [hit.id for hit in await memory.recall("valve\x00 open")] == [item.id]
    assert not await memory.forget("m\x00")
    assert await memory.forget(item.id)


UNI_3 = {
    "A": "京都で抹茶アイスを食べた",
    "B": "우리 강아지는 수영을 싫어한다",
    "C": "Мой кот любит рыбу",
    "D": "قطتي تحب السمك",
    "E": "他每周三去游泳馆",
}


@pytest.mark.parametrize("embedder", [constant, no_vectors])
@pytest.mark.parametrize(
    ("query", "wanted"),
    [("京都", "A"), ("抹茶アイス", "A"), ("수영", "B"), ("кот", "C"), ("السمك", "D"), ("游泳", "E")],
)
async def test_uni_3_words_of_every_script_are_found(
    place: Place, query: str, wanted: str, embedder: type[ScriptedEmbedder]
) -> None:
    memory = place.open(embedder=embedder())  # pyright: ignore[reportCallIssue]
    await memory.remember_many(UNI_3.values())
    for ask in (memory.recall, memory.search):
        assert [hit.content for hit in await ask(query, limit=1)] == [UNI_3[wanted]]


QRY_1 = {
    "KX-204": "Ticket KX-204 blocks the release",
    "don't": "Don't ship on Fridays",
    "C++": "Samples use C++ and C#",
    "C#": "Samples use C++ and C#",
    "etc/app\\conf.d": "Config lives in etc/app\\conf.d",
    "kettle OR": "The blue kettle leaks",
}


@pytest.mark.parametrize("vectors", [True, False])
async def test_qry_1_ordinary_text_is_a_query_and_finds_its_own(place: Place, vectors: bool) -> None:
    memory = place.open() if vectors else place.open(embedder=no_vectors())
    await memory.remember_many(dict.fromkeys(QRY_1.values()))
    for query, wanted in QRY_1.items():
        if query == "don't" and not vectors:
            continue  # a word so common that it is found by its meaning alone
        for ask in (memory.recall, memory.search):
            assert (await ask(query))[0].content == wanted, query


NOISE = ['"', "*", "(", "^", "- - -", "NEAR(", "AND", "🐱", "\x00", "\ud8ab"]
WORDS = ["note:", "x" * 5_000, "kettle* AND (", 'NEAR("kettle" leaks, 2)']


@pytest.mark.parametrize("query", WORDS, ids=range(len(WORDS)))
async def test_qry_1_signs_around_words_change_nothing(memory: Memory, query: str) -> None:
    await memory.remember_many(dict.fromkeys(QRY_1.values()))
    for ask in (memory.recall, memory.search):
        assert len(await ask(query)) <= 5
    if "kettle" in query:
        assert (await memory.recall(query))[0].content == QRY_1["kettle OR"]


@pytest.mark.parametrize("query", NOISE, ids=range(len(NOISE)))
async def test_qry_1_noise_never_raises(place: Place, query: str) -> None:
    memory = place.open(embedder=no_vectors())
    await memory.remember_many(dict.fromkeys(QRY_1.values()))
    assert await memory.recall(query) == []
    with_vectors = place.open("other")
    await with_vectors.remember_many(dict.fromkeys(QRY_1.values()))
    assert all("words" not in hit.why for hit in await with_vectors.recall(query))


async def test_qry_2_no_word_or_sign_is_an_operator(place: Place) -> None:
    memory = place.open(embedder=no_vectors())
    tea, mill, kettle = ("Bring tea, not coffee", "NEAR the old mill", "The blue kettle leaks")
    await memory.remember_many([tea, mill, kettle])

    async def found(query: str) -> list[str]:
        return [hit.content for hit in await memory.search(query)]

    assert (await found("tea NOT coffee"))[0] == tea
    assert (await found("NEAR mill"))[0] == mill
    for column in ("text", "content", "id"):
        assert (await found(f"{column}:kettle"))[0] == kettle
        assert await found(f"{column}:kettle") == await found(f"{column} kettle")
    assert await found("id:1") == await found("id 1")
    assert await found("content:") == await found("content")
    assert await found("kett*") == await found("kett") == []
    both = await found('kettle" OR "tea')
    assert set(both) == {tea, kettle}
    assert both == await found("kettle OR tea")


async def test_qry_3_ids_tags_and_users_are_data(place: Place) -> None:
    memory = place.open()
    items = [
        await memory.remember(text, user_id="o'malley") for text in ("one fact", "two birds", "three fish")
    ]
    assert not await memory.forget("x' OR '1'='1", user_id="o'malley")
    assert (await memory.forget(items[0].id, user_id="o'malley")).ids == (items[0].id,)
    assert not (await memory.list(user_id="o'malley", tags=["a'); DROP TABLE memories; --"])).items
    assert not await memory.clear(user_id="%")
    assert not await memory.clear(user_id="o_malley")
    for reader in (memory, place.open()):
        assert list(await reader.list(user_id="o'malley")) == [items[2], items[1]]


async def test_emp_1_a_long_text_is_kept_whole_or_refused(memory: Memory) -> None:
    text = "".join(f"{number:04d};" for number in range(480))
    item = await memory.remember(text)
    read = await memory.get(item.id)
    assert read is not None
    assert read.content == text
    assert [hit.id for hit in await memory.recall("0479;", limit=1)] == [item.id]
    long = "lorem ipsum " * 8_333 + "end."
    read = await memory.get((await memory.remember(long)).id)
    assert read is not None
    assert read.content == long
    with pytest.raises(InvalidInput, match="1,000,000"):
        await memory.remember("x" * 5_000_000)
    assert await memory.count() == 2


async def test_emp_2_a_long_text_is_shortened_for_the_embedder_alone(place: Place) -> None:
    def short_only(texts: Sequence[str]) -> object:
        if max(map(len, texts)) > 2_000:
            raise ValueError("input too long")
        return [(1.0, 0.0) for _ in texts]

    memory = place.open(embedder=ScriptedEmbedder(short_only, dimensions=2))
    text = "blah and so on, " * 620 + "my locker code is 4417"
    assert len(text) > 9_900
    item = await memory.remember(text)
    read = await memory.get(item.id)
    assert read is not None
    assert read.content == text
    for query in ("locker code", "what about it? " * 700 + "locker code"):
        hits = await memory.recall(query)
        assert [hit.id for hit in hits] == [item.id]
        assert not hits.degraded


IDS_1 = [
    "../../evil",
    "/var/evil",
    "..",
    ".",
    "a/../../b",
    "a\\..\\b",
    "%2e%2e%2fevil",
    "~root",
    "a\x00b",
    "C:evil",
]
IDS_1.append("a" * 300)


def tree(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


@pytest.mark.parametrize("name", IDS_1, ids=range(len(IDS_1)))
async def test_ids_1_no_name_leaves_the_folder(place: Place, tmp_path: Path, name: str) -> None:
    await place.open().remember("there before")
    before = {path for path in tree(tmp_path) if not path.startswith("place/")}
    for as_namespace in (True, False):
        try:
            memory = place.open(name) if as_namespace else place.open()
            user = None if as_namespace else name
            item = await memory.remember("a fact", user_id=user)
        except InvalidInput:
            continue
        assert list(await memory.list(user_id=user)) == [item]
        assert name in {memory.namespace, *(scope.user_id for scope in await memory.scopes())}
        assert (await memory.clear(user_id=user)).ids == (item.id,)
    assert await place.open().count() == 1
    assert {path for path in tree(tmp_path) if not path.startswith("place/")} == before


async def test_ids_2_names_that_differ_by_case_are_different(place: Place) -> None:
    names = ["User", "user", "USER", "straße", "STRASSE"]
    for name in names:
        await place.open(name).remember(f"fact of {name}")
    memory = place.open()
    for user in ("Ann", "ann"):
        await memory.remember(f"fact of {user}", user_id=user)
    for name in names:
        assert [item.content for item in await place.open(name).list()] == [f"fact of {name}"]
    for user in ("Ann", "ann"):
        assert [item.content for item in await memory.list(user_id=user)] == [f"fact of {user}"]
    assert len({file_name(name).casefold() for name in names}) == 5


REMEMBER_OR_READ = """
import asyncio, sys
from datetime import datetime
from retentive import Memory
async def main(url, what):
    async with Memory(store=url) as memory:
        if what == "write":
            await memory.remember("The talk", occurred_at=datetime.fromisoformat("2026-03-08T10:30:00+05:30"))
        item = (await memory.list()).items[0]
        print(item.occurred_at.isoformat(), item.created_at.utcoffset())
asyncio.run(main(*sys.argv[1:]))
"""


@pytest.mark.parametrize(
    ("writer", "reader"),
    [("UTC", "Asia/Kolkata"), ("America/Los_Angeles", "UTC"), ("Asia/Kolkata", "America/Los_Angeles")],
)
@pytest.mark.parametrize("url", ["sqlite:///{}/m.db", "file://{}/m"])
def test_tim_2_a_time_is_the_same_instant_in_every_zone(
    tmp_path: Path, url: str, writer: str, reader: str
) -> None:
    for zone, what in ((writer, "write"), (reader, "read")):
        command = [sys.executable, "-c", REMEMBER_OR_READ, url.format(tmp_path), what]
        done = subprocess.run(
            command, capture_output=True, text=True, check=True, timeout=60, env={**os.environ, "TZ": zone}
        )
        assert done.stdout == "2026-03-08T05:00:00+00:00 0:00:00\n"


async def test_tim_2_a_time_without_a_zone_is_refused(memory: Memory) -> None:
    naive = datetime(2026, 3, 8, 10, 30)  # noqa: DTZ001 - what is refused
    with pytest.raises(InvalidInput, match="time zone"):
        await memory.remember("The talk", occurred_at=naive)
    for bound in ("since", "until", "as_of"):
        with pytest.raises(InvalidInput, match="time zone"):
            await memory.recall("talk", **{bound: naive})  # pyright: ignore[reportArgumentType]
    assert await memory.count() == 0


@pytest.fixture(params=["Asia/Tokyo", "UTC", "America/Los_Angeles"])
def zone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[str]:
    if not hasattr(time, "tzset"):
        pytest.skip("this system sets its zone otherwise")
    monkeypatch.setenv("TZ", request.param)
    time.tzset()
    yield request.param
    monkeypatch.undo()
    time.tzset()


async def test_tim_3_nothing_expired_is_read_and_it_is_no_duplicate(place: Place, zone: str) -> None:
    memory, start = place.open(), place.clock()
    first = await memory.remember("gate code 7781", ttl=timedelta(seconds=60))
    assert first.expires_at == start + timedelta(seconds=60)
    for seconds, visible in [(0, True), (59.999, True), (60, False), (61, False)]:
        place.clock.now = start + timedelta(seconds=seconds)
        for reader in (memory, place.open()):
            read = [
                await reader.get(first.id) is not None,
                bool(await reader.recall("gate code")),
                bool(await reader.search("gate code")),
                bool((await reader.list()).items),
                bool(await reader.count()),
            ]
            assert read == [visible] * 5
    again = await memory.remember("gate code 7781")
    assert again.id != first.id
    assert again.created_at == datetime(2026, 1, 1, 12, 1, 1, tzinfo=UTC)
    assert [item.id for item in await memory.list()] == [again.id]


async def test_tim_1_memories_of_one_instant_keep_their_order(place: Place) -> None:
    memory = place.open()
    first = await memory.remember_many([f"step {number}" for number in range(4)])
    single = [await memory.remember(str(number)) for number in range(100)]
    assert {item.created_at for item in (*first, *single)} == {place.clock()}
    for _ in range(20):
        for reader in (memory, place.open()):
            assert list(await reader.list(limit=1_000)) == [*first, *single][::-1]
            assert [item.content for item in await reader.list(limit=3)] == ["99", "98", "97"]


async def test_uni_1_a_text_cut_for_the_embedder_is_cut_between_characters(place: Place) -> None:
    seen: list[str] = []

    def keep(texts: Sequence[str]) -> object:
        seen.extend(texts)
        return [(1.0, 0.0) for _ in texts]

    memory = place.open(embedder=ScriptedEmbedder(keep, dimensions=2))
    for tail in ("🦀🦀🦀", "👨\u200d👩\u200d👧\u200d👦" * 3, "e\u0301" * 5):
        for pad in range(1_990, 2_003):
            text = "x" * pad + tail
            item = await memory.remember(text)
            await memory.recall(text)
            assert item.content == text
    for text in seen:
        text.encode()
        assert len(text) <= 2_000
        assert not text.endswith(("\u200d", "e"))
