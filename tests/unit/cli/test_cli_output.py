import io
import unicodedata
from collections.abc import Callable
from datetime import UTC, datetime

from hypothesis import given
from hypothesis import strategies as st
from rich.console import Console

from retentive.cli.output import item_line, one_line, parts_text, print_hits, print_turns, table, visible
from retentive.types import MemoryHit, MemoryItem, MemoryKind, Scope, Source, Turn

AT = datetime(2026, 3, 1, tzinfo=UTC)
ITEM = MemoryItem(
    id="01m8q2ag6txtq39ncre53k9c8v",
    scope=Scope("default"),
    kind=MemoryKind.EPISODIC,
    content="The key is \x1b[2Junder [bold]the pot[/bold].",
    created_at=AT,
    updated_at=AT,
    tags=("house",),
    source=Source(thread="kitchen", turns=(4,), speaker="Mara"),
)


def _printed(show: Callable[[Console], None], columns: int = 80) -> str:
    stream = io.StringIO()
    show(Console(file=stream, width=columns, markup=False, highlight=False))
    return stream.getvalue()


@given(st.text())
def test_visible_text_cannot_move_the_cursor_or_reorder_a_line(text: str) -> None:
    shown = visible(text)
    assert not [c for c in shown if unicodedata.category(c) in ("Cc", "Cs") and c not in "\n\t"]
    assert not set(shown) & set("\u202e\u2066\u2067\u2069\u200f")


def test_what_reorders_or_moves_is_shown_as_an_escape() -> None:
    assert visible("a\u202eb\x1b[2Jc\u2066") == "a\\u202eb\\x1b[2Jc\\u2066"


def test_visible_text_is_the_text_where_that_is_harmless() -> None:
    for text in ("plain", "Ünïcödé", "京都の旅館", "แกงเขียวหวาน", "👩‍👩‍👧 ok", "two\nlines"):
        assert visible(text) == text


def test_one_line_is_one_line() -> None:
    assert one_line(" a\n b\r\n\tc ") == "a b c"


def test_a_hit_shows_its_id_whole_and_its_text_as_text() -> None:
    hit = MemoryHit(item=ITEM, score=4.25, rank=1, why={"words": 3.0, "cosine": 1.25})
    for columns in (40, 80, 120):
        printed = _printed(lambda out: print_hits(out, [hit], why=True), columns)
        assert ITEM.id in printed
        assert "\x1b" not in printed
        assert max(map(len, printed.splitlines())) <= columns
    assert "[bold]the pot[/bold]" in printed
    assert "words 3.00, cosine 1.25" in printed


def test_the_line_below_a_memory_says_when_what_and_who() -> None:
    line = item_line(ITEM)
    assert line.startswith(ITEM.id)
    assert "episodic" in line
    assert "Mara, kitchen #4" in line
    assert "#house" in line


def test_parts_come_greatest_first_and_those_that_count_nothing_are_left_out() -> None:
    why = {"cosine": 0.5, "asking": -0.6, "words": 4.0, "pairs": 0.001}
    assert parts_text(why) == "words 4.00, asking -0.60, cosine 0.50"
    assert parts_text(why, 1, digits=1) == "words 4.0"


def test_a_turn_shows_its_speaker_or_its_role() -> None:
    turns = [
        Turn(seq=1, id="a", role="user", content="hi", at=AT, metadata={"speaker": "Mara"}),
        Turn(seq=2, id="b", role="assistant", content="hello", at=AT),
    ]
    lines = [line.split() for line in _printed(lambda out: print_turns(out, turns)).splitlines()]
    assert lines == [["1", "Mara", "hi"], ["2", "assistant", "hello"]]


def test_a_table_shows_its_cells_as_text() -> None:
    printed = _printed(lambda out: out.print(table("name", "count", rows=[("[red]a", "10"), ("b\x07", "2")])))
    assert "[red]a" in printed
    assert "b\\x07" in printed
