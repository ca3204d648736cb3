"""The parts behind a Memory, put together.

Memory imports this when the first one is made: numpy comes with it, and `import retentive` stays light.
"""

from dataclasses import dataclass

from retentive.clock import Clock
from retentive.embedders.base import Closes, CosineWeight, Embedder, fingerprint, resolve, word_vectors
from retentive.indexes import ScopeIndexes
from retentive.life.batches import Batches
from retentive.life.consolidate import Consolidator
from retentive.life.erase import Erasing
from retentive.life.histories import Histories
from retentive.life.prune import Pruner
from retentive.life.reembed import Reembedding
from retentive.life.removal import Removal
from retentive.life.unmerge import Unmerging
from retentive.life.verify import Verification
from retentive.ranking.profiles import RECALL, Profiles
from retentive.reads import Reader
from retentive.redaction.base import Redactor
from retentive.stores.base import MemoryStore
from retentive.writes import Writer


@dataclass(frozen=True, slots=True, kw_only=True)
class Engine:
    """What reads and what writes, over one store, with one embedder and the same indexes."""

    embedder: Embedder
    reader: Reader
    writer: Writer
    batches: Batches
    histories: Histories
    removal: Removal
    verification: Verification
    reembedding: Reembedding
    pruner: Pruner
    consolidator: Consolidator
    unmerging: Unmerging

    async def close_embedder(self) -> None:
        """Let go of the embedder's connections, if it has any."""
        if isinstance(self.embedder, Closes):
            await self.embedder.close()


def default_profiles(embedder: Embedder) -> Profiles:
    """How recall weighs with this embedder: `RECALL`, with the embedder's own `cosine_weight` if any."""
    return RECALL.with_cosine(embedder.cosine_weight) if isinstance(embedder, CosineWeight) else RECALL


def assemble(
    store: MemoryStore, embedder: str | Embedder | None, clock: Clock, redactor: Redactor | None = None
) -> Engine:
    """The parts for a store and an embedder (see `Memory` for what `embedder` may be).

    Raises:
        InvalidInput: no embedder has that name.
    """
    chosen = resolve(embedder)
    indexes = ScopeIndexes(store, word_vectors(chosen), fingerprint(chosen))
    writer = Writer(store, chosen, indexes, clock, redactor)
    erasing = Erasing(store, indexes, clock)
    return Engine(
        embedder=chosen,
        reader=Reader(store, chosen, indexes, clock),
        writer=writer,
        batches=Batches(store, writer, clock),
        histories=Histories(store, indexes, clock),
        removal=Removal(store, Erasing(store, indexes, clock), indexes, clock),
        verification=Verification(store, indexes),
        reembedding=Reembedding(store, chosen, indexes),
        pruner=Pruner(store, indexes, erasing, clock),
        consolidator=Consolidator(store, writer, indexes, clock),
        unmerging=Unmerging(store, indexes, clock),
    )
