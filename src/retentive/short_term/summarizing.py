"""The rolling summary of a thread: who writes it, how it is kept, and when it no longer holds."""

import json
from collections.abc import Iterable
from hashlib import blake2b
from typing import Final, Protocol, cast

from retentive.conversation import Conversation
from retentive.types import Turn
from retentive.window import Summary

NOTE: Final = "summary/"


class Summarizer(Protocol):
    """Writes a summary, usually by asking a model."""

    async def __call__(self, summary: str | None, turns: Conversation) -> str:
        """A summary of all that `summary` tells (None: nothing yet) and of the turns that follow it.

        Whatever it raises leaves the summary as it was.
        """
        ...


def note_name(namespace: str, thread: str) -> str:
    """What the note of a scope is called that keeps the summary of a thread."""
    return f"{NOTE}{namespace}/{thread}"


def digest(turns: Iterable[Turn]) -> str:
    """What a summary stands and falls with: the ids and words of the turns that it was made from."""
    made_from = blake2b(digest_size=16)
    for turn in turns:
        for part in (turn.id, turn.role, turn.content):
            data = part.encode("utf-8", "surrogatepass")
            made_from.update(len(data).to_bytes(8, "big") + data)
    return made_from.hexdigest()


def to_note(summary: Summary, talk: Conversation) -> bytes:
    """The note that keeps the summary, with the digest of the turns that it tells of."""
    of = digest(talk.filter(lambda turn: turn.seq <= summary.last))
    return json.dumps({"text": summary.text, "last": summary.last, "of": of}, ensure_ascii=False).encode()


def from_note(note: bytes | None, talk: Conversation) -> Summary | None:
    """The summary in the note; None if there is none, or if the turns that it tells of are others by now.

    A turn that was redacted, or a thread that was deleted and begun anew, makes it worthless.
    """
    if note is None:
        return None
    try:
        kept = cast("object", json.loads(note))
    except ValueError:
        return None
    if not isinstance(kept, dict):
        return None
    fields = cast("dict[str, object]", kept)
    text, last = fields.get("text"), fields.get("last")
    if not isinstance(text, str) or type(last) is not int:
        return None
    told = talk.filter(lambda turn: turn.seq <= last)
    if fields.get("of") != digest(told) or not told or told[-1].seq != last:
        return None
    return Summary(text=text, last=last)
