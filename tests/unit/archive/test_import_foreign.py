"""What other programs exported comes in as imported, once, and to whom it should."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

from retentive import InvalidInput, Memory, Origin
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.testing.places import Place

SAMPLES = Path(__file__).parents[2] / "samples" / "imports"


def entries(*data: Any) -> io.BytesIO:
    return io.BytesIO(json.dumps(list(data)).encode())


async def test_memories_go_to_the_users_the_file_names_and_a_second_import_adds_none(place: Place) -> None:
    memory = place.open()
    for imported, present in ((2, 0), (0, 2)):
        report = await memory.import_(SAMPLES / "mem0.json")
        assert (report.format, report.imported, report.present) == ("mem0", imported, present)
        assert (report.expired, report.refused) == (1, 2)
    assert [scope.user_id for scope in await memory.scopes()] == ["nadia", "omar"]
    (item,) = await memory.list(user_id="nadia")
    assert (item.origin, item.tags) == (Origin.IMPORTED, ("health", "food"))
    assert [hit.id for hit in await memory.recall("walnuts", user_id="nadia")] == [item.id]


@pytest.mark.parametrize(("format", "count"), [("mcp.jsonl", 4), ("langgraph.json", 2)])
async def test_memories_of_nobody_go_to_the_user_named(place: Place, format: str, count: int) -> None:
    memory = place.open()
    assert (await memory.import_(SAMPLES / format, user_id="ann")).imported == count
    assert await memory.count(user_id="ann") == count
    assert (await memory.import_(SAMPLES / format)).imported == count  # the shared scope is another


@pytest.mark.parametrize(
    ("format", "threads", "turns"),
    [("chatgpt.json", 2, 3), ("claude.json", 1, 3), ("claude-code.jsonl", 1, 4)],
)
async def test_conversations_become_threads_once(
    memory: Memory, format: str, threads: int, turns: int
) -> None:
    store = InMemoryThreadStore()
    with pytest.raises(InvalidInput, match="threads="):
        await memory.import_(SAMPLES / format)
    report = await memory.import_(SAMPLES / format, threads=store)
    assert (report.threads, report.turns) == (threads, turns)
    again = await memory.import_(SAMPLES / format, threads=store)
    assert (again.threads, again.threads_present, again.turns) == (0, threads, 0)
    assert len(await store.threads("default")) == threads
    assert await memory.scopes() == []


async def test_a_changed_entry_of_a_known_id_is_refused_and_the_old_stays(memory: Memory) -> None:
    await memory.import_(entries({"id": 1, "memory": "Nadia eats nuts", "user_id": "n"}))
    report = await memory.import_(entries({"id": 1, "memory": "Nadia never eats nuts", "user_id": "n"}))
    assert (report.imported, report.present, report.refused) == (0, 0, 1)
    assert report.refusals[0].place == "[0]"
    assert [item.content for item in await memory.list(user_id="n")] == ["Nadia eats nuts"]


async def test_an_entry_that_no_memory_can_be_is_refused_alone(memory: Memory) -> None:
    report = await memory.import_(
        entries(
            {"id": 1, "memory": "x" * 1_000_001},
            {"id": 2, "memory": "Tag", "categories": "food"},
            {"id": 3, "memory": "User", "user_id": " "},
            {"id": 4, "memory": "Good", "metadata": {"deep": [1]}},
        )
    )
    assert (report.imported, report.refused) == (1, 3)
    assert {one.place for one in report.refusals} == {"[0]", "[1]", "[2]"}


async def test_a_dry_run_of_a_foreign_file_writes_nothing(memory: Memory) -> None:
    report = await memory.import_(SAMPLES / "mem0.json", dry_run=True)
    assert (report.imported, report.expired, report.refused) == (2, 1, 2)
    assert await memory.scopes() == []


async def test_memories_of_several_users_are_not_given_to_one(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="2 users"):
        await memory.import_(SAMPLES / "mem0.json", user_id="ann")
    assert await memory.scopes() == []
