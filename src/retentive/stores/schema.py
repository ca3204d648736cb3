"""The schema of the files that hold memories and turns as lines of JSON.

Files of the first schema, 1, say nothing of it. Those of a later one begin with a line that names it, and
maybe more: `{"schema":2}`. So every Retentive can tell what it must leave alone.
"""

import re
from collections.abc import Iterable
from pathlib import Path
from typing import Final

from retentive.errors import SchemaTooNew

SCHEMA: Final = 1
"""The newest that this Retentive knows."""

HEAD_BYTES: Final = 32
"""How much of a file is read to learn its schema."""

_HEAD: Final = re.compile(rb'\s*\{\s*"schema"\s*:\s*(\d{1,9})\s*[,}]')


def schema_of(head: bytes) -> int:
    """The schema of a file that begins with these bytes, `HEAD_BYTES` of them or more."""
    found = _HEAD.match(head)
    return int(found[1]) if found else 1


def check_schema(path: Path, head: bytes) -> None:
    """Refuse a file that begins with these bytes if its schema is a newer one.

    Raises:
        SchemaTooNew: it is.
    """
    schema = schema_of(head)
    if schema > SCHEMA:
        raise SchemaTooNew(
            f"{path} has schema version {schema}, this Retentive knows up to {SCHEMA}; it was left "
            "untouched: upgrade Retentive"
        )


def unknown_fields(names: Iterable[str]) -> SchemaTooNew:
    """The error for a line with such fields, which would be lost when it is written anew."""
    listed = ", ".join(sorted(repr(name) for name in names))
    return SchemaTooNew(
        f"a memory has the fields {listed}, which this Retentive does not know; it was left untouched: "
        "upgrade Retentive, or take them out of the line"
    )
