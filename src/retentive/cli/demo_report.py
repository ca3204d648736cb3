"""How the demo tells what it does: to a person as it goes, and as one JSON object."""

import shlex
import shutil
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from rich.console import Console
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from retentive.checks import Json
from retentive.cli import demo_story as story
from retentive.cli.demo_steps import TOP, Asked, Fact, Forgotten, Reopened
from retentive.cli.output import one_line, parts_text, recall_to_dict, source_text
from retentive.codec import item_to_dict
from retentive.recall import Recall
from retentive.types import MemoryHit, MemoryItem

YES, NO = "✓", "✗"
TOP_PARTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class Told:
    """What was remembered, and how long that took."""

    turns: int
    facts: Sequence[Fact]
    seconds: float


class Report:
    """Gathers `data`, and prints each step where there is a console. Steps are given back as passed."""

    def __init__(self, out: Console | None) -> None:
        self.data: dict[str, Json] = {"questions": []}
        self._out = out
        self._asked: list[Json] = []

    def begin(self, said: Sequence[story.Said], home: Path | None) -> None:
        """What is about to happen."""
        threads = {turn.thread for turn in said}
        speakers = list(dict.fromkeys(turn.speaker for turn in said))
        self.data["story"] = {"turns": len(said), "threads": len(threads), "speakers": [*speakers]}
        first, last = said[0].at, said[-1].at
        self._title("A flat in Cologne, winter to spring")
        self._text(
            f"{len(said)} turns in {len(threads)} threads, "
            f"{first.day} {first:%B} to {last.day} {last:%B %Y}. "
            f"{', '.join(speakers[:-1])} and {speakers[-1]} write English, German, Spanish, Chinese, "
            f"Japanese, Korean and Thai. No key, no server, no download."
        )
        self._text(f"Everything is kept in {home}" if home else "Everything is kept in a temporary folder.")

    def remembered(self, told: Told) -> None:
        """What was stored, and what was known already."""
        restated = [fact for fact in told.facts if fact.restated]
        differing = [fact for fact in told.facts if fact.differs_from]
        self.data["remembered"] = {
            "turns": told.turns,
            "facts_told": len(told.facts),
            "facts_stored": len(told.facts) - len(restated),
            "restated": [{"told": fact.told, "known_as": item_to_dict(fact.item)} for fact in restated],
            "both_kept": [
                {"told": fact.told, "other": fact.differs_from, "reason": fact.reason} for fact in differing
            ],
            "seconds": round(told.seconds, 3),
        }
        self._title("Remember")
        self._text(
            f"{told.turns} turns, and {len(told.facts) - len(restated)} facts of {len(told.facts)} told, "
            f"on disk before each call returned. {told.seconds:.1f} s."
        )
        self._text("Said before, so not stored twice:")
        self._rows([(fact.told.strip(), "= " + one_line(fact.item.content)) for fact in restated])
        self._text("Worded alike, but another fact, so both are kept:")
        self._rows(
            [(fact.told, f"{one_line(fact.differs_from or '')}  ({fact.reason})") for fact in differing]
        )

    def asked(self, number: int, asked: Asked) -> Asked:
        """A question with its answers."""
        self._asked.append(
            {
                **recall_to_dict(asked.recall),
                "expects": {"thread": asked.question.thread, "turns": [*asked.question.turns]},
                "rank": asked.rank,
            }
        )
        self.data["questions"] = self._asked
        if number == 1:
            self._title("Recall")
        if self._out is not None:
            if number > 1:
                self._out.print()
            question = Text.assemble((asked.question.ask, "bold"), (f"  ({asked.question.kind})", "dim"))
            grid = Table.grid(padding=(0, 2, 0, 0))
            grid.add_column(justify="right", width=2, style="dim")
            grid.add_column(overflow="fold")
            grid.add_row(str(number), question)
            self._out.print(grid)
            right = {(asked.question.thread, turn) for turn in asked.question.turns}
            self._out.print(Padding(_hits(asked.recall, right, asked.rank), (0, 0, 0, 4)))
        return asked

    def forgotten(self, forgotten: Forgotten) -> Forgotten:
        """A fact that went away."""
        self.data["forgotten"] = {
            "question": story.SECRET_QUESTION,
            "before": recall_to_dict(forgotten.before),
            "ids": [*forgotten.receipt.ids],
            "removed": {**forgotten.receipt.removed},
            "after": recall_to_dict(forgotten.after),
            "files_with_its_words": [*forgotten.files],
        }
        self._title("Forget")
        removed = ", ".join(f"{place} {count}" for place, count in forgotten.receipt.removed.items())
        first = forgotten.before[0] if forgotten.before else None
        now = forgotten.after[0] if forgotten.after else None
        self._text(f"“{story.SECRET_QUESTION}”")
        self._rows(
            [
                ("before", f"{first.content}  ({first.score:.2f})" if first else "nothing"),
                ("forget", f"{', '.join(forgotten.receipt.ids)}  (removed: {removed})"),
                ("after", f"{one_line(now.content)}  ({now.score:.2f}, the best left)" if now else "nothing"),
            ]
        )
        gone = "gone, from recall and from the bytes on disk" if forgotten.is_gone else "it is still there"
        self._verdict(gone, is_kept=forgotten.is_gone)
        return forgotten

    def reopened(self, reopened: Reopened) -> Reopened:
        """A thread as a second process sees it."""
        self.data["thread"] = {
            "thread": reopened.thread,
            "length": reopened.length,
            "command": reopened.command,
            "printed": reopened.printed,
            "equal": reopened.is_equal,
        }
        self._title("Reopen a thread from a second process")
        self._text(f"This process appended turn {reopened.length} to {reopened.thread}. Another one ran")
        if self._out is not None:
            self._out.print(Text(f"  $ {reopened.command}", style="dim"))
            self._out.print(Padding(Text(reopened.printed), (0, 0, 0, 2)))
        said = f"all {reopened.length} turns are the same" if reopened.is_equal else "it read something else"
        self._verdict(said, is_kept=reopened.is_equal)
        return reopened

    def other_tenant(self, hits: int) -> int:
        """What another tenant got."""
        self.data["other_tenant"] = {"namespace": story.OTHER_NAMESPACE, "hits": hits}
        self._title("Another tenant")
        self._text(f"Namespace {story.OTHER_NAMESPACE!r} asks the same ten questions of the same store.")
        self._verdict(f"{hits} hits" if hits else "nothing comes back", is_kept=not hits)
        return hits

    def end(self, broken: Sequence[str], seconds: float, home: Path | None) -> None:
        """The verdict, and where to go on."""
        self._title("So")
        right = [row for row in self._asked if isinstance(row, dict) and row["rank"] in range(1, TOP + 1)]
        found = (
            f"{len(right)} of {len(self._asked)} questions answered within the top {TOP}, {seconds:.1f} s."
        )
        self._verdict(found, is_kept=not broken)
        for name in broken:
            self._verdict(f"broken: {name}", is_kept=False)
        self._text("Go on with:")
        command = _command()
        if home is not None:
            place = f"RETENTIVE_HOME={shlex.quote(str(home))}"
            asking = f'recall "who has a cat?" --namespace {story.NAMESPACE}'
            self._line(f"{place} {command} {asking}", "ask this story more")
        self._line(f'{command} remember "I prefer email."', "keep something")
        self._line(f'{command} recall "how to reach me?" --why', "ask, and see why")
        self._line(f"{command} --help", "all commands")

    def _line(self, command: str, comment: str) -> None:
        if self._out is not None:
            self._out.print(Text.assemble(f"  {command}", (f"  # {comment}", "dim")), soft_wrap=True)

    def _title(self, text: str) -> None:
        if self._out is not None:
            self._out.print()
            self._out.rule(Text(text, style="bold cyan"), align="left", style="dim")

    def _text(self, text: str) -> None:
        if self._out is not None:
            self._out.print(Text(text))

    def _rows(self, rows: Sequence[tuple[str, str]]) -> None:
        if self._out is None:
            return
        grid = Table.grid(padding=(0, 2, 0, 0))
        grid.add_column(overflow="fold")
        grid.add_column(style="dim", overflow="fold")
        for left, right in rows:
            grid.add_row(Text(left), Text(right))
        self._out.print(Padding(grid, (0, 0, 0, 2)))

    def _verdict(self, text: str, *, is_kept: bool) -> None:
        if self._out is not None:
            self._out.print(
                Text(f"{YES if is_kept else NO} {text}", style="green" if is_kept else "bold red")
            )


