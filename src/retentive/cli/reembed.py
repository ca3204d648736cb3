"""The command that moves memories to another embedder: reembed."""

from collections.abc import Callable
from contextlib import ExitStack
from typing import Annotated

import typer

from retentive.checks import Json
from retentive.cli.command import Answer, Where
from retentive.cli.exits import OK, exit_code
from retentive.cli.lines import progress
from retentive.errors import EmbedderError, InvalidInput
from retentive.home import home
from retentive.life.reembedded import Reembedded
from retentive.memory import Memory
from retentive.stores.urls import open_store


async def reembed(
    where: Where,
    embedder: Annotated[
        str | None,
        typer.Option(help="Its name, as Memory takes it; without it the one of the package.", metavar="NAME"),
    ] = None,
    shared: Annotated[bool, typer.Option("--shared", help="Only the namespace's shared memories.")] = False,
) -> Answer:
    """Give all memories of a namespace the vectors of an embedder; with --user or --shared only those.

    Other programs may go on meanwhile. Stopped or killed, it goes on with what is left when run again. Ends
    with 6 if memories are left.
    """
    if shared and where.user is not None:
        raise InvalidInput("pass --user or --shared, not both")
    store = open_store(where.store, home=home())
    try:
        async with Memory(where.namespace, store=store, embedder=embedder) as memory:
            report = await _moved(memory, where, everyone=not shared and where.user is None)
    finally:
        await store.close()
    return Answer(
        data=_said(report),
        show=lambda out: out.print(
            f"{report.moved:,} of {report.scanned:,} memories moved to {report.embedder}"
        ),
        notes=tuple(f"{count:,} failed: {reason}" for reason, count in report.failed.items()),
        hint="run it again to move what is left" if report.left else None,
        exit_code=exit_code(EmbedderError()) if report.left else OK,
    )


async def _moved(memory: Memory, where: Where, *, everyone: bool) -> Reembedded:
    with ExitStack() as bars:
        advance: Callable[[int], None] | None = None
        so_far = 0

        def tell(done: int, total: int) -> None:
            nonlocal advance, so_far
            advance = advance or bars.enter_context(progress("reembedding", total))
            advance(done - so_far)
            so_far = done

        if everyone:
            return await memory.reembed(everyone=True, progress=tell)
        return await memory.reembed(user_id=where.user, progress=tell)


def _said(report: Reembedded) -> dict[str, Json]:
    return {
        "embedder": report.embedder,
        "before": {name or "": count for name, count in report.before.items()},
        "scanned": report.scanned,
        "moved": report.moved,
        "failed": dict(report.failed),
        "left": report.left,
    }
