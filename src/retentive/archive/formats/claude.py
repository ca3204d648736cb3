"""Claude: conversations.json of a data export, a list of messages a conversation."""

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
from retentive.errors import InvalidInput

_ROLES = {"human": "user", "user": "user", "assistant": "assistant", "system": "system"}


def looks_like(data: object) -> bool:
    """Whether an entry is a conversation of Claude's."""
    return isinstance(data, dict) and isinstance(cast("dict[str, Any]", data).get("chat_messages"), list)


def read(records: Iterable[Record]) -> Iterator[Found]:
    """A thread a conversation, named by its uuid, in the order of the file.

    What a tool gave is left out; which tools were called and which files were attached is in the metadata.
    Messages without a text are left out.
    """
    for record in records:
        try:
            data = entry(record, looks_like, '"chat_messages", the list of its messages')
            said: list[Said] = []
            for number, message in enumerate(cast("list[Any]", data["chat_messages"])):
                place = f"{record.place}, chat_messages[{number}]"
                if not isinstance(message, dict):
                    yield Refusal(place=place, reason="a message must be a JSON object")
                elif (one := _said(place, cast("dict[str, Any]", message))) is not None:
                    said.append(one)
            yield from thread_of(
                Talk(
                    place=record.place,
                    id=data.get("uuid"),
                    title=data.get("name"),
                    begun=when(data.get("created_at")),
                    said=said,
                )
            )
        except InvalidInput as error:
            yield Refusal(place=record.place, reason=str(error))


def _said(place: str, message: Mapping[str, Any]) -> Said | None:
    """What the message says; None where it says nothing."""
    blocks = objects(message.get("content"))
    spoken = [block for block in blocks if block.get("type") == "text"]
    told = "\n\n".join(filter(None, (text(block, "text") for block in spoken))) or text(message, "text")
    if told is None:
        return None
    files = [*objects(message.get("attachments")), *objects(message.get("files"))]
    return Said(
        place=place,
        id=text(message, "uuid"),
        role=_ROLES.get(str(message.get("sender")), str(message.get("sender"))),
        text=told,
        at=when(message.get("created_at")),
        metadata=kept(
            tools=[text(block, "name") for block in blocks if block.get("type") == "tool_use"],
            files=[text(file, "file_name") for file in files],
        ),
    )
