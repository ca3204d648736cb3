"""The commands about what was and what is: supersede, history, conflicts."""

from typing import Annotated

import typer
from rich.console import Console
from rich.padding import Padding
from rich.text import Text

from retentive.checks import Json
from retentive.cli import options
from retentive.cli.command import Answer, Where
from retentive.cli.output import item_line, visible, when
from retentive.codec import item_to_dict
from retentive.errors import NotFound
from retentive.types import UNSET, MemoryItem, Origin


async def supersede(  # noqa: PLR0913 - the fields of a memory
    where: Where,
    old_id: Annotated[str, typer.Argument(help="The id of what no longer holds.", metavar="ID")],
    text: Annotated[str, typer.Argument(help="What holds instead.", metavar="TEXT")],
    kind: Annotated[
        str | None, typer.Option(help=f"One of {options.KINDS}; else the old one's.", metavar="KIND")
    ] = None,
    importance: Annotated[
        str | None, typer.Option(help="0 to 1; else the old one's.", metavar="NUMBER")
    ] = None,
    tag: Annotated[
        list[str] | None, typer.Option(help="Repeat for more; else the old one's.", metavar="TAG")
    ] = None,
    valid_from: Annotated[
        str | None,
        typer.Option("--valid-from", help="Since when it holds; else now.", metavar="TIME"),
    ] = None,
    key: Annotated[str | None, typer.Option(help="Makes a retry harmless.", metavar="KEY")] = None,
    origin: Annotated[
        str, typer.Option(help=f"Who said it: {options.ORIGINS}.", metavar="WHO")
    ] = Origin.USER.value,
) -> Answer:
    """Put a newer statement in an older one's place; the older one is kept as history."""
    async with where.memory() as (memory, _):
        item = await memory.supersede(
            old_id,
            text,
            user_id=where.user,
            kind=UNSET if kind is None else kind,
            importance=UNSET if importance is None else options.number("importance", importance),
            tags=UNSET if tag is None else tag,
            valid_from=options.optional(options.moment, "valid-from", valid_from),
            key=key,
            origin=origin,
        )
    unchanged = item.id == old_id

    def show(out: Console) -> None:
        out.print(f"{old_id} says that already" if unchanged else f"superseded {old_id} by {item.id}")

    return Answer(data={"superseded": not unchanged, "item": item_to_dict(item)}, show=show)


async def history(
    where: Where,
    memory_id: Annotated[str, typer.Argument(help="The id of any version.", metavar="ID")],
) -> Answer:
    """All versions of a statement, the first one first."""
    async with where.memory() as (memory, _):
        versions = await memory.history(memory_id, user_id=where.user)
    if not versions:
        raise NotFound(f"no memory {memory_id!r} in {where.described()}")

    def show(out: Console) -> None:
        for item in versions:
            _print_version(out, item)

    return Answer(data={"items": [item_to_dict(item) for item in versions]}, show=show)


async def conflicts(where: Where, limit: options.Limit = "100") -> Answer:
    """The pairs of memories worded alike that state different facts, newest first."""
    async with where.memory() as (memory, _):
        pairs = await memory.conflicts(user_id=where.user, limit=options.whole_number("limit", limit))
    found: list[Json] = [
        {"why": pair.why, "newer": item_to_dict(pair.newer), "older": item_to_dict(pair.older)}
        for pair in pairs
    ]

    def show(out: Console) -> None:
        for pair in pairs:
            out.print(Text(visible(pair.why), style="cyan"))
            _print_version(out, pair.newer)
            _print_version(out, pair.older)
        if not pairs:
            out.print("no conflicts")

    hint = "supersede OLDER-ID with what holds, or forget one of the two" if pairs else None
    return Answer(data={"conflicts": found}, show=show, hint=hint)


def _print_version(out: Console, item: MemoryItem) -> None:
    """Its content, and below it the rest and until when it held."""
    ended = ""
    if item.superseded_by is not None:
        ended = f" · held until {when(item.valid_until)}" if item.valid_until else " · replaced"
    out.print(Text(visible(item.content), style="dim" if ended else "bold"))
    out.print(Padding(Text(item_line(item) + ended, style="dim"), (0, 0, 0, 2)))
