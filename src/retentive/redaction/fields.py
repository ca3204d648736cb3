"""Redacting all that a memory or a turn holds, and noting in its metadata what was taken out."""

from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final, cast

from retentive.checks import Json, check_tags, check_text
from retentive.errors import InvalidInput, RedactionError
from retentive.redaction.base import Redactor, redacted
from retentive.types import MemoryItem, Source

NOTE: Final = "redacted"
"""The name in the metadata under which stands what was taken out: `{"email": 2}`."""

NAMES: Final = frozenset(["run", "run_id", "user_id", "recalled", "state", "redacted_at", NOTE])
"""Metadata by which Retentive itself ties things together: names, no text that anybody said."""


class Redacting:
    """Redacts the fields of one memory or turn, and counts."""

    def __init__(self, redactor: Redactor) -> None:
        self._redactor = redactor
        self.kinds: Counter[str] = Counter()

    def text(self, text: str) -> str:
        """The text as it may be kept.

        Raises:
            RedactionError: the redactor failed.
        """
        answer = redacted(self._redactor, text)
        self.kinds.update(answer.kinds)
        return answer.text

    def content(self, text: str) -> str:
        """The same for what must be some text.

        Raises:
            RedactionError: the redactor failed, or left nothing that can be kept.
        """
        try:
            return check_text("content", self.text(text))
        except InvalidInput as error:
            raise RedactionError(f"what the redactor left cannot be kept: {error}") from error

    def tags(self, tags: tuple[str, ...]) -> tuple[str, ...]:
        """The tags, those that became equal once."""
        try:
            return check_tags([self.text(tag) for tag in tags])
        except InvalidInput as error:
            raise RedactionError(f"what the redactor left cannot be kept: {error}") from error

    def metadata(self, metadata: Mapping[str, Json]) -> dict[str, Json]:
        """The metadata with all texts in it redacted, but for keys and `NAMES`."""
        return {name: value if name in NAMES else self._json(value) for name, value in metadata.items()}

    def source(self, source: Source) -> Source:
        """The source with its labels redacted; the thread is a name, and stays."""
        labels = ("speaker", "document", "place")
        given = {name: cast("str | None", getattr(source, name)) for name in labels}
        return replace(source, **{name: self.text(label) for name, label in given.items() if label})  # pyright: ignore[reportArgumentType]

    def noted(self, metadata: Mapping[str, Json]) -> dict[str, Json]:
        """The metadata with what was taken out added to what it tells of that already."""
        if not self.kinds:
            return dict(metadata)
        before = metadata.get(NOTE)
        total = Counter(_counts(before)) + self.kinds
        return {**metadata, NOTE: {kind: total[kind] for kind in sorted(total)}}

    def _json(self, value: Json) -> Json:
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, Mapping):
            return {name: self._json(inner) for name, inner in value.items()}
        if isinstance(value, (list, tuple)):
            return [self._json(inner) for inner in value]
        return value


def redacted_text(redactor: Redactor | None, text: str) -> str:
    """A text by itself as it may be kept, where there is no place to note what was taken out.

    Raises:
        RedactionError: the redactor failed.
    """
    return text if redactor is None else redacted(redactor, text).text


def redacted_item(redactor: Redactor | None, item: MemoryItem) -> MemoryItem:
    """The memory as it may be kept; itself without a redactor.

    Raises:
        RedactionError: the redactor failed.
    """
    if redactor is None:
        return item
    fields = Redacting(redactor)
    left = replace(
        item,
        content=fields.content(item.content),
        tags=fields.tags(item.tags),
        metadata=fields.metadata(item.metadata),
        source=None if item.source is None else fields.source(item.source),
    )
    return replace(left, metadata=fields.noted(left.metadata)) if fields.kinds else item


def redacted_edit(
    redactor: Redactor | None, edit: Mapping[str, object], old: MemoryItem
) -> Mapping[str, object]:
    """The edit of a memory as it may be written.

    Raises:
        RedactionError: the redactor failed.
    """
    if redactor is None or {"content", "tags", "metadata"}.isdisjoint(edit):
        return edit
    fields, left = Redacting(redactor), dict[str, Any](edit)
    if "content" in left:
        left["content"] = fields.content(left["content"])
    if "tags" in left:
        left["tags"] = fields.tags(left["tags"])
    metadata = fields.metadata(left["metadata"]) if "metadata" in left else dict(old.metadata)
    if NOTE in old.metadata:
        metadata.setdefault(NOTE, old.metadata[NOTE])
    if fields.kinds or "metadata" in left:
        left["metadata"] = fields.noted(metadata)
    return left


def redacted_said(
    redactor: Redactor, content: str, metadata: Mapping[str, Json]
) -> tuple[str, dict[str, Json]]:
    """Content and metadata of a turn as they may be kept.

    Raises:
        RedactionError: the redactor failed.
    """
    fields = Redacting(redactor)
    said, left = fields.content(content), fields.metadata(metadata)
    return said, fields.noted(left)


def _counts(note: Json) -> dict[str, int]:
    if not isinstance(note, Mapping):
        return {}
    return {kind: count for kind, count in note.items() if type(count) is int and count > 0}
