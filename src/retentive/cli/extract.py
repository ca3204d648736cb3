"""The command `extract`: finishes what waits to be drawn from threads and exchanges."""

from collections.abc import Sequence
from typing import Annotated

import typer
from rich.console import Console

from retentive.checks import Json
from retentive.cli.command import Answer, Where
from retentive.cli.exits import NOT_EXTRACTED, OK
from retentive.cli.lines import progress
from retentive.cli.output import print_items, table, visible, when
from retentive.cli.threads import thread_store
from retentive.codec import item_to_dict, time_to_text
from retentive.errors import InvalidInput, NotFound
from retentive.extraction import Backlog, DeadLetter, Extracted, Extraction, LLMExtractor, VerbatimExtractor
from retentive.extraction.notes import WATERMARKS
from retentive.memory import Memory
from retentive.names import check_name
from retentive.types import UNSET, Unset

FAILURES_IN_A_ROW = 5


async def extract(  # noqa: PLR0913 - the options of the command
    where: Where,
    user: Annotated[
        str | None, typer.Option(help="Only for this user; without it for everybody.", metavar="ID")
    ] = None,
    thread: Annotated[
        str | None,
        typer.Option(
            help="Only this thread; from its start, for --user or shared, if no agent has run on it.",
            metavar="THREAD",
        ),
    ] = None,
    model: Annotated[
        str | None,
        typer.Option(help="The model to ask, as pydantic-ai names it: provider:model.", metavar="MODEL"),
    ] = None,
    verbatim: Annotated[
        bool, typer.Option("--verbatim", help="Ask no model: keep what users said word for word.")
    ] = False,
    dead_letters: Annotated[
        bool, typer.Option("--dead-letters", help="Only list what was given up after repeated failure.")
    ] = False,
    retry: Annotated[bool, typer.Option("--retry", help="Try what was given up once more, too.")] = False,
) -> Answer:
    """Draw memories from what waits in threads and exchanges. May run at any time, for example from cron."""
    if thread is not None:
        check_name("thread", thread)
    whose: str | Unset = UNSET if user is None else user
    async with where.memory() as (memory, _):
        if dead_letters:
            found = await _extraction(memory, None, verbatim=True).dead_letters(whose)
            return _listed([letter for letter in found if thread is None or letter.thread == thread])
        extraction = _extraction(memory, model, verbatim=verbatim)
        if thread is not None:
            await _begin(extraction, where.namespace, thread, user)
        waiting: list[Backlog | DeadLetter] = [*await extraction.backlogs(whose)]
        waiting += await extraction.dead_letters(whose) if retry else []
        waiting = [one for one in waiting if thread is None or one.thread == thread]
        results = await _finish(extraction, waiting)
    return _answer(results, left=len(waiting) - len(results))


def _extraction(memory: Memory, model: str | None, *, verbatim: bool) -> Extraction:
    if verbatim == (model is not None):
        raise InvalidInput("name a model to ask (--model provider:model), or pass --verbatim to ask none")
    extractor = VerbatimExtractor() if verbatim else LLMExtractor(model)
    return Extraction(memory, extractor, threads=thread_store())


async def _begin(extraction: Extraction, namespace: str, thread: str, user: str | None) -> None:
    """Have a thread that nobody extracts yet extracted from its start.

    Raises:
        NotFound: there is no such thread.
    """
    if not (await thread_store().turns(namespace, thread)).turns:
        raise NotFound(f"no thread {thread!r} in namespace {namespace!r}")
    users = [user] if user is not None else [scope.user_id for scope in await extraction.memory.scopes()]
    for one in users:
        if any(
            note.endswith(f"/{thread}") for note in await extraction.memory.notes(WATERMARKS, user_id=one)
        ):
            return
    await extraction.begin_thread(namespace, thread, user_id=user)


async def _finish(
    extraction: Extraction, waiting: Sequence[Backlog | DeadLetter]
) -> list[tuple[Backlog | DeadLetter, Extracted]]:
    """What came of each, in order; of fewer than all if too many fail one after the other."""
    results: list[tuple[Backlog | DeadLetter, Extracted]] = []
    failed = 0
    with progress("extracting", sum(map(_turns, waiting))) as advance:
        for one in waiting:
            results.append((one, await _extracted(extraction, one)))
            advance(_turns(one))
            failed = 0 if results[-1][1] else failed + 1
            if failed == FAILURES_IN_A_ROW:
                break
    return results


async def _extracted(extraction: Extraction, one: Backlog | DeadLetter) -> Extracted:
    if isinstance(one, DeadLetter):
        return await extraction.retry(one)
    done = Extracted()
    while True:
        step = await extraction.extract(one)
        done += step
        if not (step and step.turns):
            return done


def _turns(one: Backlog | DeadLetter) -> int:
    return one.waiting if isinstance(one, Backlog) else one.last - one.first + 1


def _answer(results: Sequence[tuple[Backlog | DeadLetter, Extracted]], left: int) -> Answer:
    done = sum((extracted for _, extracted in results), Extracted())
    failures = [(one, extracted.failure) for one, extracted in results if extracted.failure is not None]
    data: dict[str, Json] = {
        "turns": done.turns,
        "memories": [item_to_dict(item) for item in done.items],
        "restated": list(done.restated),
        "superseded": list(done.superseded),
        "refused": list(done.refused),
        "failures": [{**_place(one), "error": why} for one, why in failures],
        "dead_letters": [_letter(letter) for letter in done.dead],
        "not_tried": left,
    }
    notes = [f"{_named(one)}: {why}" for one, why in failures]
    if left:
        notes.append(f"stopped after {FAILURES_IN_A_ROW} failures in a row; {left} were not tried")

    def show(out: Console) -> None:
        print_items(out, done.items)
        counted = f"{len(done.items)} new, {len(done.restated)} known, {len(done.superseded)} superseded"
        out.print(f"turns extracted {done.turns:,}: {counted}" if results else "nothing waits")

    return Answer(data=data, show=show, notes=tuple(notes), exit_code=NOT_EXTRACTED if failures else OK)


def _listed(letters: Sequence[DeadLetter]) -> Answer:
    def show(out: Console) -> None:
        if letters:
            out.print(table("when", "what", "turns", "failures", "why", rows=map(_row, letters)))
        else:
            out.print("nothing was given up")

    hint = "`retentive extract --retry` tries them again" if letters else None
    return Answer(data={"dead_letters": [_letter(one) for one in letters]}, show=show, hint=hint)


def _row(letter: DeadLetter) -> tuple[str, ...]:
    turns = "" if letter.run_id is not None else f"{letter.first}-{letter.last}"
    return when(letter.at), _named(letter), turns, str(letter.attempts), letter.error


def _named(one: Backlog | DeadLetter) -> str:
    what = f"run {one.run_id}" if one.run_id is not None else f"thread {one.thread}"
    return visible(f"{what} of {one.user_id}" if one.user_id is not None else what)


def _place(one: Backlog | DeadLetter) -> dict[str, Json]:
    return {
        "user_id": one.user_id,
        "thread_namespace": one.namespace,
        "thread": one.thread,
        "run_id": one.run_id,
    }


def _letter(letter: DeadLetter) -> dict[str, Json]:
    turns: dict[str, Json] = {} if letter.run_id is not None else {"first": letter.first, "last": letter.last}
    more: dict[str, Json] = {
        "at": time_to_text(letter.at),
        "attempts": letter.attempts,
        "error": letter.error,
    }
    return {**_place(letter), **turns, **more}
