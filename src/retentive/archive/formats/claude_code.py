"""Claude Code: the JSONL of a session, an entry a line; undocumented by its makers and read with care."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from retentive.archive.formats.base import (
    Found,
    Record,
    Said,
    Talk,
    fields,
    kept,
    objects,
    text,
    thread_of,
    when,
)
from retentive.archive.report import Refusal
from retentive.errors import InvalidInput

_SPOKEN = ("user", "assistant", "system")


def looks_like(data: object) -> bool:
    """Whether a line is of a session."""
    if not isinstance(data, dict):
        return False
    named = cast("dict[str, Any]", data)
    return "sessionId" in named and named.get("type") in _SPOKEN and "message" in named


def read(records: Iterable[Record]) -> Iterator[Found]:
    """A thread a session, in the order of the lines; each line that says something is a turn.

    Left out are side chains (what a sub-agent did), notes of the program itself, thinking, and lines that
    are no message. A tool's answer has the role tool; a call of tools without a word is "[calls Bash]".
    """
    sessions: dict[str, list[Said]] = {}
    first: dict[str, str] = {}
    for record in records:
        try:
            data = fields(record)
            if data.get("isSidechain") or data.get("isMeta") or data.get("type") not in _SPOKEN[:2]:
                continue
            session = text(data, "sessionId") or ""
            first.setdefault(session, record.place)
            sessions.setdefault(session, []).extend(_said(record.place, data))
        except InvalidInput as error:
            yield Refusal(place=record.place, reason=str(error))
    for session, said in sessions.items():
        yield from thread_of(Talk(place=first[session], id=session, said=said))


def _said(place: str, data: Mapping[str, Any]) -> Iterator[Said]:
    message = data.get("message")
    if not isinstance(message, dict):
        raise InvalidInput('no "message"')
    named = cast("dict[str, Any]", message)
    content, role = named.get("content"), str(data["type"])
    id, at = text(data, "uuid"), when(data.get("timestamp"))
    plain = text(named, "content")
    if plain is not None:
        yield Said(place=place, id=id, role=role, text=plain, at=at, metadata={})
        return
    blocks = objects(content)
    for number, block in enumerate(one for one in blocks if one.get("type") == "tool_result"):
        if (answer := _answer(block)) is not None:
            more = kept(tool_call=text(block, "tool_use_id"))
            yield Said(
                place=place, id=id and f"{id}-{number}", role="tool", text=answer, at=at, metadata=more
            )
    spoken = "\n\n".join(
        filter(None, (text(block, "text") for block in blocks if block.get("type") == "text"))
    )
    calls = [text(block, "name") or "a tool" for block in blocks if block.get("type") == "tool_use"]
    told = spoken or (f"[calls {', '.join(calls)}]" if calls else "")
    if told:
        more = kept(tools=calls, model=text(named, "model"))
        yield Said(place=place, id=id, role=role, text=told, at=at, metadata=more)


def _answer(block: Mapping[str, Any]) -> str | None:
    if isinstance(block.get("content"), str):
        return text(block, "content")
    told = filter(None, (text(one, "text") for one in objects(block.get("content"))))
    return "\n\n".join(told) or None
