"""The commands about threads: append, show, threads."""

from typing import Annotated

import typer
from rich.console import Console

from retentive.checks import Json
from retentive.cli import options
from retentive.cli.bulk import append_lines
from retentive.cli.command import Answer, Where
from retentive.cli.output import item_line, one_line, print_turns, table, visible, when
from retentive.codec import item_to_dict, turn_to_dict
from retentive.conversation import MAX_TURNS
from retentive.errors import InvalidInput, NotFound
from retentive.guards import guards_of
from retentive.names import check_name
from retentive.stores.base import Damage, ThreadStore
from retentive.threads import Thread, open_thread
from retentive.types import MemoryItem, Turn


def thread_store() -> ThreadStore:
    """The threads below the home folder, guarded as the environment says."""
    return guards_of().threads_below()


async def append(  # noqa: PLR0913 - the fields of a turn
    where: Where,
    thread: Annotated[str, typer.Argument(help="The thread; it need not exist yet.", metavar="THREAD")],
    text: Annotated[
        str, typer.Argument(help="What was said; - reads many from stdin, one a line.", metavar="TEXT")
    ],
    role: Annotated[str, typer.Option(help="user, assistant, system or tool.", metavar="ROLE")] = "user",
    metadata: Annotated[str | None, typer.Option(help="A JSON object.", metavar="JSON")] = None,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="With -: each line is a JSON object: content, role, metadata.")
    ] = False,
) -> Answer:
    """Add a turn to the end of a thread."""
    more = options.optional(options.json_object, "metadata", metadata)
    opened = await open_thread(thread, where.namespace)
    if text == "-":
        if more is not None:
            raise InvalidInput("--metadata is for one turn; with stdin give each line its own (--jsonl)")
        return await append_lines(opened, role, jsonl=jsonl)
    if jsonl:
        raise InvalidInput("--jsonl reads stdin: pass - as the text")
    turn = (await opened.append(text, role, more)).messages()[-1]
    return Answer(
        data={"thread": thread, "namespace": where.namespace, "turn": turn_to_dict(turn)},
        show=lambda out: out.print(f"turn {turn.seq} of {visible(thread)}"),
        notes=_damage_notes(opened.damage),
    )


async def show(
    where: Where,
    name: Annotated[str, typer.Argument(help="A thread, or the id of a memory.", metavar="THREAD_OR_ID")],
    limit: Annotated[str | None, typer.Option(help="Only the latest so many turns.", metavar="N")] = None,
) -> Answer:
    """A thread's turns in order, or a memory with all its fields."""
    latest = options.optional(_turn_limit, "limit", limit)
    opened = await open_thread(name, where.namespace, read_only=True)
    if opened.messages() or opened.damage:
        return _thread_answer(opened, list(opened.messages(latest)))
    async with where.memory() as (memory, _):
        item = await memory.get(name, user_id=where.user)
    if item is None:
        raise NotFound(f"no thread and no memory {name!r} in {where.described()}")
    return Answer(data={"memory": item_to_dict(item)}, show=lambda out: _print_memory(out, item))


def _turn_limit(field: str, text: str) -> int:
    return options.whole_number(field, text, maximum=MAX_TURNS)


def _thread_answer(thread: Thread, turns: list[Turn]) -> Answer:
    data: dict[str, Json] = {
        "thread": thread.id,
        "namespace": thread.namespace,
        "length": len(thread),
        "turns": [turn_to_dict(turn) for turn in turns],
    }
    notes = _damage_notes(thread.damage)
    return Answer(data=data, show=lambda out: print_turns(out, turns), notes=notes)


def _damage_notes(damage: tuple[Damage, ...]) -> tuple[str, ...]:
    return tuple(
        f"line {each.line} cannot be read: {each.reason}"
        + (f" (kept in {each.kept_at})" if each.kept_at else "")
        for each in damage
    )


def _print_memory(out: Console, item: MemoryItem) -> None:
    out.print(visible(item.content), style="bold")
    out.print(item_line(item), style="dim")
    for name, value in item_to_dict(item).items():
        if name not in ("content", "id"):
            out.print(f"{name:<12} {visible(str(value))}")


async def threads(where: Where) -> Answer:
    """The threads of a namespace, with how many turns each has and its latest."""
    store = thread_store()
    check_name("namespace", where.namespace)
    rows: list[tuple[str, int, Turn | None]] = []
    for name in await store.threads(where.namespace):
        turns = (await store.turns(where.namespace, name)).turns
        rows.append((name, len(turns), turns[-1] if turns else None))
    hint = None
    if not rows:
        hint = f"namespace {where.namespace!r} has no threads; `retentive namespaces` lists those that have"
    return Answer(
        data={"namespace": where.namespace, "threads": [_row_to_dict(*row) for row in rows]},
        show=lambda out: _print_rows(out, rows),
        hint=hint,
    )


def _row_to_dict(name: str, length: int, latest: Turn | None) -> dict[str, Json]:
    return {"thread": name, "turns": length, "latest": turn_to_dict(latest) if latest else None}


def _print_rows(out: Console, rows: list[tuple[str, int, Turn | None]]) -> None:
    if not rows:
        out.print("no threads")
        return
    cells = [
        (name, f"{length:,}", when(turn.at) if turn else "", one_line(turn.content)[:60] if turn else "")
        for name, length, turn in rows
    ]
    out.print(table("thread", "turns", "latest", "", rows=cells))
