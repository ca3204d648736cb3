"""The command itself: its subcommands, and the one place where an error becomes a sentence and a code."""

import signal
import sys
import threading
from collections.abc import Generator
from contextlib import contextmanager
from typing import Annotated

import typer

from retentive._version import __version__
from retentive.checks import Json
from retentive.cli import (
    archives,
    audit,
    bench,
    chat,
    demo,
    extract,
    forgetting,
    life,
    memories,
    overview,
    reembed,
    threads,
    upkeep,
    verify,
)
from retentive.cli.command import MEMORIES, THREADS, add_command
from retentive.cli.exits import INTERRUPTED, OK, epilog, exit_code
from retentive.cli.output import console, speak_utf8, visible
from retentive.codec import to_json
from retentive.errors import RetentiveError

app = typer.Typer(
    name="retentive",
    help="The memory an AI agent keeps: durable threads, scoped memories, exact recall. Offline.",
    epilog=epilog(),
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _print_version(asked: bool) -> None:
    if asked:
        sys.stdout.write(f"retentive {__version__}\n")
        raise typer.Exit(OK)


@app.callback()
def root(
    version: Annotated[
        bool, typer.Option("--version", callback=_print_version, is_eager=True, help="Show the version.")
    ] = False,
) -> None:
    """The memory an AI agent keeps: durable threads, scoped memories, exact recall. Offline."""


add_command(app, demo.demo, "json")
add_command(app, memories.remember, *MEMORIES)
add_command(app, memories.recall, *MEMORIES)
add_command(app, memories.search, *MEMORIES)
add_command(app, memories.list_, *MEMORIES)
add_command(app, life.supersede, *MEMORIES)
add_command(app, life.history, *MEMORIES)
add_command(app, life.conflicts, *MEMORIES)
add_command(app, forgetting.forget, *MEMORIES)
add_command(app, forgetting.forget_user, "namespace", "store", "json", name="forget-user")
add_command(app, forgetting.clear, *MEMORIES)
add_command(app, threads.append, *THREADS)
add_command(app, threads.show, *MEMORIES)
add_command(app, threads.threads, *THREADS)
add_command(app, chat.chat, "namespace", "user", "store")
add_command(app, extract.extract, "namespace", "store", "json")
add_command(app, archives.export, "namespace", "store", "json")
add_command(app, archives.import_, "namespace", "store", "json")
add_command(app, reembed.reembed, *MEMORIES)
add_command(app, upkeep.prune, *MEMORIES)
add_command(app, upkeep.consolidate, *MEMORIES)
add_command(app, upkeep.unmerge, *MEMORIES)
add_command(app, audit.audit, "json")
add_command(app, overview.namespaces, "store", "json")
add_command(app, overview.stats, *MEMORIES)
add_command(app, verify.verify, "store", "json")
app.add_typer(bench.app, name="bench")


def main(args: list[str] | None = None) -> int:
    """Run the command; gives its exit code."""
    speak_utf8()
    args = sys.argv[1:] if args is None else args
    as_json = "--json" in args[: args.index("--") if "--" in args else len(args)]
    try:
        with _immediate_interrupt():
            code = app(args, prog_name="retentive", standalone_mode=False)
    except RetentiveError as error:
        return _fail(type(error).__name__, error, exit_code(error), as_json=as_json)
    except typer.TyperException as error:
        return _fail("InvalidInput", error, error.exit_code, as_json=as_json)
    except typer.Abort:
        console(sys.stderr).print("stopped; nothing was changed")
        return INTERRUPTED
    except KeyboardInterrupt:
        return INTERRUPTED
    return code if isinstance(code, int) else OK


def _interrupt(*_: object) -> None:
    raise KeyboardInterrupt


@contextmanager
def _immediate_interrupt() -> Generator[None]:
    """Have Ctrl-C end the command at once: asyncio's own handler waits while stdin is being read."""
    is_ours = threading.current_thread() is threading.main_thread()
    if not is_ours or signal.getsignal(signal.SIGINT) is not signal.default_int_handler:
        yield
        return
    signal.signal(signal.SIGINT, _interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def _fail(kind: str, error: Exception, code: int, *, as_json: bool) -> int:
    message = error.format_message() if isinstance(error, typer.TyperException) else str(error)
    notes = [str(note) for note in getattr(error, "__notes__", [])]
    if as_json:
        told: dict[str, Json] = {"type": kind, "message": " ".join([message, *notes])}
        sys.stderr.write(to_json({"error": told}) + "\n")
        return code
    err = console(sys.stderr)
    for line in [f"error: {message or 'name a command'}", *notes]:
        err.print(visible(line), style="red", soft_wrap=True)
    if isinstance(error, typer.TyperException):
        err.print("`retentive COMMAND --help` shows what it takes", style="dim")
    return code
