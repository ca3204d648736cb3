"""What the bytes of a log mean, whatever happened to them."""

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retentive.stores.base import NewTurn
from retentive.stores.thread_log import MAX_LOGS_MARKED, Mark, Marks, encode, parse
from retentive.testing.thread_store_suite import NOON, new_turn

START = Mark()


def log_of(*texts: str) -> bytes:
    return b"".join(encode([new_turn(text)], n)[0] for n, text in enumerate(texts))


def said(data: bytes, after: Mark = START) -> list[str]:
    return [turn.content for turn in parse(data, after).turns]


def test_a_line_is_one_json_object_readable_by_people() -> None:
    data, _ = encode([NewTurn(id="i", role="user", content="grüße\n東京", at=NOON)], 6)
    assert (
        data
        == (
            '{"seq":7,"id":"i","at":"2026-03-08T12:00:00.000000Z","role":"user","content":"grüße\\n東京"}\n'
        ).encode()
    )


def test_an_empty_log_has_no_turns_and_no_damage() -> None:
    found = parse(b"", START)
    assert (found.turns, found.damage, found.kept, found.torn, found.ends_in_newline) == (
        [],
        (),
        0,
        b"",
        True,
    )


@given(st.integers(min_value=0, max_value=400))
def test_a_log_cut_anywhere_gives_its_whole_turns_and_keeps_the_rest_apart(cut: int) -> None:
    data = log_of("m0", "m1 🦀", "m2")
    cut = min(cut, len(data))
    found = parse(data[:cut], START)
    whole_lines = data[:cut].count(b"\n")
    last_is_whole = cut > 0 and data[cut : cut + 1] == b"\n"
    assert len(found.turns) == whole_lines + last_is_whole
    assert data[:cut] == data[: found.kept] + found.torn
    assert (found.torn_report is not None) == bool(found.torn)
    assert found.ends_in_newline != last_is_whole


def test_a_whole_last_turn_without_newline_is_kept_and_known_to_lack_it() -> None:
    found = parse(log_of("a", "b")[:-1], START)
    assert [turn.content for turn in found.turns] == ["a", "b"]
    assert not found.ends_in_newline
    assert [mark.seq for mark in found.marks] == [1]


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        (b'{"role":"assistant","text":"half', "not JSON"),
        (b"\x00\x00\x00\x00", "not JSON"),
        (b"\xff\xfe{}", "not UTF-8"),
        (b"[1,2]", "not a JSON object"),
        (b'{"seq":2}', "not a turn"),
        (b'{"seq":0,"id":"i","at":"2026-03-08T12:00:00Z","role":"user","content":"x"}', "seq is 0"),
        (b'{"seq":true,"id":"i","at":"2026-03-08T12:00:00Z","role":"user","content":"x"}', "seq is True"),
        (b'{"seq":2,"id":"i","at":"2026-03-08T12:00:00","role":"user","content":"x"}', "no zone"),
        (b'{"seq":2,"id":"i","at":"2026-03-08T12:00:00Z","role":"user","content":5}', "must be text"),
        (b'{"seq":2,"id":"i","at":"2026-03-08T12:00:00Z","role":"user","content":"\\ud83e"}', "surrogate"),
        (
            b'{"seq":2,"id":"i","at":"2026-03-08T12:00:00Z","role":"u","content":"x","metadata":[]}',
            "metadata",
        ),
        (
            b'{"seq":2,"id":"i","at":"2026-03-08T12:00:00Z","role":"u","content":"x","metadata":{"a":NaN}}',
            "NaN",
        ),
        (b'{"a":' * 100_000, ""),
        (b'{"seq":' + b"9" * 5_000 + b"}", ""),
    ],
    ids=range(14),
)
def test_a_bad_line_in_the_middle_costs_that_line_only(line: bytes, reason: str) -> None:
    first, rest = log_of("m0"), log_of("x", "x", "m2", "m3").split(b"\n", 2)[2]
    found = parse(first + line + b"\n" + rest, START)
    assert [turn.content for turn in found.turns] == ["m0", "m2", "m3"]
    [damage] = found.damage
    assert damage.line == 2
    assert reason in damage.reason
    assert not found.torn


def test_a_group_without_its_end_is_torn_off_whole() -> None:
    data, _ = encode([new_turn("a"), new_turn("b"), new_turn("c")], 1)
    lines = data.splitlines(keepends=True)
    before = log_of("m0")
    for count in (1, 2):
        for tail in (b"", lines[count][:-5], lines[count][:1]):
            found = parse(before + b"".join(lines[:count]) + tail, START)
            assert [turn.content for turn in found.turns] == ["m0"]
            assert found.torn == b"".join(lines[:count]) + tail
            assert found.torn_report is not None
            assert found.torn_report.line == 2
    assert said(before + data) == ["m0", "a", "b", "c"]
    assert said(before + data[:-1]) == ["m0", "a", "b", "c"]


