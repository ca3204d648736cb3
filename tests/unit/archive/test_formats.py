"""What other programs export is read as they mean it; what cannot be used is named with its place."""

import io
import json
import zipfile
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from retentive import InvalidInput, Refusal
from retentive.archive.formats.base import ForeignMemory, ForeignThread, Found, Record
from retentive.archive.formats.loading import load
from retentive.archive.formats.table import FORMATS, format_of

SAMPLES = Path(__file__).parents[2] / "samples" / "imports"
FILES = {
    "mem0": "mem0.json",
    "mcp": "mcp.jsonl",
    "langgraph": "langgraph.json",
    "chatgpt": "chatgpt.json",
    "claude": "claude.json",
    "claude-code": "claude-code.jsonl",
}


def sample(format: str) -> list[Found]:
    with (SAMPLES / FILES[format]).open("rb") as file:
        loaded = load(file)
    return [*loaded.refused, *FORMATS[format].read(loaded.records)]


def memories(found: list[Found]) -> list[ForeignMemory]:
    return [one for one in found if isinstance(one, ForeignMemory)]


def threads(found: list[Found]) -> list[ForeignThread]:
    return [one for one in found if isinstance(one, ForeignThread)]


def refused(found: list[Found]) -> list[str]:
    return [one.place for one in found if isinstance(one, Refusal)]


def said(thread: ForeignThread) -> list[tuple[int, str, str]]:
    return [(turn.seq, turn.role, turn.content) for turn in thread.turns]


def read(format: str, *entries: Any) -> list[Found]:
    records = [Record(place=f"[{number}]", data=entry) for number, entry in enumerate(entries)]
    return list(FORMATS[format].read(records))


@pytest.mark.parametrize("format", FORMATS)
def test_a_sample_is_told_from_the_others(format: str) -> None:
    with (SAMPLES / FILES[format]).open("rb") as file:
        assert format_of(load(file).records) == format


def test_there_is_a_sample_of_every_format() -> None:
    assert FILES.keys() == FORMATS.keys()
    assert {path.name for path in SAMPLES.iterdir()} == {*FILES.values(), "README.md"}


def test_mem0_keeps_users_tags_metadata_and_the_time_if_it_has_a_zone() -> None:
    found = sample("mem0")
    nadia, omar, gone = memories(found)
    assert (nadia.user_id, nadia.new.content) == ("nadia", "Nadia is allergic to walnuts")
    assert nadia.new.tags == ["health", "food"]
    assert nadia.new.metadata is not None
    assert nadia.new.metadata["source"] == "intake"
    assert nadia.new.occurred_at == datetime(2025, 2, 3, 17, 15, tzinfo=UTC)
    assert nadia.new.key == "mem0:0b1f-1"
    assert omar.new.occurred_at is None  # its zone would be a guess
    assert omar.new.metadata == {
        "mem0": {"id": "0b1f-2", "agent_id": "planner", "created_at": "2025-02-04T10:00:00"}
    }
    assert gone.new.expires_at == datetime(2025, 4, 1, tzinfo=UTC)
    assert refused(found) == ["results[2]", "results[4]"]


def test_mcp_gives_a_memory_an_observation_and_a_sentence_a_relation() -> None:
    found = sample("mcp")
    assert [one.new.content for one in memories(found)] == [
        "Ilse Brandt: Keeps bees",
        "Ilse Brandt: Speaks Danish and Low German",
        "Harbour Club (organization)",
        "Ilse Brandt is member of Harbour Club",
    ]
    assert len({one.new.key for one in memories(found)}) == 4
    assert refused(found) == ["line 6", "line 4", "line 5"]


def test_langgraph_takes_the_text_of_a_value_and_guesses_no_user() -> None:
    found = sample("langgraph")
    seat, profile = memories(found)
    assert (seat.user_id, seat.new.content) == (None, "Prefers the window seat")
    assert seat.new.metadata is not None
    own: Any = seat.new.metadata["langgraph"]
    assert own["namespace"] == ["memories", "user-7"]
    assert own["value"] == {"topic": "travel"}
    assert profile.new.content == '{"language":"Finnish","age":41}'
    assert refused(found) == ["[2]", "[3]"]


