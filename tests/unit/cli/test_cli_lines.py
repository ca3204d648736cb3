import io
import os
from pathlib import Path

import pytest

from retentive.cli import lines
from retentive.cli.lines import Refusals, batches, check_fields, size_of
from retentive.errors import InvalidInput


def _taken(data: bytes) -> tuple[list[tuple[int, str]], Refusals]:
    refused = Refusals()
    found = [line for batch in batches(io.BytesIO(data), str, refused) for line in batch]
    return [(line.number, line.value) for line in found], refused


def test_lines_keep_their_numbers_and_blank_ones_are_skipped() -> None:
    taken, refused = _taken("\ufeffone\r\n\n   \ntwo \u2028 half\nthree".encode())
    assert taken == [(1, "one"), (4, "two \u2028 half"), (5, "three")]
    assert not refused.by_line


def test_nothing_gives_nothing() -> None:
    assert _taken(b"") == ([], Refusals())


def test_a_line_that_is_not_utf_8_is_refused_alone() -> None:
    taken, refused = _taken(b"good\n\xff\xfe bad\nalso good\n")
    assert taken == [(1, "good"), (3, "also good")]
    assert list(refused.by_line) == [2]
    assert "not UTF-8 at byte 1" in refused.by_line[2]


def test_a_line_without_end_is_refused_alone_and_not_held_in_memory(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "MAX_LINE_BYTES", 10)
    taken, refused = _taken(b"a\n" + b"x" * 95 + b"\nb\n" + b"y" * 10 + b"\n" + b"z" * 11)
    assert [number for number, _ in taken] == [1, 3]
    assert list(refused.by_line) == [2, 4, 5]


class _Watched(io.BytesIO):
    """A stream that notes how much is asked of it at once."""

    most = 0

    def readline(self, size: int | None = -1, /) -> bytes:
        """The line, cut at `size`."""
        assert size is not None
        assert size > 0
        self.most = max(self.most, size)
        return super().readline(size)


def test_never_more_than_a_line_may_have_is_asked_for_at_once() -> None:
    stream = _Watched(b"one\ntwo\n")
    assert len(next(batches(stream, str, Refusals()))) == 2
    assert stream.most == lines.MAX_LINE_BYTES + 1


def test_batches_are_bounded_and_in_order(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(lines, "BATCH_LINES", 3)
    made = list(batches(io.BytesIO(b"".join(b"%d\n" % n for n in range(8))), int, Refusals()))
    assert [[line.value for line in batch] for batch in made] == [[0, 1, 2], [3, 4, 5], [6, 7]]


def test_many_refusals_are_told_in_part_and_given_in_full() -> None:
    refused = Refusals(by_line=dict.fromkeys(range(1, 31), "no"))
    assert len(refused.notes()) == lines.NOTED_LINES + 1
    assert refused.notes()[-1] == "... and 10 more lines"
    assert len(refused.to_json()) == 30


def test_an_unknown_field_is_refused_by_name() -> None:
    known = frozenset({"content", "kind"})
    check_fields({"content": "x"}, known)
    with pytest.raises(InvalidInput, match="no field 'conten'; fields are content, kind"):
        check_fields({"content": "x", "conten": "y"}, known)
    with pytest.raises(InvalidInput, match='no "content"'):
        check_fields({"kind": "semantic"}, known)


def test_the_size_of_a_file_is_known_and_that_of_a_pipe_is_not(tmp_path: Path) -> None:
    file = tmp_path / "facts.txt"
    file.write_bytes(b"12345")
    with file.open("rb") as stream:
        assert size_of(stream) == 5
    reading, writing = os.pipe()
    with os.fdopen(reading, "rb") as pipe, os.fdopen(writing, "wb"):
        assert size_of(pipe) is None
    assert size_of(io.BytesIO(b"abc")) is None
