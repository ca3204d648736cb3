"""The commands for jobs that run now and then: prune, consolidate, unmerge."""

from collections.abc import Callable, Generator
from contextlib import contextmanager
from datetime import timedelta
from typing import Annotated, Any

import typer
from rich.console import Console

from retentive.checks import Json
from retentive.cli import options
from retentive.cli.command import Answer, Where
from retentive.cli.lines import progress
from retentive.cli.output import print_items
from retentive.codec import item_to_dict
from retentive.drafts import check_kind
from retentive.errors import InvalidInput
from retentive.life.llm_merge import LLMMerge
from retentive.life.reports import ConsolidateReport, Progress, PruneReport
from retentive.ranking.retention import RetentionPolicy, RetentionRule
from retentive.types import MemoryKind

Shared = Annotated[bool, typer.Option("--shared", help="Only the namespace's shared memories.")]
Apply = Annotated[bool, typer.Option("--apply", help="Do it; without this it only says what it would do.")]


async def prune(  # noqa: PLR0913 - the options of the command
    where: Where,
    older_than: Annotated[
        str | None, typer.Option("--older-than", help="Stored longer ago than this: 90d.", metavar="SPAN")
    ] = None,
    idle: Annotated[str | None, typer.Option(help="Not used or changed for so long.", metavar="SPAN")] = None,
    min_importance: Annotated[
        str | None, typer.Option("--min-importance", help="Less important than this, 0 to 1.", metavar="N")
    ] = None,
    keep: Annotated[
        str | None, typer.Option(help="All but so many of a scope, the most important.", metavar="N")
    ] = None,
    min_age: Annotated[
        str | None, typer.Option("--min-age", help="What is younger than this stays.", metavar="SPAN")
    ] = None,
    half_life: Annotated[
        str | None,
        typer.Option("--half-life", help="Importance halves when unused for so long.", metavar="SPAN"),
    ] = None,
    purge_superseded: Annotated[
        str | None,
        typer.Option(
            "--purge-superseded", help="Older versions, so long after they were replaced.", metavar="SPAN"
        ),
    ] = None,
    kind: Annotated[
        list[str] | None,
        typer.Option(help=f"Only these kinds; repeat for more: {options.KINDS}.", metavar="KIND"),
    ] = None,
    apply: Apply = False,
    shared: Shared = False,
) -> Answer:
    """Remove what is not worth keeping, for the whole namespace; with --user or --shared only theirs.

    What has expired goes always, the rest as the options say. Made for cron: it asks nothing, two at once do
    no harm, and after a stop the next run goes on.
    """
    policy = _policy(
        kind,
        purge_superseded,
        max_age=options.optional(options.lifetime, "older-than", older_than),
        max_idle=options.optional(options.lifetime, "idle", idle),
        min_importance=options.optional(options.number, "min-importance", min_importance),
        keep_top=options.optional(_count, "keep", keep),
        min_age=options.optional(options.lifetime, "min-age", min_age) or timedelta(0),
        half_life=options.optional(options.lifetime, "half-life", half_life),
    )
    whose = _whose(where, shared=shared)
    async with where.memory() as (memory, _):
        with _bar("pruning") as tell:
            report = await memory.prune(policy, dry_run=not apply, progress=tell, **whose)
    hint = "run it again with --apply to remove them" if report.total and not apply else None
    return Answer(data=_pruned(report), show=lambda out: _show_pruned(out, report), hint=hint)


async def consolidate(
    where: Where,
    model: Annotated[
        str | None,
        typer.Option(
            help="A model that may say linked wordings as one, as pydantic-ai names it: provider:model.",
            metavar="MODEL",
        ),
    ] = None,
    apply: Apply = False,
    shared: Shared = False,
) -> Answer:
    """Make one memory of those that state the same, for the whole namespace or only --user or --shared.

    The sources stay as older versions; unmerge brings them back.
    """
    merge = None if model is None else LLMMerge(model)
    whose = _whose(where, shared=shared)
    async with where.memory() as (memory, _):
        with _bar("consolidating") as tell:
            report = await memory.consolidate(dry_run=not apply, merge=merge, progress=tell, **whose)
    hint = "run it again with --apply to merge them" if report.total and not apply else None
    return Answer(data=_consolidated(report), show=lambda out: _show_consolidated(out, report), hint=hint)


async def unmerge(
    where: Where,
    memory_id: Annotated[str, typer.Argument(help="The memory that consolidate made.", metavar="ID")],
) -> Answer:
    """Bring back the memories that consolidate made one of."""
    async with where.memory() as (memory, _):
        items = await memory.unmerge(memory_id, user_id=where.user)
    return Answer(
        data={"items": [item_to_dict(item) for item in items]}, show=lambda out: print_items(out, items)
    )


def _policy(kinds: list[str] | None, purge_superseded: str | None, **rule: Any) -> RetentionPolicy:
    """The rule for all kinds, or for these alone."""
    purge = options.optional(options.lifetime, "purge-superseded", purge_superseded)
    if not kinds:
        return RetentionPolicy(purge_superseded_after=purge, **rule)
    rules: dict[MemoryKind, RetentionRule] = {check_kind(kind): RetentionRule(**rule) for kind in kinds}
    return RetentionPolicy(purge_superseded_after=purge, kinds=rules)


def _count(field: str, text: str) -> int:
    return options.whole_number(field, text, maximum=1_000_000_000)


def _whose(where: Where, *, shared: bool) -> dict[str, Any]:
    if shared and where.user is not None:
        raise InvalidInput("pass --user or --shared, not both")
    return {"user_id": where.user} if shared or where.user is not None else {"everyone": True}


@contextmanager
def _bar(what: str) -> Generator[Progress]:
    """A bar that begins when it is known how much there is to do."""
    with progress(what, None) as advance:
        yield _advancing(advance)


def _advancing(advance: Callable[[int], None]) -> Progress:
    so_far = 0

    def tell(done: int, _total: int) -> None:
        nonlocal so_far
        advance(done - so_far)
        so_far = done

    return tell


def _pruned(report: PruneReport) -> dict[str, Json]:
    return {
        "dry_run": report.dry_run,
        "scopes": report.scopes,
        "scanned": report.scanned,
        "total": report.total,
        "removed": dict(report.removed),
        "ids": list(report.ids),
    }


def _show_pruned(out: Console, report: PruneReport) -> None:
    would = "would remove" if report.dry_run else "removed"
    reasons = ", ".join(f"{name} {count:,}" for name, count in report.removed.items())
    said = f"{would} {report.total:,} of {report.scanned:,} memories"
    out.print(f"{said}: {reasons}" if reasons else said)


def _consolidated(report: ConsolidateReport) -> dict[str, Json]:
    return {
        "dry_run": report.dry_run,
        "scopes": report.scopes,
        "scanned": report.scanned,
        "total": report.total,
        "merged": [{"id": one.id, "sources": list(one.sources), "why": one.why} for one in report.merged],
        "skipped": dict(report.skipped),
    }


def _show_consolidated(out: Console, report: ConsolidateReport) -> None:
    for one in report.merged:
        out.print(f"{one.id or '(new)'} of {', '.join(one.sources)} · {one.why}", soft_wrap=True)
    would = "would make" if report.dry_run else "made"
    out.print(f"{would} {report.total:,} memories of several; {report.scanned:,} looked at")
    for reason, count in report.skipped.items():
        out.print(f"{count:,} left as they are: {reason}")
