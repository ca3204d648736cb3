"""What an export and an import say when they are done."""

from dataclasses import dataclass, field

from retentive.types import Scope

MAX_REFUSALS = 1_000


@dataclass(frozen=True, slots=True, kw_only=True)
class ExportReport:
    """What an archive holds now. `scopes` are those with memories in it: the shared one first, then users.

    `damaged` names the threads whose log has lines that cannot be read; their other turns are in the archive.
    """

    memories: int
    threads: int
    turns: int
    scopes: tuple[Scope, ...]
    size_bytes: int
    damaged: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Refusal:
    """One record that was not taken: where it stands in the file, and why."""

    place: str
    reason: str


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportReport:
    """What came of a file. In a dry run, what would come of it.

    `imported`, `present` and `expired` count memories: stored now, there already, past their `expires_at` and
    so left out. `threads` were made or grew, by `turns` turns together; `threads_present` had them all;
    `threads_left_out` were not looked at, as no thread store was passed. `refused` counts records not taken;
    `refusals` says why of the first `MAX_REFUSALS`.
    """

    format: str
    dry_run: bool
    imported: int
    present: int
    expired: int
    threads: int
    threads_present: int
    threads_left_out: int
    turns: int
    refused: int
    refusals: tuple[Refusal, ...] = ()


@dataclass(slots=True, kw_only=True)
class Tally:
    """The figures of an import while it runs."""

    imported: int = 0
    present: int = 0
    expired: int = 0
    threads: int = 0
    threads_present: int = 0
    threads_left_out: int = 0
    turns: int = 0
    refused: int = 0
    refusals: list[Refusal] = field(default_factory=list[Refusal])

    def refuse(self, place: str, reason: str) -> None:
        """Count a record that is not taken."""
        self.refused += 1
        if len(self.refusals) < MAX_REFUSALS:
            self.refusals.append(Refusal(place=place, reason=reason))

    def report(self, format: str, *, dry_run: bool) -> ImportReport:
        """The figures as they stand."""
        return ImportReport(
            format=format,
            dry_run=dry_run,
            imported=self.imported,
            present=self.present,
            expired=self.expired,
            threads=self.threads,
            threads_present=self.threads_present,
            threads_left_out=self.threads_left_out,
            turns=self.turns,
            refused=self.refused,
            refusals=tuple(self.refusals),
        )
