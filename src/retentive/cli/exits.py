"""The one table from errors to exit codes."""

from dataclasses import dataclass

from retentive.errors import (
    Conflict,
    EmbedderError,
    ExtractionError,
    InvalidInput,
    NotFound,
    NotTrusted,
    RetentiveError,
    StoreError,
)


@dataclass(frozen=True, slots=True)
class Exit:
    """An exit code, the error that leads to it, and what it tells a script."""

    code: int
    error: type[RetentiveError] | None
    meaning: str


OK, UNEXPECTED, USAGE, NOT_FOUND, BROKEN_PROMISE, NOT_EXTRACTED, STILL_THERE = 0, 1, 2, 3, 7, 8, 10
INTERRUPTED, NO_READER = 130, 141

EXITS = (
    Exit(OK, None, "done"),
    Exit(UNEXPECTED, RetentiveError, "something unexpected"),
    Exit(USAGE, InvalidInput, "what was passed cannot be used"),
    Exit(NOT_FOUND, NotFound, "no such memory or thread"),
    Exit(4, Conflict, "another writer came first; try again"),
    Exit(5, StoreError, "the store cannot be opened, read or written"),
    Exit(6, EmbedderError, "the embedder failed"),
    Exit(BROKEN_PROMISE, None, "the demo found a promise broken"),
    Exit(NOT_EXTRACTED, ExtractionError, "an extraction failed; what it would read still waits"),
    Exit(9, NotTrusted, "less trusted than what it would supersede"),
    Exit(
        STILL_THERE, None, "something that was forgotten is still there, or not all could be searched for it"
    ),
    Exit(INTERRUPTED, None, "stopped by you"),
    Exit(NO_READER, None, "the reader of the output went away"),
)


def exit_code(error: RetentiveError) -> int:
    """The code of the most exact line of the table that names the error's class."""
    for kind in type(error).__mro__:
        for line in EXITS:
            if line.error is kind:
                return line.code
    return UNEXPECTED


def epilog() -> str:
    """The table in one paragraph, for `--help`."""
    return "Exit codes: " + ", ".join(f"{line.code} {line.meaning}" for line in EXITS) + "."