def test_chatgpt_is_read_along_the_branch_shown_last() -> None:
    found = sample("chatgpt")
    fig, loop = threads(found)
    assert fig.thread == "c0ffee00-0000-4000-8000-000000000001"
    assert said(fig) == [
        (1, "user", "[image_asset_pointer]\nWhen do I repot this?"),
        (2, "assistant", "In spring, before it grows."),
    ]
    assert fig.turns[0].metadata == {"title": "Repotting a fig"}
    assert fig.turns[1].metadata == {"model": "gpt-x"}
    assert fig.turns[0].at == datetime(2025, 1, 1, 10, 0, 0, 500_000, tzinfo=UTC)
    assert said(loop) == [(1, "user", "round and round")]  # a parent that is its own child's child
    assert loop.turns[0].at == datetime(2025, 1, 1, 10, tzinfo=UTC)  # the conversation's own time
    assert refused(found) == ["[2]", "[3]"]


def test_chatgpt_without_a_current_node_ends_at_the_latest_leaf() -> None:
    mapping: dict[str, Any] = {
        "a": {"parent": None, "children": ["b", "c"], "message": None},
        **{
            id: {
                "parent": "a",
                "children": [],
                "message": {
                    "id": id,
                    "author": {"role": "user"},
                    "create_time": at,
                    "content": {"content_type": "text", "parts": [id]},
                },
            }
            for id, at in (("b", 1_700_000_009), ("c", 1_700_000_001))
        },
    }
    (thread,) = threads(read("chatgpt", {"id": "x", "mapping": mapping}))
    assert said(thread) == [(1, "user", "b")]


def test_claude_takes_the_spoken_blocks_in_order() -> None:
    found = sample("claude")
    (tides,) = threads(found)
    assert said(tides) == [
        (1, "user", "When is high water at Husum?"),
        (2, "assistant", "At 9:40 today."),
        (3, "user", "Thanks"),
    ]
    assert tides.turns[0].metadata == {"files": ["tides.csv"], "title": "Tide tables"}
    assert tides.turns[1].metadata == {"tools": ["web_search"]}
    assert tides.turns[2].at == datetime(2025, 6, 1, 7, 0, 10, tzinfo=UTC)  # as the one before it
    assert refused(found) == ["[0], chat_messages[3]", "[0], chat_messages[2]", "[2]"]


def test_claude_code_leaves_out_side_chains_notes_and_thinking() -> None:
    found = sample("claude-code")
    (session,) = threads(found)
    assert said(session) == [
        (1, "user", "The parser drops the last row."),
        (2, "assistant", "[calls Read]"),
        (3, "tool", "rows = rows[:-1]"),
        (4, "assistant", "It cuts the last row off. Fixed."),
    ]
    assert [turn.id for turn in session.turns] == ["e1", "e2", "e3-0", "e4"]
    assert refused(found) == ["line 9", "line 8"]


@pytest.mark.parametrize("format", FORMATS)
@pytest.mark.parametrize("entry", [None, 7, "x", [], {}, {"message": 1}, {"mapping": {"a": 1}}, {"type": []}])
def test_nonsense_is_refused_or_left_out_and_never_raises(format: str, entry: object) -> None:
    found = read(format, entry)
    assert memories(found) == []
    assert threads(found) == []
    assert refused(found) in (["[0]"], [])


def test_a_zip_with_conversations_is_read_in_place() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as file:
        file.writestr("data/conversations.json", (SAMPLES / "claude.json").read_bytes())
        file.writestr("users.json", "[]")
    assert format_of(load(packed).records) == "claude"


@pytest.mark.parametrize(
    "raw", [b"", b"plain words", b"\xff\xfe", b"[" * 100_000, b"null", b"[]", b'{"a": 1}'], ids=str
)
def test_what_is_no_export_is_refused(raw: bytes) -> None:
    with pytest.raises(InvalidInput):
        format_of(load(io.BytesIO(raw)).records)


def test_what_could_be_two_formats_is_asked_about() -> None:
    both: list[Any] = [{"memory": "x", "namespace": [], "key": "k", "value": {}}]
    with pytest.raises(InvalidInput, match="mem0 or langgraph"):
        format_of(load(io.BytesIO(json.dumps(both).encode())).records)


def test_signs_that_no_store_takes_are_replaced() -> None:
    (one,) = memories(read("mem0", {"memory": "a\x00b\ud800"}))
    assert one.new.content == "a\ufffdb?"
