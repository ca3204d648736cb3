"""The lines of a thread's log: one JSON object a turn, as `codec.turn_to_dict` writes it.

A turn that was appended together with others carries `more`, the number of those that follow it, so that a
group of which the end is missing is known to be no whole group.

Once turns were redacted, the log begins with a line that counts how often: `{"redactions":1}`.
"""

import json
import re
import threading
import zlib
from collections import OrderedDict, deque
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from pathlib import Path
from typing import Any, Final, NoReturn, cast

from retentive.checks import Json
from retentive.codec import time_to_text, to_json, turn_from_dict, turn_to_dict
from retentive.errors import StoreCorrupt
from retentive.frozen import frozen
from retentive.stores.base import NOTHING_LEFT, Damage, Leaving, NewTurn
from retentive.types import REDACTED, REDACTED_AT, Turn

MAX_LOGS_MARKED: Final = 1_024
MAX_MARKS_A_LOG: Final = 16
HEAD_BYTES: Final = 32
"""How much of a log is read to learn how often turns of it were redacted."""

_HEAD: Final = re.compile(rb'\{"redactions":(\d{1,9})\}\r?(?:\n|\Z)')


@dataclass(frozen=True, slots=True, kw_only=True)
class Mark:
    """A place after a line of a log, with what is needed to go on from there and to know it again.

    `seq` and `line` are the last ones before it; `length` and `crc` are those of the bytes of that line.
    """

    offset: int = 0
    seq: int = 0
    line: int = 0
    length: int = 0
    crc: int = 0

    def ends(self, line: bytes) -> bool:
        """Whether these bytes are the line that stood before the mark."""
        return len(line) == self.length and zlib.crc32(line) == self.crc


@dataclass(slots=True)
class _Marked:
    """The marks of one log, good for as long as it was redacted just so often."""

    redactions: int
    marks: deque[Mark] = field(default_factory=lambda: deque(maxlen=MAX_MARKS_A_LOG))


class Marks:
    """The latest marks of the logs used last, so that going on from one reads only what follows."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._of: OrderedDict[Path, _Marked] = OrderedDict()

    def latest(self, log: Path, since: int, redactions: int) -> list[Mark]:
        """The last two known marks of the log that skip nothing after number `since`, the later one first.

        Where fewer are known, its start comes last: also where it was redacted since. None at all if it
        counts fewer redactions than before: then it is another log.
        """
        with self._lock:
            known = self._of.get(log)
            if known is not None and redactions < known.redactions:
                return []
            is_same = known is not None and redactions == known.redactions
            marks = [mark for mark in known.marks if mark.seq <= since] if known and is_same else []
        return [*reversed(marks[-2:]), Mark()][:2]

    def add(self, log: Path, new: Sequence[Mark], redactions: int) -> None:
        """Remember the marks, those that lie after the ones known; older ones than a redaction are not."""
        with self._lock:
            known = self._of.get(log)
            if known is None or known.redactions < redactions:
                known = self._of[log] = _Marked(redactions)
            if known.redactions > redactions:
                return
            self._of.move_to_end(log)
            marks = known.marks
            marks.extend(mark for mark in new if not marks or marks[-1].seq < mark.seq)
            if len(self._of) > MAX_LOGS_MARKED:
                self._of.popitem(last=False)

    def forget(self, log: Path) -> None:
        """Drop the log's marks: it is not what it was."""
        with self._lock:
            self._of.pop(log, None)

    def __len__(self) -> int:
        return len(self._of)


@dataclass(frozen=True, slots=True, kw_only=True)
class Parsed:
    """What the bytes after a mark hold.

    `marks` are those after the last two turns, to go on from next time. `kept` is the offset up to which the
    log is whole, and `lines` how many lines that are; what follows, if anything, is `torn`: a damaged or
    unfinished end, told of in `torn_report` and not among `damage`.
    """

    turns: Sequence[Turn]
    damage: Sequence[Damage]
    marks: Sequence[Mark]
    last_seq: int
    kept: int
    lines: int
    ends_in_newline: bool
    torn: bytes = b""
    torn_report: Damage | None = None

    def mark_after(self, added: Sequence[bytes], seq: int) -> Mark:
        """The mark after these lines, once they are added to what is kept, the last of them number `seq`."""
        last = added[-1].rsplit(b"\n", 2)[-2] + b"\n"
        data = b"".join(added)
        return Mark(
            offset=self.kept + len(data),
            seq=seq,
            line=self.lines + data.count(b"\n"),
            length=len(last),
            crc=zlib.crc32(last),
        )


