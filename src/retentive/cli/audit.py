"""The command that reads an audit log: audit."""

from collections import deque
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Annotated

import typer
from rich.console import Console

from retentive.audit import AuditEntry, read_audit
from retentive.checks import Json
from retentive.cli import options
from retentive.cli.command import Answer, Where
from retentive.cli.output import table, when
from retentive.codec import time_to_text
from retentive.home import home


@dataclass(frozen=True, slots=True, kw_only=True)
class _Wanted:
    """Which entries are asked for; None asks for all."""

    namespace: str | None
    user: str | None
    verb: str | None
    id: str | None
    since: datetime | None
    until: datetime | None

    def takes(self, entry: AuditEntry) -> bool:
        return (
            (self.namespace is None or entry.namespace == self.namespace)
            and (self.user is None or entry.user_id == self.user)
            and (self.verb is None or entry.verb == self.verb)
            and (self.id is None or self.id in entry.ids)
            and (self.since is None or entry.at >= self.since)
            and (self.until is None or entry.at < self.until)
        )


async def audit(  # noqa: PLR0913 - the options of the command
    where: Where,  # noqa: ARG001 - every command has one
    log: Annotated[
        Path | None,
        typer.Argument(help="Else audit.jsonl in RETENTIVE_HOME or ./.retentive.", metavar="FILE"),
    ] = None,
    namespace: Annotated[str | None, typer.Option(help="Only of this tenant.", metavar="NAME")] = None,
    user: Annotated[str | None, typer.Option(help="Only about this user's memories.", metavar="ID")] = None,
    verb: Annotated[
        str | None, typer.Option(help="Only this call, such as recall or forget.", metavar="VERB")
    ] = None,
    memory_id: Annotated[
        str | None, typer.Option("--id", help="Only what touched this memory.", metavar="ID")
    ] = None,
    since: Annotated[str | None, typer.Option(help="Only at or after this time.", metavar="TIME")] = None,
    until: Annotated[str | None, typer.Option(help="Only before this time.", metavar="TIME")] = None,
    limit: Annotated[str, typer.Option(help="The latest so many, 0 to 1,000.", metavar="N")] = "100",
) -> Answer:
    """The latest entries of an audit log, oldest first: who read and wrote which memories, and when.

    The log is read line by line, the full files beside it first; each line is JSON, for other programs.
    """
    wanted = _Wanted(
        namespace=namespace,
        user=user,
        verb=verb,
        id=memory_id,
        since=options.optional(options.moment, "since", since),
        until=options.optional(options.moment, "until", until),
    )
    latest: deque[AuditEntry] = deque(maxlen=options.whole_number("limit", limit))
    found = unreadable = 0
    for entry in read_audit(log or home() / "audit.jsonl"):
        if entry is None:
            unreadable += 1
        elif wanted.takes(entry):
            found += 1
            latest.append(entry)
    entries: list[Json] = [_entry(entry) for entry in latest]
    return Answer(
        data={"entries": entries, "found": found, "unreadable": unreadable},
        show=lambda out: _show(out, list(latest)),
        notes=(f"{unreadable:,} lines could not be read",) if unreadable else (),
        hint=f"{found - len(latest):,} earlier ones are not shown" if found > len(latest) else None,
    )


def _show(out: Console, entries: list[AuditEntry]) -> None:
    rows = [
        (
            when(entry.at),
            entry.actor or "",
            entry.type.removeprefix("memory_") + (" failed" if entry.failed else ""),
            f"{entry.missing} missing" if entry.missing else entry.verb,
            entry.namespace,
            entry.user_id or "(shared)",
            str(len(entry.ids)),
            " ".join(entry.ids[:3]),
        )
        for entry in entries
    ]
    heads = ("when", "actor", "type", "verb", "namespace", "user", "memories", "ids")
    out.print(table(*heads, rows=rows) if rows else "nothing was found")


def _entry(entry: AuditEntry) -> dict[str, Json]:
    said: dict[str, Json] = {
        "at": time_to_text(entry.at),
        "type": entry.type,
        "verb": entry.verb,
        "namespace": entry.namespace,
        "user_id": entry.user_id,
        "actor": entry.actor,
        "ids": list(entry.ids),
        "run": entry.run,
        "failed": entry.failed,
    }
    if entry.parts > 1:
        said |= {"part": entry.part, "parts": entry.parts}
    if entry.missing:
        said["missing"] = entry.missing
    return said
