"""`retentive demo`: the main job on a real conversation, checking itself."""

import shutil
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from retentive.checks import Json
from retentive.cli import demo_steps as steps
from retentive.cli import demo_story as story
from retentive.cli.command import Answer, Where
from retentive.cli.demo_report import Report, Told
from retentive.cli.exits import BROKEN_PROMISE, OK
from retentive.cli.lines import progress
from retentive.cli.output import console
from retentive.errors import InvalidInput, StoreUnavailable
from retentive.memory import Memory


async def demo(
    where: Where,
    home: Annotated[
        Path | None, typer.Option(help="Keep what it makes in this new or empty folder.", metavar="FOLDER")
    ] = None,
) -> Answer:
    """The main job on a bundled conversation: remember, recall, forget, reopen. Checks itself."""
    started = time.perf_counter()
    report = Report(None if where.json else console(sys.stdout))
    with _folder(home) as folder:
        promises = await _run(folder, report, kept=home is not None)
    seconds = time.perf_counter() - started
    broken = [name for name, kept in promises.items() if not kept]
    data: dict[str, Json] = {**report.data, "promises": {**promises}, "seconds": round(seconds, 2)}

    def show(_: Console) -> None:
        report.end(broken, seconds, home)

    return Answer(data=data, show=show, exit_code=BROKEN_PROMISE if broken else OK)


async def _run(home: Path, report: Report, *, kept: bool) -> dict[str, bool]:
    from retentive.stores.sqlite import SQLiteStore

    store = SQLiteStore(home / "memory.db")
    try:
        async with Memory(story.NAMESPACE, store=store, clock=lambda: story.NOW) as memory:
            said, facts, questions = story.turns(), story.facts(), story.questions()
            report.begin(said, home if kept else None)
            started = time.perf_counter()
            with progress("remembering turns", len(said), stays=True) as advance:
                stored = await steps.remember_turns(memory, home, said, advance)
            told = await steps.remember_facts(memory, facts)
            report.remembered(Told(turns=stored, facts=told, seconds=time.perf_counter() - started))
            asked = [report.asked(n, await steps.ask(memory, q)) for n, q in enumerate(questions, start=1)]
            forgotten = report.forgotten(await steps.forget_secret(memory, home))
            reopened = report.reopened(await steps.reopen(home))
            seen = report.other_tenant(await steps.ask_as_another(store, questions))
    finally:
        await store.close()
    return {
        "every turn is remembered": stored == len(said),
        "the expected answer is among the top three for nine of ten": (
            sum(each.is_right for each in asked) >= steps.RIGHT_ANSWERS_PROMISED
        ),
        "restated facts are not stored twice": any(fact.restated for fact in told),
        "facts that differ are both kept": any(fact.differs_from for fact in told),
        "the forgotten is gone": forgotten.is_gone,
        "a second process reads the same thread": reopened.is_equal,
        "another tenant sees nothing": seen == 0,
    }


@contextmanager
def _folder(home: Path | None) -> Generator[Path]:
    """The folder to work in: `home`, which must be empty, else a temporary one that goes away again."""
    if home is None:
        temporary = Path(tempfile.mkdtemp(prefix="retentive-demo-"))
        try:
            yield temporary
        finally:
            shutil.rmtree(temporary, ignore_errors=True)
        return
    try:
        home.mkdir(parents=True, exist_ok=True)
        used = any(home.iterdir())
    except OSError as error:
        raise StoreUnavailable(f"{home} cannot be used: {error.strerror or error}") from error
    if used:
        raise InvalidInput(f"{home} is not empty; name a new folder")
    yield home.absolute()