@dataclass(slots=True)
class _Line:
    start: int
    number: int
    piece: bytes
    terminated: bool
    turn: Turn | None = None
    more: int = 0
    reason: str = ""


def parse(data: bytes, after: Mark) -> Parsed:
    """The turns in the bytes that follow the mark.

    A line that is no turn costs that line only. At the end of the log it is torn off instead, as is a group
    of turns whose last one is missing; a whole last turn without a newline is kept. Blank lines mean
    nothing. A number that does not rise is replaced by the next one and reported.
    """
    lines = _lines(data, after)
    whole = _count_whole(lines)
    turns: list[Turn] = []
    damage: list[Damage] = []
    latest, seq = deque[tuple[_Line, int]](maxlen=2), after.seq
    for line in lines[:whole]:
        if line.turn is None:
            damage.append(Damage(line=line.number, reason=line.reason))
            continue
        if line.turn.seq <= seq:
            reason = f"it is numbered {line.turn.seq} after {seq}; taken as {seq + 1}"
            damage.append(Damage(line=line.number, reason=reason))
            line.turn = replace(line.turn, seq=seq + 1)
        seq = line.turn.seq
        turns.append(line.turn)
        latest.append((line, seq))
    end = after.offset + len(data)
    kept = lines[whole].start if whole < len(lines) else end
    whole_data, torn = data[: kept - after.offset], data[kept - after.offset :]
    return Parsed(
        turns=turns,
        damage=tuple(damage),
        marks=tuple(_mark_after(line, seq) for line, seq in latest if line.terminated),
        last_seq=seq,
        kept=kept,
        lines=after.line + whole_data.count(b"\n"),
        ends_in_newline=bool(torn) or not data or data.endswith(b"\n"),
        torn=torn,
        torn_report=_torn_report(lines[whole], torn) if torn else None,
    )


def encode(turns: Sequence[NewTurn], after_seq: int) -> tuple[bytes, list[Turn]]:
    """The lines of one group of turns, numbered after `after_seq`, and the turns as they will be read."""
    group = numbered(turns, after_seq)
    return b"".join(_group_lines(group)), group


def numbered(turns: Sequence[NewTurn], after_seq: int) -> list[Turn]:
    """The turns with the numbers that follow `after_seq`; their metadata is copied."""
    return [
        Turn(seq=seq, id=t.id, role=t.role, content=t.content, at=t.at, metadata=frozen(t.metadata))
        for seq, t in enumerate(turns, after_seq + 1)
    ]


def is_there(turns: Sequence[NewTurn], after: Iterable[Turn]) -> bool:
    """Whether one of the turns is to be there `once`, and is among those after what its writer knows."""
    once = {turn.id for turn in turns if turn.once}
    return bool(once) and any(turn.id in once for turn in after)


def redactions(log: bytes) -> int:
    """How often turns of the log were redacted; its first `HEAD_BYTES` are enough to tell."""
    found = _HEAD.match(log)
    return int(found[1]) if found else 0


def redact(
    log: bytes, seqs: Collection[int], at: datetime, leaving: Leaving | None = None
) -> tuple[bytes, list[Turn]]:
    """The log without what was said in these turns, and those turns as they were, in order.

    Other lines stay as they are, damaged ones too. Unknown numbers and turns redacted before are passed over.
    """
    there = _numbered_lines(_lines(log, Mark()))
    going = [(line, turn) for line, turn in there if turn.seq in seqs and not turn.is_redacted]
    taken = [turn for _, turn in going]
    kept = leaving([turn for _, turn in there], taken) if leaving is not None and taken else NOTHING_LEFT
    pieces = log.split(b"\n")
    for line, turn in going:
        left = turn_to_dict(redacted(turn, at, kept.get(turn.seq)))
        pieces[line.number - 1] = to_json(left | ({"more": line.more} if line.more else {})).encode()
    head = to_json({"redactions": redactions(log) + 1}).encode()
    pieces = [head, *(pieces[1:] if redactions(log) else pieces)]
    return b"\n".join(pieces), taken


