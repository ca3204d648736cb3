"""`remember -` and `append THREAD -`: many at once, in batches, each line taken or named."""

import sys
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import fields, replace
from datetime import datetime, timedelta
from typing import Any, cast

from retentive.checks import Json, check_metadata, check_text
from retentive.cli import options
from retentive.cli.command import Answer, Where
from retentive.cli.exits import OK, USAGE
from retentive.cli.lines import Line, Refusals, batches, check_fields, progress, size_of
from retentive.clock import utc_now
from retentive.conversation import check_role
from retentive.drafts import DEFAULT_LIFETIMES, NewMemory, make_item
from retentive.errors import InvalidInput, RetentiveError
from retentive.events import Event
from retentive.threads import Thread
from retentive.types import Scope, Source

_MEMORY_FIELDS = frozenset(field.name for field in fields(NewMemory))
_SOURCE_FIELDS = frozenset(field.name for field in fields(Source))
_TURN_FIELDS = frozenset(["content", "role", "metadata"])
_TIMES = ("occurred_at", "valid_from", "valid_until", "expires_at")


async def remember_lines(where: Where, defaults: NewMemory, *, jsonl: bool) -> Answer:
    """Remember each line of stdin; what the line does not say is as in `defaults`."""
    if defaults.key is not None:
        raise InvalidInput('--key names one memory; with stdin give each line its own "key" (--jsonl)')
    scope = Scope(where.namespace, where.user)
    _check_draft(replace(defaults, content="-"), scope)

    def parse(text: str) -> NewMemory:
        draft = _draft_of(text, defaults) if jsonl else replace(defaults, content=text)
        _check_draft(draft, scope)
        return draft

    refused, ids, events = Refusals(), list[str](), list[Event]()
    stdin = sys.stdin.buffer
    async with where.memory() as (memory, _):
        memory.subscribe(events.append)
        with progress("remembering", size_of(stdin)) as advance:
            for batch in batches(stdin, parse, refused):
                with _telling(batch, len(ids)):
                    items = await memory.remember_many([line.value for line in batch], user_id=where.user)
                ids += [item.id for item in items]
                advance(sum(line.size_bytes for line in batch))
    restated = sum(len(event.restated) for event in events)
    return _counted({"stored": len(ids) - restated, "restated": restated}, refused, ids)


async def append_lines(thread: Thread, role: str, *, jsonl: bool) -> Answer:
    """Append each line of stdin as a turn; a batch is appended as a whole."""

    def parse(text: str) -> Mapping[str, Any]:
        turn = _turn_of(text, role) if jsonl else {"content": text, "role": role}
        check_text("content", turn["content"])
        check_role(turn["role"])
        return turn

    refused, before, appended = Refusals(), len(thread), 0
    stdin = sys.stdin.buffer
    with progress("appending", size_of(stdin)) as advance:
        for batch in batches(stdin, parse, refused):
            with _telling(batch, appended):
                await thread.append_many([line.value for line in batch])
            appended += len(batch)
            advance(sum(line.size_bytes for line in batch))
    ids = [turn.id for turn in thread.messages()[before:]]
    return _counted({"appended": appended}, refused, ids)


@contextmanager
def _telling(batch: Sequence[Line[Any]], done: int) -> Generator[None]:
    """Add to an error what had been kept before it."""
    try:
        yield
    except RetentiveError as error:
        error.add_note(f"{done} lines were kept before it; go on from line {batch[0].number}")
        raise


def _counted(counts: dict[str, int], refused: Refusals, ids: list[str]) -> Answer:
    said = ", ".join(f"{name} {count:,}" for name, count in counts.items() if count or name != "restated")
    if refused.by_line:
        said += f", not taken {len(refused.by_line):,}"
    data: dict[str, Json] = {**counts, "refused": refused.to_json(), "ids": list(ids)}
    return Answer(
        data=data,
        show=lambda out: out.print(said),
        notes=refused.notes(),
        exit_code=USAGE if refused.by_line else OK,
    )


def _check_draft(draft: NewMemory, scope: Scope) -> None:
    make_item(draft, scope, utc_now(), DEFAULT_LIFETIMES, str)


def _draft_of(text: str, defaults: NewMemory) -> NewMemory:
    data = options.json_object("the line", text)
    check_fields(data, _MEMORY_FIELDS)
    given: dict[str, Any] = {name: value for name, value in data.items() if value is not None}
    for name in _TIMES:
        if name in given:
            given[name] = _time(name, given[name])
    if "ttl" in given:
        given["ttl"] = _span(given["ttl"])
    if "source" in given:
        given["source"] = _source(given["source"])
    return replace(defaults, **given)


def _time(name: str, value: Json) -> datetime:
    if not isinstance(value, str):
        raise InvalidInput(f"{name} must be a time as text, not {value!r}")
    return options.moment(name, value)


def _span(value: Json) -> timedelta:
    if not isinstance(value, str):
        raise InvalidInput(f'ttl must be text such as "7d", not {value!r}')
    return options.lifetime("ttl", value)


def _source(value: Json) -> Source:
    if not isinstance(value, dict) or value.keys() - _SOURCE_FIELDS:
        raise InvalidInput(f"source must be an object with {', '.join(sorted(_SOURCE_FIELDS))}")
    turns = value.get("turns", [])
    if not isinstance(turns, list):
        raise InvalidInput("source.turns must be a list of turn numbers")
    return Source(**cast("dict[str, Any]", {**value, "turns": tuple(turns)}))


def _turn_of(text: str, role: str) -> Mapping[str, Any]:
    data = options.json_object("the line", text)
    check_fields(data, _TURN_FIELDS)
    return {
        "content": data["content"],
        "role": role if data.get("role") is None else data["role"],
        "metadata": check_metadata("metadata", data.get("metadata")),
    }
