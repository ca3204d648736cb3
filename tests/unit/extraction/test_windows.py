"""How a backlog is cut, and what the notes say after each step."""

import json
from datetime import UTC, datetime
from typing import Any

import pytest

from retentive.errors import InvalidInput, StoreCorrupt
from retentive.extraction import ExtractionLimits, notes
from retentive.extraction.backlog import exchange_window, letter_window, readable, thread_windows
from retentive.extraction.notes import DeadLetter, Exchange, Failure, Tries, Watermark
from retentive.types import REDACTED, Turn

AT = datetime(2026, 1, 1, tzinfo=UTC)
MARK = Watermark(namespace="n", thread="t", seq=2, turn="id2")
KEPT = notes.encode(MARK)


def turn(seq: int, content: str = "words", role: str = "user", **metadata: Any) -> Turn:
    return Turn(seq=seq, id=f"id{seq}", role=role, content=content, at=AT, metadata=metadata)


def seqs(turns: Any) -> list[int]:
    return [one.seq for one in turns]


def test_windows_follow_each_other_without_hole_or_double() -> None:
    turns = [turn(seq) for seq in range(1, 12)]
    windows = list(thread_windows(MARK, KEPT, turns, None, ExtractionLimits(window_turns=4, turns_before=2)))
    assert [seqs(window.turns) for window in windows] == [[3, 4, 5, 6], [7, 8, 9, 10], [11]]
    assert [seqs(window.before) for window in windows] == [[1, 2], [5, 6], [9, 10]]
    assert [window.kept for window in windows] == [KEPT, *(window.done for window in windows[:-1])]
    assert windows[-1].done is not None
    assert notes.watermark("x", windows[-1].done) == Watermark(namespace="n", thread="t", seq=11, turn="id11")


def test_a_window_ends_before_the_tokens_do_but_holds_one_turn_at_least() -> None:
    turns = [turn(3, "a" * 400), turn(4, "b" * 40_000), turn(5), turn(6)]
    windows = list(thread_windows(MARK, KEPT, turns, None, ExtractionLimits(window_tokens=110)))
    assert [seqs(window.turns) for window in windows] == [[3], [4], [5, 6]]


def test_a_window_that_failed_is_cut_shorter_each_time() -> None:
    turns = [turn(seq) for seq in range(3, 23)]
    sizes: list[int] = []
    for attempts in range(5):
        mark = Watermark(namespace="n", thread="t", seq=2, tries=Tries(attempts=attempts))
        first = next(thread_windows(mark, KEPT, turns, None, ExtractionLimits(window_turns=16)))
        sizes.append(len(first.turns))
    assert sizes == [16, 8, 4, 2, 1]


def test_the_systems_redacted_and_other_users_turns_are_passed_over() -> None:
    turns = [
        turn(3),
        turn(4, role="system"),
        turn(5, user_id="ada"),
        turn(6, user_id="bob"),
        turn(7, REDACTED, redacted_at="2026-03-08T12:00:00.000000Z"),
        turn(8, user_id=None),
    ]
    assert seqs(readable(turns, "ada")) == [3, 5]
    assert seqs(readable(turns, None)) == [3, 8]
    (window,) = thread_windows(MARK, KEPT, turns, "ada", ExtractionLimits())
    assert window.done is not None
    assert notes.watermark("x", window.done).seq == 8


def test_what_was_recalled_when_turns_were_spoken_goes_with_them() -> None:
    turns = [turn(3, recalled=["a", "b"]), turn(4, recalled=["b", 7, "c"]), turn(5, recalled="x")]
    (window,) = thread_windows(MARK, KEPT, turns, None, ExtractionLimits())
    assert window.recalled == ("a", "b", "c")


def test_failures_are_counted_and_the_last_one_gives_the_window_up() -> None:
    limits = ExtractionLimits(attempts=3)
    mark, kept = MARK, KEPT
    for count in (1, 2):
        window = next(thread_windows(mark, kept, [turn(3), turn(4)], "ada", limits))
        changed = window.failed(Failure(error="bad"), AT, limits)
        assert list(changed) == ["extract/n/t"]
        kept = changed["extract/n/t"] or b""
        mark = notes.watermark("x", kept)
        assert (mark.seq, mark.tries) == (2, Tries(attempts=count, error="bad"))
    window = next(thread_windows(mark, kept, [turn(3), turn(4)], "ada", limits))
    changed = window.failed(Failure(error="worse"), AT, limits)
    assert notes.watermark("x", changed["extract/n/t"] or b"").seq == 4
    letter, held = notes.dead_letter("x", changed["dead/n/t/3"] or b"")
    assert (letter.first, letter.last, letter.attempts, letter.error) == (3, 4, 3, "worse")
    assert (letter.user_id, letter.at, held) == ("ada", AT, None)


def test_outages_do_not_count_as_attempts_until_there_are_very_many() -> None:
    limits = ExtractionLimits(attempts=1, outages=2)
    outage = Failure(error="down", outage=True)
    tries = Tries().after(outage)
    assert (tries, tries.used_up(limits)) == (Tries(outages=1, error="down"), False)
    assert tries.after(outage).used_up(limits)


def test_an_exchange_that_is_given_up_keeps_its_text_and_can_be_tried_again() -> None:
    said = Exchange(run_id="r", at=AT, user="hello", assistant="there", recalled=("a",))
    window = exchange_window(said, notes.encode(said), "ada")
    assert [(one.seq, one.role, one.content) for one in window.turns] == [
        (1, "user", "hello"),
        (2, "assistant", "there"),
    ]
    changed = window.failed(Failure(error="bad"), AT, ExtractionLimits(attempts=1))
    assert changed["exchange/r"] is None
    kept = changed["dead-exchange/r"] or b""
    letter, held = notes.dead_letter("x", kept)
    assert held == said
    again = letter_window(letter, held, kept, [])
    assert (again.turns, again.recalled, again.done) == (window.turns, ("a",), None)
    failed = again.failed(Failure(error="again"), AT, ExtractionLimits())
    letter, held = notes.dead_letter("x", failed["dead-exchange/r"] or b"")
    assert (letter.attempts, letter.error, held) == (2, "again", said)


def test_a_dead_letter_shows_its_turns_and_those_before() -> None:
    letter = DeadLetter(
        user_id=None, namespace="n", thread="t", first=3, last=4, at=AT, attempts=5, error="x"
    )
    window = letter_window(letter, None, b"kept", [turn(seq) for seq in range(1, 7)])
    assert (seqs(window.before), seqs(window.turns)) == ([1, 2], [3, 4])
    assert (window.note, window.kept, window.done) == ("dead/n/t/3", b"kept", None)


@pytest.mark.parametrize("kept", [b"", b"\xff", b"[]", b"{}", b'{"namespace": "n", "seq": 1, "x": 2}'])
def test_a_note_that_is_damaged_is_named(kept: bytes) -> None:
    with pytest.raises(StoreCorrupt, match="extract/n/t"):
        notes.watermark("extract/n/t", kept)


def test_a_note_of_a_newer_version_with_more_fields_is_read() -> None:
    data = json.loads(KEPT) | {"colour": "blue"}
    assert notes.watermark("x", json.dumps(data).encode()) == MARK


@pytest.mark.parametrize("limits", [{"attempts": 0}, {"window_turns": -1}, {"known": 1.5}, {"outages": True}])
def test_limits_are_whole_numbers_in_their_range(limits: Any) -> None:
    with pytest.raises(InvalidInput, match=next(iter(limits))):
        ExtractionLimits(**limits)
