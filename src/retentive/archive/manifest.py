"""The manifest of an archive: what it is, what its members are, and the hash of each."""

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

from retentive._version import __version__
from retentive.checks import Json
from retentive.codec import to_json
from retentive.errors import ArchiveCorrupt, ArchiveTooNew

FORMAT = "retentive-archive"
VERSION = 1
MANIFEST = "manifest.json"
MEMORIES = "memories.jsonl"
THREADS = "threads.jsonl"
MEMBERS = (MEMORIES, THREADS)
MAX_MANIFEST_BYTES = 64 * 1024 * 1024

_SHA256 = re.compile(r"[0-9a-f]{64}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Member:
    """One JSONL file in the archive: how many lines and bytes, and the SHA-256 of the bytes in hex."""

    name: str
    lines: int
    size_bytes: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Manifest:
    """What an archive says of itself. `users` is how many memories each user has, None the shared scope.

    `made_by` and `namespace` are for people: an import takes neither into account.
    """

    namespace: str
    members: tuple[Member, ...]
    users: Mapping[str | None, int]
    threads: int
    made_by: str = f"retentive {__version__}"

    def to_bytes(self) -> bytes:
        """The manifest as JSON, the same bytes for the same archive."""
        scopes: list[Json] = [{"user_id": user, "memories": count} for user, count in self.users.items()]
        members: list[Json] = [
            {"name": one.name, "lines": one.lines, "bytes": one.size_bytes, "sha256": one.sha256}
            for one in self.members
        ]
        data: dict[str, Json] = {
            "format": FORMAT,
            "version": VERSION,
            "made_by": self.made_by,
            "namespace": self.namespace,
            "scopes": scopes,
            "threads": self.threads,
            "members": members,
        }
        return (to_json(data) + "\n").encode()


def is_manifest(data: object) -> bool:
    """Whether parsed JSON says that it is the manifest of an archive, of whatever version."""
    return isinstance(data, dict) and cast("dict[str, Any]", data).get("format") == FORMAT


def parse_manifest(raw: bytes) -> Manifest:
    """The manifest.

    Raises:
        ArchiveTooNew: it is of a later version.
        ArchiveCorrupt: it is no manifest, or a field is missing or is not what it should be.
    """
    try:
        data: Any = json.loads(raw)
    except (ValueError, RecursionError) as error:
        raise ArchiveCorrupt(f"{MANIFEST} is not JSON: {error}") from error
    if not is_manifest(data):
        raise ArchiveCorrupt(f"{MANIFEST} does not say {FORMAT!r}: this is no archive of Retentive")
    version = data.get("version")
    if type(version) is int and version > VERSION:
        raise ArchiveTooNew(
            f"the archive is of version {version}, this Retentive reads up to {VERSION}: upgrade it first"
        )
    if version != VERSION:
        raise ArchiveCorrupt(f"{MANIFEST} names version {version!r}, which there never was")
    try:
        return Manifest(
            namespace=_text(data["namespace"]),
            members=tuple(_member(one) for one in data["members"]),
            users={_user(one["user_id"]): _count(one["memories"]) for one in data["scopes"]},
            threads=_count(data["threads"]),
            made_by=_text(data["made_by"]),
        )
    except (KeyError, TypeError, ValueError) as error:
        raise ArchiveCorrupt(f"{MANIFEST} cannot be read: {error!r}") from error


def _member(data: Any) -> Member:
    member = Member(
        name=_text(data["name"]),
        lines=_count(data["lines"]),
        size_bytes=_count(data["bytes"]),
        sha256=_text(data["sha256"]),
    )
    if member.name not in MEMBERS or not _SHA256.fullmatch(member.sha256):
        raise ValueError(f"member {member.name[:80]!r} is none of {', '.join(MEMBERS)}, or has no hash")
    return member


def _text(value: object) -> str:
    if not isinstance(value, str):
        raise TypeError(f"{value!r} is no text")
    return value


def _user(value: object) -> str | None:
    return None if value is None else _text(value)


def _count(value: object) -> int:
    if type(value) is not int or value < 0:
        raise ValueError(f"{value!r} is no count")
    return value