def test_turns_that_waited_together_are_no_group() -> None:
    data = log_of("a", "b", "c")
    assert b"more" not in data
    assert said(data[:-7]) == ["a", "b"]


def test_metadata_named_like_our_fields_means_nothing() -> None:
    data, _ = encode([new_turn("a", metadata={"more": 5, "seq": 9})], 0)
    assert said(data) == ["a"]


def test_blank_lines_mean_nothing_and_count_as_lines() -> None:
    found = parse(
        b"\n" + log_of("a") + b"\r\n  \n" + b"bad\n" + log_of("x", "b").split(b"\n", 1)[1] + b"\n", START
    )
    assert [turn.content for turn in found.turns] == ["a", "b"]
    assert [damage.line for damage in found.damage] == [5]
    assert not found.torn


def test_lines_that_end_in_carriage_returns_are_read() -> None:
    assert said(log_of("a", "b").replace(b"\n", b"\r\n")) == ["a", "b"]


def test_a_number_that_does_not_rise_is_replaced_and_reported_but_nothing_is_lost() -> None:
    data = encode([new_turn("a")], 8)[0] + log_of("b", "c")
    found = parse(data, START)
    assert [(turn.seq, turn.content) for turn in found.turns] == [(9, "a"), (10, "b"), (11, "c")]
    assert [damage.line for damage in found.damage] == [2, 3]


def test_going_on_from_any_mark_gives_the_rest() -> None:
    data = log_of("a", "b", "c")
    marks = list(parse(data[: data.rindex(b"{")], START).marks) + list(parse(data, START).marks)
    assert [mark.seq for mark in marks] == [1, 2, 2, 3]
    for mark in marks:
        rest = parse(data[mark.offset :], mark)
        assert [turn.seq for turn in rest.turns] == list(range(mark.seq + 1, 4))
        assert mark.ends(data[mark.offset - mark.length : mark.offset])
        assert not mark.ends(data[mark.offset - mark.length - 1 : mark.offset - 1])


def test_lines_are_counted_on_from_a_mark() -> None:
    data = log_of("a", "b") + b"bad\n" + encode([new_turn("c")], 3)[0]
    mark = parse(log_of("a", "b"), START).marks[-1]
    assert [damage.line for damage in parse(data[mark.offset :], mark).damage] == [3]


@given(
    st.sampled_from([b"", b"\n", b"\n \n", b"no turn\n", b'{"seq": 1']),
    st.lists(st.integers(1, 3), min_size=1, max_size=3),
    st.booleans(),
)
def test_the_mark_after_what_is_added_is_the_one_found_by_reading(
    odd: bytes, groups: list[int], terminated: bool
) -> None:
    data = odd + b"\n" * odd.startswith(b"{") + log_of("one", "two")
    data = data if terminated else data.removesuffix(b"\n")
    log = parse(data, START)
    added, seq = [b"" if log.ends_in_newline else b"\n"], log.last_seq
    for size in groups:
        line, turns = encode([new_turn("more")] * size, seq)
        added.append(line)
        seq += len(turns)
    again = parse(data[: log.kept] + b"".join(added), START)
    assert log.mark_after(added, seq) == again.marks[-1]


def test_marks_are_bounded(tmp_path_factory: pytest.TempPathFactory) -> None:
    folder = tmp_path_factory.getbasetemp()
    marks = Marks()
    for n in range(MAX_LOGS_MARKED + 50):
        marks.add(folder / str(n), [Mark(offset=1, seq=1, line=1, length=1)], 0)
    assert len(marks) == MAX_LOGS_MARKED
    assert marks.latest(folder / "0", 5, 0) == [START]
    last = folder / str(MAX_LOGS_MARKED)
    assert [mark.seq for mark in marks.latest(last, 5, 0)] == [1, 0]
    assert marks.latest(last, 0, 0) == [START]


def test_the_two_latest_marks_that_skip_nothing_are_given_later_first(tmp_path: Path) -> None:
    marks = Marks()
    for seq in (1, 3, 4, 7):
        marks.add(tmp_path, [Mark(offset=seq, seq=seq)], 0)
    assert [mark.seq for mark in marks.latest(tmp_path, 6, 0)] == [4, 3]


def test_other_programs_read_every_line() -> None:
    for line in log_of("a\u2028b", "}{", "\x7f\x85").decode().split("\n")[:-1]:
        assert set(json.loads(line)) == {"seq", "id", "at", "role", "content"}
