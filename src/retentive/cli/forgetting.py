"""The commands that remove: forget, forget-user, clear. They print receipts, and verify them when asked."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from retentive.checks import Json
from retentive.cli import options
from retentive.cli.command import Answer, Where
from retentive.cli.exits import NOT_FOUND, OK, STILL_THERE
from retentive.cli.output import visible
from retentive.errors import InvalidInput, NotFound
from retentive.memory import Memory
from retentive.types import Receipt, Verdict

Yes = Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")]
RedactSource = Annotated[
    bool,
    typer.Option("--redact-source", help="Take what was said out of the turns that memories came from, too."),
]
Verify = Annotated[
    bool, typer.Option("--verify", help="Look for it afterwards in every index and in the bytes on disk.")
]


async def forget(
    where: Where,
    ids: Annotated[
        list[str], typer.Argument(help="Ids as recall, search and list show them.", metavar="ID...")
    ],
    redact_source: RedactSource = False,
    verify: Verify = False,
) -> Answer:
    """Remove memories for good: text, words, vector, links and older versions."""
    asked = list(dict.fromkeys(ids))
    async with where.memory() as (memory, _):
        receipts = [
            await memory.forget(memory_id, user_id=where.user, redact_source=redact_source)
            for memory_id in asked
        ]
        verdicts = await _verdicts(memory, receipts, verify=verify)
    forgotten = [memory_id for receipt in receipts for memory_id in receipt.ids]
    missing = [memory_id for memory_id in asked if memory_id not in forgotten]
    if not forgotten:
        raise NotFound(f"no memory {', '.join(map(repr, missing))} in {where.described()}")
    not_there = tuple(f"error: no memory {memory_id!r} in {where.described()}" for memory_id in missing)
    more: dict[str, Json] = {"not_found": list[Json](missing)}
    return _answer(receipts, verdicts, more, notes=not_there, code=NOT_FOUND if missing else OK)


async def clear(  # noqa: PLR0913 - whose, which, and how
    where: Where,
    kind: options.Kinds = None,
    everyone: Annotated[
        bool, typer.Option("--everyone", help="All users of the namespace and its shared memories.")
    ] = False,
    redact_source: RedactSource = False,
    verify: Verify = False,
    yes: Yes = False,
) -> Answer:
    """Remove all memories of a user, or of the shared scope. Asks first."""
    if everyone and where.user is not None:
        raise InvalidInput("pass --user or --everyone, not both")
    whose = "everyone" if everyone else f"user {where.user!r}" if where.user else "the shared scope"
    _confirm(f"Remove all memories of {whose} in namespace {where.namespace!r}?", yes=yes)
    async with where.memory() as (memory, _):
        if everyone:
            receipt = await memory.clear(kinds=kind, everyone=True, redact_source=redact_source)
        else:
            receipt = await memory.clear(user_id=where.user, kinds=kind, redact_source=redact_source)
        verdicts = await _verdicts(memory, [receipt], verify=verify)
    return _answer([receipt], verdicts)


async def forget_user(  # noqa: PLR0913 - whose, where, and how
    where: Where,
    user: Annotated[str, typer.Argument(help="The user.", metavar="USER")],
    thread: Annotated[
        list[str] | None,
        typer.Option("--thread", help="A thread that is the user's; repeat for more.", metavar="THREAD"),
    ] = None,
    threads: Annotated[
        str | None,
        typer.Option("--threads", help="The home folder with the threads; else this one.", metavar="FOLDER"),
    ] = None,
    verify: Verify = False,
    yes: Yes = False,
) -> Answer:
    """Remove a user: memories, notes, and threads or the user's turns in them. Asks first.

    Threads are the user's when extraction has noted them, or when turns name the user in their metadata.
    """
    folder = options.optional(_folder, "threads", threads)
    question = f"Remove all memories and threads of user {user!r} in namespace {where.namespace!r}?"
    _confirm(question, yes=yes)
    async with where.memory() as (memory, _):
        receipt = await memory.forget_user(user, threads=folder, also=thread or ())
        verdicts = await _verdicts(memory, [receipt], verify=verify, threads=folder)
    return _answer([receipt], verdicts)


def _folder(field: str, text: str) -> Path:
    folder = Path(text).absolute()
    if not folder.is_dir():
        raise InvalidInput(f"--{field}: there is no folder {text!r}")
    return folder


def _confirm(question: str, *, yes: bool) -> None:
    if not yes and not typer.confirm(question, err=True):
        raise typer.Abort


async def _verdicts(
    memory: Memory, receipts: Sequence[Receipt], *, verify: bool, threads: Path | None = None
) -> list[Verdict]:
    if not verify:
        return []
    return [await memory.verify_forgotten(receipt, threads=threads) for receipt in receipts if receipt]


def _answer(
    receipts: Sequence[Receipt],
    verdicts: Sequence[Verdict],
    more: Mapping[str, Json] | None = None,
    *,
    notes: tuple[str, ...] = (),
    code: int = OK,
) -> Answer:
    """The receipts as one, with what was found when they were verified."""
    ids: list[Json] = [memory_id for receipt in receipts for memory_id in receipt.ids]
    removed: dict[str, int] = {}
    turns: dict[str, Json] = {}
    for receipt in receipts:
        for place, count in receipt.removed.items():
            removed[place] = removed.get(place, 0) + count
        turns |= {thread: list[Json](seqs) for thread, seqs in receipt.turns.items()}
    threads: list[Json] = [thread for receipt in receipts for thread in receipt.threads]
    data: dict[str, Json] = {"forgotten": ids, "removed": {**removed}, "threads": threads, "turns": turns}
    data |= more or {}
    if verdicts:
        data["verdict"] = _verdict_to_dict(verdicts)
    found = [f"still there: {place}" for verdict in verdicts for place in verdict.found]
    skipped = [f"not searched: {why}" for verdict in verdicts for why in verdict.skipped]

    def show(out: Console) -> None:
        out.print(_forgotten_text(len(ids), removed))
        for thread in map(str, threads):
            out.print(f"deleted thread {visible(thread)}")
        if verdicts and all(verdicts):
            out.print(_searched_text(verdicts))

    return Answer(
        data=data,
        show=show,
        notes=(*notes, *found, *skipped),
        exit_code=code if all(verdicts) else STILL_THERE,
    )


def _verdict_to_dict(verdicts: Sequence[Verdict]) -> dict[str, Json]:
    return {
        "forgotten": all(verdicts),
        "complete": all(verdict.complete for verdict in verdicts),
        "encrypted": any(verdict.encrypted for verdict in verdicts),
        "found": [place for verdict in verdicts for place in verdict.found],
        "skipped": [why for verdict in verdicts for why in verdict.skipped],
        "shared": sum(verdict.shared for verdict in verdicts),
        "checked": [
            {"place": checked.place, "size": checked.size, "unit": checked.unit}
            for verdict in verdicts
            for checked in verdict.checked
        ],
    }


def _searched_text(verdicts: Sequence[Verdict]) -> str:
    places = {checked.place for verdict in verdicts for checked in verdict.checked}
    sizes = {
        checked.place: checked.size
        for verdict in verdicts
        for checked in verdict.checked
        if checked.unit == "bytes"
    }
    files = "1 file" if len(sizes) == 1 else f"{len(sizes)} files"
    size = sum(sizes.values())
    found = f"verified: nothing found in {len(places)} places, {files} of {size:,} bytes among them"
    if any(verdict.encrypted for verdict in verdicts):
        found += "; files were searched for the encrypted bytes and for the words in clear"
    return found


def _forgotten_text(count: int, removed: Mapping[str, int]) -> str:
    places = ", ".join(f"{place} {number}" for place, number in removed.items() if number)
    noun = "memory" if count == 1 else "memories"
    return f"forgot {count} {noun}" + (f" ({places})" if places else "")
