"""The frame of every command: texts become values, one call, one answer printed."""

import asyncio
import inspect
import os
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, cast

import typer
from rich.console import Console

from retentive.checks import Json
from retentive.cli import options
from retentive.cli.exits import NO_READER, OK
from retentive.cli.output import console, visible, write_json
from retentive.home import home
from retentive.memory import Memory
from retentive.stores.base import MemoryStore
from retentive.stores.urls import open_store


@dataclass(frozen=True, slots=True, kw_only=True)
class Where:
    """Whose data a command is about, and where that is kept."""

    namespace: str = "default"
    user: str | None = None
    store: str | None = None
    json: bool = False

    @asynccontextmanager
    async def memory(self) -> AsyncGenerator[tuple[Memory, MemoryStore]]:
        """The Memory, opened, and its store; both are let go of at the end."""
        store = open_store(self.store, home=home())
        try:
            async with Memory(self.namespace, store=store) as memory:
                yield memory, store
        finally:
            await store.close()

    def described(self) -> str:
        """The scope in words, for messages."""
        return f"namespace {self.namespace!r}" + (f", user {self.user!r}" if self.user else "")


@dataclass(frozen=True, slots=True, kw_only=True)
class Answer:
    """What a command gives back: one JSON object, how a person sees it, and a hint or an exit code."""

    data: dict[str, Json]
    show: Callable[[Console], None]
    notes: tuple[str, ...] = field(default=())
    hint: str | None = None
    exit_code: int = OK


_PARAMETERS = {
    "namespace": (options.Namespace, "default"),
    "user": (options.User, None),
    "store": (options.Store, None),
    "json": (options.AsJson, False),
}
MEMORIES = ("namespace", "user", "store", "json")
THREADS = ("namespace", "json")


def add_command(
    app: typer.Typer, run: Callable[..., Awaitable[Answer]], *shared: str, name: str | None = None
) -> None:
    """Make `run(where, ...)` a command: its own parameters, and the named ones that make up the Where."""

    def call(**values: Any) -> None:
        where = Where(**{field: values.pop(field) for field in shared})
        give(asyncio.run(cast("Any", run(where, **values))), as_json=where.json)

    own = list(inspect.signature(run).parameters.values())[1:]
    common = [
        inspect.Parameter(
            field,
            inspect.Parameter.KEYWORD_ONLY,
            annotation=_PARAMETERS[field][0],
            default=_PARAMETERS[field][1],
        )
        for field in shared
    ]
    parameters = [each.replace(kind=inspect.Parameter.KEYWORD_ONLY) for each in own]
    call.__signature__ = inspect.Signature([*parameters, *common])  # type: ignore[attr-defined]
    call.__annotations__ = {}
    call.__doc__ = run.__doc__
    app.command(name or run.__name__.strip("_"))(call)


def give(answer: Answer, *, as_json: bool) -> None:
    """Print the answer and leave with its exit code.

    Raises:
        typer.Exit: the code is not 0, or nobody reads the output any more.
    """
    try:
        if as_json:
            notes: dict[str, Json] = {"notes": list(answer.notes)} if answer.notes else {}
            hint: dict[str, Json] = {"hint": answer.hint} if answer.hint else {}
            write_json({**answer.data, **notes, **hint})
        else:
            answer.show(console(sys.stdout))
        sys.stdout.flush()
    except BrokenPipeError:
        _drop_output()
        raise typer.Exit(NO_READER) from None
    if not as_json:
        for note in answer.notes:
            say(note)
        if answer.hint:
            say(f"hint: {answer.hint}")
    if answer.exit_code:
        raise typer.Exit(answer.exit_code)


def say(text: str) -> None:
    """A line on stderr, beside the answer."""
    console(sys.stderr).print(visible(text), style="yellow", soft_wrap=True)


def _drop_output() -> None:
    """Point stdout at nothing, so that Python's own flush at the end does not complain."""
    nothing = os.open(os.devnull, os.O_WRONLY)
    os.dup2(nothing, sys.stdout.fileno())
    os.close(nothing)
