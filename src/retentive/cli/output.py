"""What people see: safe text, tables, and the one JSON value."""

import sys
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime
from typing import IO

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from retentive.checks import Json
from retentive.codec import item_to_dict, to_json
from retentive.recall import Recall
from retentive.types import MemoryHit, MemoryItem, Source, Turn

PIPE_COLUMNS = 80
_LEFT_ALONE = frozenset("\n\t")
_UNSEEN = frozenset(["Cc", "Cs", "Co", "Cn", "Zl", "Zp"])
_REORDERING = frozenset("\u061c\u200e\u200f\u202a\u202b\u202c\u202d\u202e\u2066\u2067\u2068\u2069")


class PlainConsole(Console):
    """A console that leaves a broken pipe to the command's frame."""

    def on_broken_pipe(self) -> None:
        """Raise what rich would turn into an exit code of its own."""
        raise BrokenPipeError


def console(stream: IO[str]) -> Console:
    """A console for the stream: as wide as the terminal, `COLUMNS`, or 80 in a pipe."""
    return PlainConsole(file=stream, highlight=False, markup=False, emoji=False)


def speak_utf8() -> None:
    """Have stdout and stderr carry every character, whatever the terminal's encoding says."""
    for stream in (sys.stdout, sys.stderr):
        reconfigure = getattr(stream, "reconfigure", None)
        if reconfigure is not None:
            reconfigure(encoding="utf-8", errors="backslashreplace")


def write_json(value: Json) -> None:
    """One line of strict JSON on stdout."""
    sys.stdout.write(to_json(value) + "\n")


def visible(text: str) -> str:
    """The text with what could move the cursor or reorder a line shown as an escape; newlines stay."""
    if text.isascii() and text.isprintable():
        return text
    return "".join(char if _is_harmless(char) else _escape(char) for char in text)


def _is_harmless(char: str) -> bool:
    if char in _LEFT_ALONE:
        return True
    return char not in _REORDERING and unicodedata.category(char) not in _UNSEEN


def _escape(char: str) -> str:
    return char.encode("unicode_escape").decode()


def one_line(text: str) -> str:
    """The visible text on one line."""
    return visible(" ".join(text.split()))


def when(moment: datetime) -> str:
    """The day and minute, in the reader's own zone."""
    return moment.astimezone().strftime("%Y-%m-%d %H:%M")


def source_text(source: Source | None) -> str:
    """Who said it where, or "" if that is not known."""
    if source is None:
        return ""
    place = source.thread or source.document or ""
    if source.turns:
        place += " #" + ",".join(map(str, source.turns))
    if source.place:
        place += f" {source.place}"
    return visible(f"{source.speaker}, {place}" if source.speaker and place else source.speaker or place)


def item_line(item: MemoryItem) -> str:
    """All but the content in one line, the id first."""
    moment = when(item.occurred_at or item.created_at)
    parts = [item.id, moment, str(item.kind), source_text(item.source)]
    parts += [f"#{visible(tag)}" for tag in item.tags]
    if item.importance != 0.5:
        parts.append(f"importance {item.importance:g}")
    if item.expires_at is not None:
        parts.append(f"until {when(item.expires_at)}")
    return " · ".join(part for part in parts if part)


def print_items(out: Console, items: Iterable[MemoryItem]) -> None:
    """Each memory: its content, and below it the rest."""
    for item in items:
        out.print(Text(visible(item.content), style="bold"))
        out.print(Padding(Text(item_line(item), style="dim"), (0, 0, 0, 2)))


def print_hits(out: Console, hits: Sequence[MemoryHit], *, why: bool = False) -> None:
    """Each hit: its rank, score and content; below it the rest, with `why` the parts of the score."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column(justify="right", style="cyan", no_wrap=True)
    grid.add_column(overflow="fold")
    for hit in hits:
        below = Text.assemble(
            (visible(hit.content), "bold"),
            ("\n" + item_line(hit.item), "dim"),
            (f"\n{parts_text(hit.why)}" if why else "", "green"),
        )
        grid.add_row(str(hit.rank), f"{hit.score:.2f}", below)
    out.print(grid)


def parts_text(why: Mapping[str, float], top: int | None = None, *, digits: int = 2) -> str:
    """The parts that count, greatest first: "words 4.10, cosine 1.93, asking -0.60"."""
    counting = sorted(
        ((name, part) for name, part in why.items() if abs(part) >= 0.5 / 10**digits),
        key=lambda named: (-abs(named[1]), named[0]),
    )
    return ", ".join(f"{name} {part:.{digits}f}" for name, part in counting[:top])


def print_turns(out: Console, turns: Iterable[Turn]) -> None:
    """Each turn: its number, who spoke when, and what."""
    grid = Table.grid(padding=(0, 2, 0, 0))
    grid.add_column(justify="right", style="dim", no_wrap=True)
    grid.add_column(style="cyan", max_width=16, overflow="fold")
    grid.add_column(overflow="fold")
    for turn in turns:
        speaker = turn.metadata.get("speaker")
        who = visible(speaker) if isinstance(speaker, str) and speaker else turn.role
        grid.add_row(str(turn.seq), who, Text(visible(turn.content)))
    out.print(grid)


def table(*columns: str, rows: Iterable[Sequence[str]]) -> Table:
    """A plain table; texts are made visible, figures stand to the right."""
    made = Table(box=None, pad_edge=False, header_style="dim", padding=(0, 3, 0, 0))
    filled = [list(map(visible, row)) for row in rows]
    for index, column in enumerate(columns):
        figures = bool(filled) and all(row[index].replace(",", "").isdigit() for row in filled)
        made.add_column(column, justify="right" if figures else "left", overflow="fold")
    for row in filled:
        made.add_row(*(Text(cell) for cell in row))
    return made


def hit_to_dict(hit: MemoryHit) -> dict[str, Json]:
    """The hit as a JSON object: the memory's fields with rank, score and why."""
    return {"rank": hit.rank, "score": hit.score, "why": dict(hit.why), **item_to_dict(hit.item)}


def recall_to_dict(recall: Recall) -> dict[str, Json]:
    """The recall as a JSON object; `confidence` and `abstained` are there where it was asked for."""
    found: dict[str, Json] = {
        "query": recall.query,
        "hits": [hit_to_dict(hit) for hit in recall],
        "degraded": dict(recall.degraded),
    }
    if recall.confidence is not None:
        found |= {"confidence": round(recall.confidence, 4), "abstained": recall.abstained}
    return found
