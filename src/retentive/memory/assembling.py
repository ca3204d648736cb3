"""One block for a prompt, from a thread and memories."""

from collections.abc import Iterable, Sequence
from datetime import datetime

from retentive import checks, drafts
from retentive.context.assembly import assemble
from retentive.context.sources import Memories, Talking, ThreadTurns
from retentive.context.values import Context, ContextRequest, Contributor
from retentive.memory.reading import Reading
from retentive.recall import Recall
from retentive.tokens import TokenCounter, estimate_tokens
from retentive.types import MemoryKind, Origin, Query, Scope

CONTEXT_KINDS = (MemoryKind.SHORT_TERM, MemoryKind.EPISODIC, MemoryKind.SEMANTIC, MemoryKind.PROCEDURAL)
MAX_CONTEXT_TOKENS = 10_000_000


class Assembling(Reading):
    """The verb that puts a context together."""

    async def context(  # noqa: PLR0913 - what is asked, and what may answer
        self,
        query: str,
        *,
        user_id: str | None = None,
        thread: Talking | None = None,
        max_tokens: int = 2_000,
        kinds: Iterable[MemoryKind | str] | MemoryKind | str | None = CONTEXT_KINDS,
        tags: Iterable[str] | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        min_trust: Origin | str | None = None,
        limit: int = 20,
        min_confidence: float | None = None,
        patience_s: float | None = None,
        contributors: Sequence[Contributor] = (),
        count: TokenCounter = estimate_tokens,
    ) -> Context:
        """One block for a prompt: the thread's summary and latest turns, then memories, then what else.

        It never counts more than `max_tokens`, and is empty only if no item fits. Items are whole. A thread
        and the memories each have a floor, a share of the budget that is theirs first; the newest turn comes
        before all. Then value per token decides (`retentive.ranking.worth` has the rule). Turns stand in
        their order and without a hole, memories in the order in which they happened, so that the same items
        give the same text whatever their ranks, and the block begins alike from call to call. The block is
        data: give it to the model in the user's part of one request, with the query behind it.

        Args:
            query: the request that the context is for; a last turn of the thread that says just this is not
                repeated.
            user_id: whose memories; None is the namespace's own shared scope.
            thread: a Thread, a `ShortTermMemory` over one, or a Conversation; None shows no turns.
            max_tokens: how many tokens the whole block may have.
            kinds: only memories of these; working ones belong to their run and must be asked for.
            tags: only memories that carry all of these.
            as_of: only memories that held at this instant, as in `recall`; the thread is shown as it is.
            known_at: only what was known here at this instant, as in `recall`.
            min_trust: only memories that this origin or a more trusted one said.
            limit: how many memories are considered, 0 to 1,000.
            min_confidence: as in `recall`.
            patience_s: as in `recall`.
            contributors: further sources, shown last.
            count: counts tokens as the model does, for example `token_counter("openai:gpt-5")`.

        Raises:
            InvalidInput: an argument cannot be used.
            StoreError: the store cannot be read. What else fails is named in `degraded`.
        """
        request = ContextRequest(
            query=query,
            scope=Scope(self.namespace, user_id),
            max_tokens=checks.check_limit("max_tokens", max_tokens, maximum=MAX_CONTEXT_TOKENS),
        )
        asked = Query(
            text=query,
            scope=request.scope,
            filters=drafts.check_filters(
                kinds=kinds, tags=tags, as_of=as_of, known_at=known_at, min_trust=min_trust
            ),
            limit=checks.check_limit("limit", limit),
            min_confidence=checks.check_share("min_confidence", min_confidence),
            patience_s=checks.check_score("patience_s", patience_s),
        )

        async def recall(_: str) -> Recall:
            return await self._ask("context", asked, self._profiles)

        sources: list[Contributor] = [] if thread is None else [ThreadTurns(thread)]
        return await assemble(request, [*sources, Memories(recall), *contributors], count)
