"""The commands that move data between stores and programs: export, import."""

from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from retentive.archive.formats.table import NAMES
from retentive.archive.report import ExportReport, ImportReport
from retentive.checks import Json
from retentive.cli.command import Answer, Where
from retentive.cli.exits import OK, USAGE
from retentive.cli.lines import NOTED_LINES, progress
from retentive.cli.threads import thread_store
from retentive.errors import InvalidInput
from retentive.types import UNSET, Unset


async def export(  # noqa: PLR0913 - the parts of an export
    where: Where,
    file: Annotated[Path, typer.Argument(help="The archive to write, for example all.zip.", metavar="FILE")],
    user: Annotated[str | None, typer.Option(help="Only this user's memories.", metavar="ID")] = None,
    shared: Annotated[bool, typer.Option("--shared", help="Only the namespace's shared memories.")] = False,
    thread: Annotated[
        list[str] | None, typer.Option(help="Only this thread; repeat for more.", metavar="THREAD")
    ] = None,
    no_threads: Annotated[bool, typer.Option("--no-threads", help="Memories only.")] = False,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="Keep the vectors too, so that an import need not make them.")
    ] = False,
) -> Answer:
    """Write a namespace's memories and threads into an archive; with --user or --shared only those memories.

    A thread belongs to no user: with --user or --shared only the threads named by --thread are in it.
    """
    if shared and user is not None:
        raise InvalidInput("pass --user or --shared, not both")
    if no_threads and thread:
        raise InvalidInput("pass --thread or --no-threads, not both")
    everyone = user is None and not shared
    user_id: str | Unset | None = UNSET if everyone else user
    with_threads = not no_threads and (everyone or bool(thread))
    async with where.memory() as (memory, _):
        report = await memory.export(
            file,
            user_id=user_id,
            threads=thread_store() if with_threads else None,
            thread_ids=thread or None,
            vectors=vectors,
        )
    return Answer(
        data=_exported(file, report),
        show=lambda out: out.print(
            f"exported {report.memories:,} memories and {report.threads:,} threads "
            f"({report.turns:,} turns), {report.size_bytes:,} bytes"
        ),
        notes=tuple(f"thread {name!r} has lines that cannot be read" for name in report.damaged),
    )


async def import_(  # noqa: PLR0913 - the parts of an import
    where: Where,
    file: Annotated[
        Path, typer.Argument(help="An archive, or what another program exported.", metavar="FILE")
    ],
    format: Annotated[
        str | None,
        typer.Option("--from", help=f"{', '.join(NAMES)}; else it is found out.", metavar="FORMAT"),
    ] = None,
    user: Annotated[str | None, typer.Option(help="Give all memories to this user.", metavar="ID")] = None,
    shared: Annotated[
        bool, typer.Option("--shared", help="Give all memories to the namespace's shared scope.")
    ] = False,
    no_threads: Annotated[bool, typer.Option("--no-threads", help="Leave an archive's threads out.")] = False,
    distrust: Annotated[
        bool,
        typer.Option("--distrust", help="Do not believe who said what: every memory is marked imported."),
    ] = False,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would come of it.")] = False,
) -> Answer:
    """Take an archive or another program's export. What is here already stays; a second import adds nothing.

    Without --user and --shared each memory stays with its user. Ends with 2 if something was refused.
    """
    if shared and user is not None:
        raise InvalidInput("pass --user or --shared, not both")
    user_id: str | Unset | None = user if shared or user is not None else UNSET
    async with where.memory() as (memory, _):
        with progress("importing", None) as advance:
            report = await memory.import_(
                file,
                format=format,
                user_id=user_id,
                threads=None if no_threads else thread_store(),
                trust_origins=not distrust,
                dry_run=dry_run,
                progress=advance,
            )
    return Answer(
        data=_imported(file, report),
        show=lambda out: _print_report(out, report),
        notes=_notes(report),
        exit_code=USAGE if report.refused else OK,
    )


def _exported(file: Path, report: ExportReport) -> dict[str, Json]:
    return {
        "file": str(file),
        "memories": report.memories,
        "threads": report.threads,
        "turns": report.turns,
        "users": [scope.user_id for scope in report.scopes],
        "bytes": report.size_bytes,
        "damaged": list(report.damaged),
    }


def _imported(file: Path, report: ImportReport) -> dict[str, Json]:
    refusals: list[Json] = [{"place": one.place, "reason": one.reason} for one in report.refusals]
    return {
        "file": str(file),
        "format": report.format,
        "dry_run": report.dry_run,
        **_figures(report),
        "refused": report.refused,
        "refusals": refusals,
    }


def _figures(report: ImportReport) -> dict[str, int]:
    return {
        "imported": report.imported,
        "present": report.present,
        "expired": report.expired,
        "threads": report.threads,
        "threads_present": report.threads_present,
        "threads_left_out": report.threads_left_out,
        "turns": report.turns,
    }


def _print_report(out: Console, report: ImportReport) -> None:
    would = "would be " if report.dry_run else ""
    figures = [f"{name.replace('_', ' ')} {count:,}" for name, count in _figures(report).items() if count]
    out.print(f"{report.format}: {would}{', '.join(figures) or 'nothing imported'}")


def _notes(report: ImportReport) -> tuple[str, ...]:
    told = [f"{one.place} was not taken: {one.reason}" for one in report.refusals[:NOTED_LINES]]
    more = [f"... and {report.refused - len(told)} more"] if report.refused > len(told) else []
    return (*told, *more)
