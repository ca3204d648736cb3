"""The public suite agent-memory-integrity, asked about Retentive's default store in three uses of it."""

# pyright: reportMissingTypeStubs=false, reportUnknownMemberType=false, reportUnknownArgumentType=false

import tempfile
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from agmi.adapters.semantic_base import MemoryItem, Retrieved, SemanticMemoryAdapter
from agmi.attacks import memory_specific
from agmi.signing import KEYRING

from retentive import Origin
from retentive.sync import Memory


@dataclass(frozen=True)
class Use:
    """How an application uses Retentive: whose word a write is, and what recall lets through."""

    name: str
    says: str
    min_trust: Origin | None

    def origin_of(self, item: MemoryItem) -> Origin:
        return Origin.USER


class BySignature(Use):
    """The caller checks who writes: what nobody signed for the user is a tool's."""

    def origin_of(self, item: MemoryItem) -> Origin:
        is_signed = KEYRING.verify(item.user_id, item.source, item.text, item.signature)
        return Origin.USER if is_signed else Origin.TOOL


class ByPath(BySignature):
    """What an agent saves goes the agent's way, by its tools or by extraction, and is the assistant's.

    The suite writes that like the user's own words; here what the fixtures call genuine comes from the user.
    """

    def origin_of(self, item: MemoryItem) -> Origin:
        origin = super().origin_of(item)
        return Origin.ASSISTANT if origin is Origin.USER and item.text not in _GENUINE else origin


def _genuine() -> frozenset[str]:
    fixtures: list[Any] = [
        *memory_specific.INJECTION_FIXTURES,
        *memory_specific.HIJACK_FIXTURES,
        *memory_specific.PROMPT_INJECTION_FIXTURES,
        *memory_specific.UPDATE_FIXTURES,
        *memory_specific.METADATA_FIXTURES,
    ]
    texts = {fixture.secret for fixture in memory_specific.BLEED_FIXTURES}
    for fixture in fixtures:
        texts.update([fixture.genuine] if isinstance(fixture.genuine, str) else fixture.genuine)
    texts.update(memory_specific.filler_memory(number) for number in range(100))
    return frozenset(texts)


_GENUINE = _genuine()

USES = (
    Use("as it is", "every write is taken for the user's, recall has no floor", None),
    BySignature("origin by signature", 'unsigned writes are `tool`, `min_trust="user"`', Origin.USER),
    ByPath("origin by path", 'what the agent saves is `assistant`, `min_trust="user"`', Origin.USER),
)


class Adapter(SemanticMemoryAdapter):
    """The suite's way to a Memory in SQLite, with the embedder that ships."""

    def __init__(self, use: Use) -> None:
        self.name = f"retentive, {use.name}"
        self.use = use
        self._folder = tempfile.TemporaryDirectory(prefix="agmi-retentive-")
        self._memory = Memory(store=f"sqlite:///{(Path(self._folder.name) / 'm.db').as_posix()}")

    def reset(self) -> None:
        self._memory.clear(everyone=True)

    def add_memory(self, item: MemoryItem) -> None:
        self._memory.remember(
            item.text,
            user_id=item.user_id,
            tags=_tags(item.metadata),
            metadata=dict[str, object](item.metadata),
            origin=self.use.origin_of(item),
        )

    def retrieve(self, query: str, user_id: str, k: int = 5) -> list[Retrieved]:
        return self.retrieve_where(query, user_id, {}, k)

    def retrieve_where(
        self, query: str, user_id: str, where: Mapping[str, str], k: int = 5
    ) -> list[Retrieved]:
        hits = self._memory.recall(
            query, user_id=user_id, limit=k, tags=_tags(where), min_trust=self.use.min_trust
        )
        return [Retrieved(hit.content, str(hit.item.scope.user_id), hit.score) for hit in hits]

    def measured_on(self) -> str:
        return "SQLite, the embedder that ships"

    def close(self) -> None:
        self._memory.close()
        self._folder.cleanup()


def _tags(metadata: Mapping[str, str]) -> list[str]:
    return [f"{name}={value}" for name, value in metadata.items()]
