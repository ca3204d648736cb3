"""From a file to its entries: JSON, JSONL, or a zip that has a conversations.json in it."""

import json
import zipfile
from dataclasses import dataclass
from typing import Any, BinaryIO, cast

from retentive.archive.formats.base import Record
from retentive.archive.formats.table import ARCHIVE, LISTS
from retentive.archive.manifest import MANIFEST
from retentive.archive.reading import check_size, translated
from retentive.archive.report import Refusal
from retentive.errors import ArchiveCorrupt, InvalidInput

MAX_FILE_BYTES = 1024**3
"""A file of another program is read whole; larger ones have to be split first."""

_CONVERSATIONS = "conversations.json"


@dataclass(frozen=True, slots=True, kw_only=True)
class Loaded:
    """The entries of a file, in order, and the lines that are no JSON."""

    records: list[Record]
    refused: list[Refusal]


def is_archive(file: BinaryIO) -> bool:
    """Whether it is a zip with a manifest, or one that is no export of conversations; the file is rewound."""
    if not zipfile.is_zipfile(file):
        file.seek(0)
        return False
    try:
        with translated(), zipfile.ZipFile(file) as packed:
            names = packed.namelist()
            return MANIFEST in names or not any(name.endswith(_CONVERSATIONS) for name in names)
    except ArchiveCorrupt:
        return True
    finally:
        file.seek(0)


def load(file: BinaryIO) -> Loaded:
    """The entries of the file.

    Raises:
        InvalidInput: it is larger than `MAX_FILE_BYTES`, is not UTF-8, or holds no JSON.
    """
    text = _text(file)
    try:
        data: object = json.loads(text)
    except RecursionError as error:
        raise InvalidInput("the JSON is nested too deeply") from error
    except ValueError:
        return _of_lines(text)
    return Loaded(records=_of_json(data), refused=[])


def _text(file: BinaryIO) -> str:
    raw = _unpacked(file) if zipfile.is_zipfile(file) else _plain(file)
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InvalidInput(f"not UTF-8 at byte {error.start + 1}; convert the file first") from error


def _plain(file: BinaryIO) -> bytes:
    file.seek(0)
    raw = file.read(MAX_FILE_BYTES + 1)
    if len(raw) > MAX_FILE_BYTES:
        raise InvalidInput(f"the file has more than {MAX_FILE_BYTES:,} bytes; split it first")
    return raw


def _unpacked(file: BinaryIO) -> bytes:
    with translated(), zipfile.ZipFile(file) as packed:
        found = [info for info in packed.infolist() if info.filename.endswith(_CONVERSATIONS)]
        if len(found) != 1:
            raise InvalidInput(f"the zip has {len(found)} files {_CONVERSATIONS}; unpack it and pass one")
        check_size(found[0], MAX_FILE_BYTES)
        return packed.read(found[0])


def _of_json(data: object) -> list[Record]:
    if isinstance(data, list):
        return _numbered("", cast("list[object]", data))
    if isinstance(data, dict):
        named = cast("dict[str, Any]", data)
        for name in LISTS:
            if isinstance(named.get(name), list):
                return _numbered(name, named[name])
    return [Record(place="the only entry", data=cast("object", data))]


def _numbered(name: str, entries: list[object]) -> list[Record]:
    return [Record(place=f"{name}[{number}]", data=entry) for number, entry in enumerate(entries)]


def _of_lines(text: str) -> Loaded:
    loaded = Loaded(records=[], refused=[])
    for number, line in enumerate(text.split("\n"), start=1):
        if not line.strip():
            continue
        try:
            loaded.records.append(Record(place=f"line {number}", data=json.loads(line)))
        except (ValueError, RecursionError) as error:
            loaded.refused.append(Refusal(place=f"line {number}", reason=f"not JSON: {error}"))
    if not loaded.records:
        raise InvalidInput("it is neither JSON nor JSONL")
    return loaded


def kind_of(file: BinaryIO, format: str | None) -> str | None:
    """The name of an archive if it is one; else the format asked for, None where that is to be found out."""
    if format is None and is_archive(file):
        return ARCHIVE
    file.seek(0)
    return format