def redacted(turn: Turn, at: datetime, kept: Mapping[str, Json] | None = None) -> Turn:
    """The turn without what was said in it; `kept` is what stays in its metadata."""
    metadata = frozen({REDACTED_AT: time_to_text(at), **(kept or {})})
    return replace(turn, content=REDACTED, metadata=metadata)


def _numbered_lines(lines: Sequence[_Line]) -> list[tuple[_Line, Turn]]:
    """The whole lines that are turns, each with the turn under the number it is read with."""
    seq, found = 0, list[tuple[_Line, Turn]]()
    for line in lines[: _count_whole(lines)]:
        if line.turn is not None:
            seq = max(line.turn.seq, seq + 1)
            found.append((line, replace(line.turn, seq=seq)))
    return found


def _group_lines(turns: Sequence[Turn]) -> Iterable[bytes]:
    for more, turn in zip(range(len(turns) - 1, -1, -1), turns, strict=True):
        line = turn_to_dict(turn)
        if more:
            line["more"] = more
        yield to_json(line).encode() + b"\n"


def _lines(data: bytes, after: Mark) -> list[_Line]:
    pieces = data.split(b"\n")
    last = len(pieces) - 1
    start, found = after.offset, list[_Line]()
    for index, piece in enumerate(pieces):
        is_head = start == 0 and bool(_HEAD.fullmatch(piece))
        if not is_head and (piece.strip() or (index == last and piece)):
            line = _Line(start, after.line + index + 1, piece, terminated=index < last)
            _read(line)
            found.append(line)
        start += len(piece) + 1
    return found


def _read(line: _Line) -> None:
    try:
        data = json.loads(line.piece.decode(), parse_constant=_refuse_constant)
        if b"\\u" in line.piece:
            to_json(data).encode()
        line.turn, line.more = _turn_of(data)
    except UnicodeDecodeError as error:
        line.reason = f"not UTF-8: {error.reason} at byte {error.start}"
    except UnicodeEncodeError:
        line.reason = "not a turn: it holds half of a surrogate pair"
    except json.JSONDecodeError as error:
        line.reason = f"not JSON: {error.msg} at character {error.pos}"
    except (StoreCorrupt, RecursionError, ValueError) as error:
        line.reason = str(error)


def _turn_of(data: Any) -> tuple[Turn, int]:
    if not isinstance(data, dict):
        raise StoreCorrupt("not a turn: not a JSON object")
    data = cast("dict[str, Any]", data)
    turn = turn_from_dict(data)
    if not isinstance(turn.metadata, dict):
        raise StoreCorrupt("not a turn: metadata must be an object")
    if turn.metadata:
        turn = replace(turn, metadata=frozen(turn.metadata))
    more = data.get("more", 0)
    return turn, more if type(more) is int and more > 0 else 0


def _refuse_constant(name: str) -> NoReturn:
    raise ValueError(f"not JSON: {name} is no JSON number")


def _count_whole(lines: Sequence[_Line]) -> int:
    """How many lines stay when the damaged end and a group without its end are left out."""
    count = len(lines)
    while count and lines[count - 1].turn is None:
        count -= 1
    if count and lines[count - 1].more:
        count -= 1
        while count and lines[count - 1].more == lines[count].more + 1:
            count -= 1
    return count


def _mark_after(line: _Line, seq: int) -> Mark:
    raw = line.piece + b"\n"
    return Mark(offset=line.start + len(raw), seq=seq, line=line.number, length=len(raw), crc=zlib.crc32(raw))


def _torn_report(line: _Line, torn: bytes) -> Damage:
    why = line.reason or "a group of turns lacks its end"
    return Damage(line=line.number, reason=f"the last {len(torn):,} bytes are no whole turn ({why})")