def _command() -> str:
    """What to type to run the command again."""
    called = Path(sys.argv[0])
    if shutil.which("retentive"):
        return "retentive"
    return str(called) if called.stem == "retentive" else "python -m retentive.cli"


def _hits(recall: Recall, right: set[tuple[str, int]], rank: int | None) -> Table:
    grid = Table.grid(padding=(0, 1, 0, 0))
    grid.add_column(style="green", no_wrap=True)
    grid.add_column(style="cyan", justify="right", no_wrap=True)
    grid.add_column(overflow="fold")
    for hit in recall[:TOP]:
        is_right = _place(hit.item) in right
        text = Text(one_line(hit.content), style="bold" if is_right else "")
        text.append(f"\n{_below(hit)}", style="dim")
        grid.add_row(YES if is_right else " ", f"{hit.score:.2f}", text)
    if rank is None or rank > TOP:
        grid.add_row(NO, "", f"expected turn at rank {rank}" if rank else "expected turn not found")
    return grid


def _place(item: MemoryItem) -> tuple[str, int]:
    source = item.source
    return (source.thread or "", source.turns[0]) if source and source.turns else ("", 0)


def _below(hit: MemoryHit) -> str:
    item = hit.item
    said = source_text(item.source) or "fact"
    moment = f", {item.occurred_at.day} {item.occurred_at:%b}" if item.occurred_at else ""
    return f"{said}{moment} · {parts_text(hit.why, TOP_PARTS, digits=1)}"
