"""Many texts from stdin: numbered lines, and the values that a JSON line names."""

import os
import stat
import sys
from collections.abc import Callable, Generator, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import islice
from typing import BinaryIO, Generic, TypeVar

from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    SpinnerColumn,
    TextColumn,
    TimeElapsedColumn,
)

from retentive.checks import MAX_TEXT_CHARS, Json
from retentive.cli.output import console
from retentive.errors import InvalidInput

BATCH_LINES = 500
MAX_LINE_BYTES = 8 * MAX_TEXT_CHARS
NOTED_LINES = 20
_BOM = b"\xef\xbb\xbf"
_T = TypeVar("_T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Line(Generic[_T]):
    """What a line said, and where it stood."""

    number: int
    size_bytes: int
    value: _T


@dataclass(slots=True, kw_only=True)
class Refusals:
    """The lines that were not taken, with the reason."""

    by_line: dict[int, str] = field(default_factory=dict[int, str])

    def to_json(self) -> list[Json]:
        """Each as {"line", "message"}."""
        return [{"line": number, "message": message} for number, message in self.by_line.items()]

    def notes(self) -> tuple[str, ...]:
        """The first of them, a line of text each."""
        told = [f"line {number} was not taken: {message}" for number, message in self.by_line.items()]
        more = [f"... and {len(told) - NOTED_LINES} more lines"] if len(told) > NOTED_LINES else []
        return (*told[:NOTED_LINES], *more)


def batches(stream: BinaryIO, parse: Callable[[str], _T], refused: Refusals) -> Iterator[list[Line[_T]]]:
    """The lines that `parse` takes, in order, some hundreds at a time; the others go to `refused`."""
    parsed = _parsed(stream, parse, refused)
    while batch := list(islice(parsed, BATCH_LINES)):
        yield batch


def _parsed(stream: BinaryIO, parse: Callable[[str], _T], refused: Refusals) -> Iterator[Line[_T]]:
    for number, raw in _numbered(stream):
        try:
            text = _decoded(raw)
            if text.strip():
                yield Line(number=number, size_bytes=len(raw), value=parse(text))
        except InvalidInput as error:
            refused.by_line[number] = str(error)


def _numbered(stream: BinaryIO) -> Iterator[tuple[int, bytes]]:
    """Each line with its number, cut where it is longer than any text may be."""
    number = 0
    while raw := stream.readline(MAX_LINE_BYTES + 1):
        number += 1
        yield number, raw.removeprefix(_BOM) if number == 1 else raw
        while not raw.endswith(b"\n") and (raw := stream.readline(MAX_LINE_BYTES)):
            pass


def _decoded(raw: bytes) -> str:
    if len(raw) > MAX_LINE_BYTES:
        raise InvalidInput(f"longer than {MAX_LINE_BYTES:,} bytes; split it")
    try:
        return raw.decode().rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise InvalidInput(
            f"not UTF-8 at byte {error.start + 1} of the line; convert the file first"
        ) from error


def check_fields(data: Mapping[str, Json], known: frozenset[str]) -> None:
    """Refuse a JSON line without content, or with a name nobody knows.

    Raises:
        InvalidInput: the message lists the names that can be used.
    """
    unknown = sorted(data.keys() - known)
    if unknown:
        raise InvalidInput(f"no field {unknown[0]!r}; fields are {', '.join(sorted(known))}")
    if "content" not in data:
        raise InvalidInput('no "content"')


@contextmanager
def progress(what: str, total: int | None, *, stays: bool = False) -> Generator[Callable[[int], None]]:
    """A bar on stderr where that is a terminal; gives the function that moves it on."""
    err = console(sys.stderr)
    columns = (
        SpinnerColumn(),
        TextColumn("{task.description}"),
        BarColumn(bar_width=None),
        MofNCompleteColumn(),
        TimeElapsedColumn(),
    )
    with Progress(*columns, console=err, disable=not err.is_terminal, transient=not stays) as bar:
        task = bar.add_task(what, total=total)
        yield lambda step: bar.advance(task, step)


def size_of(stream: BinaryIO) -> int | None:
    """The bytes still to come, where stdin is a file; None where that cannot be known."""
    try:
        state = os.fstat(stream.fileno())
    except (OSError, ValueError):
        return None
    return state.st_size if stat.S_ISREG(state.st_mode) else None
