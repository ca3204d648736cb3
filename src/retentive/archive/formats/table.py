"""Which formats there are, and which of them a file is."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from retentive.archive.formats import chatgpt, claude, claude_code, langgraph, mcp, mem0
from retentive.archive.formats.base import Importer, Record
from retentive.errors import InvalidInput

ARCHIVE = "archive"
LOOKED_AT = 50


@dataclass(frozen=True, slots=True, kw_only=True)
class Format:
    """How a format is read, and how an entry looks; `lists` names where a JSON object keeps its entries."""

    read: Importer
    looks_like: Callable[[object], bool]
    lists: Sequence[str] = ()


FORMATS: Mapping[str, Format] = {
    "mem0": Format(read=mem0.read, looks_like=mem0.looks_like, lists=("results", "memories")),
    "mcp": Format(read=mcp.read, looks_like=mcp.looks_like),
    "langgraph": Format(read=langgraph.read, looks_like=langgraph.looks_like, lists=("items",)),
    "chatgpt": Format(read=chatgpt.read, looks_like=chatgpt.looks_like, lists=("conversations",)),
    "claude": Format(read=claude.read, looks_like=claude.looks_like, lists=("conversations",)),
    "claude-code": Format(read=claude_code.read, looks_like=claude_code.looks_like),
}
NAMES = (ARCHIVE, *FORMATS)
LISTS = tuple(dict.fromkeys(name for format in FORMATS.values() for name in format.lists))


def check_format(name: str | None) -> str | None:
    """The name, if there is such a format; None is to find out.

    Raises:
        InvalidInput: there is none; the message lists them.
    """
    if name is None or name in NAMES:
        return name
    raise InvalidInput(f"there is no format {name!r}; there are {', '.join(NAMES)}")


def format_of(records: Sequence[Record]) -> str:
    """The one format that the first `LOOKED_AT` entries are of.

    Raises:
        InvalidInput: they are of none, or could be of several.
    """
    looked_at = [record.data for record in records[:LOOKED_AT]]
    found = [name for name, format in FORMATS.items() if any(map(format.looks_like, looked_at))]
    if len(found) == 1:
        return found[0]
    might = f"it could be {' or '.join(found)}" if found else f"it looks like none of {', '.join(NAMES)}"
    raise InvalidInput(f"{might}: say which format it is")
