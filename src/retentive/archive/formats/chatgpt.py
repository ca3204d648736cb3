"""ChatGPT: conversations.json of a data export, a tree of messages a conversation."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, cast

from retentive.archive.formats.base import (
    Found,
    Record,
    Said,
    Talk,
    entry,
    kept,
    objects,
    text,
    thread_of,
    when,
)
from retentive.archive.report import Refusal
from retentive.conversation import ROLES
from retentive.drafts import clean_query
from retentive.errors import InvalidInput


def looks_like(data: object) -> bool:
    """Whether an entry is a conversation of ChatGPT's."""
    return isinstance(data, dict) and isinstance(cast("dict[str, Any]", data).get("mapping"), dict)


def read(records: Iterable[Record]) -> Iterator[Found]:
    """A thread a conversation, named by its id: the branch that was shown last, from its root.

    Answers that were replaced by others are on other branches and are left out, as are messages without
    anything said. What is no text (an image) stands there as its type in brackets.
    """
    for record in records:
        try:
            data = entry(record, looks_like, '"mapping", the tree of its messages')
            said = [
                one
                for id, message in _branch(data)
                if (one := _said(f"{record.place}, message {id[:80]}", message)) is not None
            ]
            yield from thread_of(
                Talk(
                    place=record.place,
                    id=data.get("conversation_id") or data.get("id"),
                    title=data.get("title"),
                    begun=when(data.get("create_time")),
                    said=said,
                )
            )
        except InvalidInput as error:
            yield Refusal(place=record.place, reason=str(error))


def _branch(data: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """The messages from the root to the current node, each with its id."""
    mapping = cast("dict[str, Any]", data["mapping"])
    node: object = data.get("current_node")
    if node not in mapping:
        node = _latest_leaf(mapping)
    path: list[tuple[str, Mapping[str, Any]]] = []
    seen: set[str] = set()
    while isinstance(node, str) and node in mapping and node not in seen:
        seen.add(node)
        entry = mapping[node]
        if not isinstance(entry, dict):
            break
        named = cast("dict[str, Any]", entry)
        if isinstance(named.get("message"), dict):
            path.append((node, cast("dict[str, Any]", named["message"])))
        node = named.get("parent")
    return path[::-1]


def _latest_leaf(mapping: Mapping[str, Any]) -> str | None:
    leaves = [
        (when(message[0].get("create_time")), id)
        for id, one in mapping.items()
        if isinstance(one, dict)
        and not (node := cast("dict[str, Any]", one)).get("children")
        and (message := objects([node.get("message")]))
    ]
    timed = [(at, id) for at, id in leaves if at is not None]
    return max(timed)[1] if timed else None


def _said(place: str, message: Mapping[str, Any]) -> Said | None:
    """What the message says; None where it says nothing."""
    content = message.get("content")
    told = _text_of(cast("dict[str, Any]", content)) if isinstance(content, dict) else None
    if told is None:
        return None
    author = objects([message.get("author")])
    role = author[0].get("role") if author else None
    more = objects([message.get("metadata")])
    return Said(
        place=place,
        id=text(message, "id"),
        role=role if role in ROLES else "tool",
        text=told,
        at=when(message.get("create_time")),
        metadata=kept(
            model=text(more[0], "model_slug") if more else None,
            name=text(author[0], "name") if author else None,
        ),
    )


def _text_of(content: Mapping[str, Any]) -> str | None:
    parts = content.get("parts")
    if not isinstance(parts, list):
        return text(content, "text", "result", "content")
    told = [
        part if isinstance(part, str) else f"[{(objects([part]) or [{}])[0].get('content_type', 'no text')}]"
        for part in cast("list[object]", parts)
    ]
    whole = "\n".join(one for one in told if one.strip())
    return clean_query(whole) or None
