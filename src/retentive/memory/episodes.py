"""What was done and how it went, facts by subject, and how things are done: thin over the other verbs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Final

from retentive import checks
from retentive.drafts import NewMemory
from retentive.errors import Conflict, InvalidInput
from retentive.life.batch import Batch
from retentive.memory.changing import Changing
from retentive.memory.episode_parts import (
    as_tag,
    check_steps,
    label_tag,
    numbered,
    outcome_word,
    subjects_first,
    with_parts,
)
from retentive.memory.reading import Reading
from retentive.memory.writing import Writing
from retentive.recall import Recall
from retentive.types import MemoryItem, MemoryKind, Origin, Source

SUBJECT_TAG: Final = "subject:"
PROCEDURE_TAG: Final = "procedure:"
MAX_NAME_CHARS: Final = checks.MAX_TAG_CHARS - len(PROCEDURE_TAG)
TRIES: Final = 5
KEYED_TRIES: Final = 2


class Episodes(Writing, Changing, Reading):
    """The verbs for episodes, facts and procedures."""

    async def record_episode(  # noqa: PLR0913 - the fields of an episode
        self,
        task: str,
        outcome: str,
        success: bool | None = None,
        *,
        user_id: str | None = None,
        steps: Sequence[str] = (),
        importance: float = 0.5,
        tags: Iterable[str] = (),
        metadata: Mapping[str, object] | None = None,
        occurred_at: datetime | None = None,
        source: Source | None = None,
        origin: Origin | str = Origin.ASSISTANT,
        key: str | None = None,
    ) -> MemoryItem:
        """The episode as a memory, durable: what was to be done, what came of it, by which steps.

        Its text says all of that, its `success` is the outcome to filter by, and `metadata["episode"]` holds
        the parts. An episode told again in the same words is the one that is there already. Unless `origin`
        says otherwise it is the assistant's own account.

        Raises:
            InvalidInput, EmbedderError, StoreError: as `remember`; nothing was written.
        """
        task, outcome = checks.check_text("task", task), checks.check_text("outcome", outcome)
        done = check_steps(steps)
        lines = [f"Task: {task}", f"Outcome ({outcome_word(success)}): {outcome}"]
        parts = {"task": task, "outcome": outcome, "steps": done}
        return await self.remember(
            "\n".join([*lines, *(["Steps:", *numbered(done)] if done else [])]),
            user_id=user_id,
            kind=MemoryKind.EPISODIC,
            importance=importance,
            tags=tags,
            metadata=with_parts(metadata, "episode", parts),
            occurred_at=occurred_at,
            source=source,
            origin=origin,
            success=success,
            key=key,
        )

    async def similar_episodes(  # noqa: PLR0913 - the parts of a question
        self,
        task: str,
        *,
        user_id: str | None = None,
        success: bool | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        min_trust: Origin | str | None = None,
        limit: int = 5,
        min_confidence: float | None = None,
    ) -> Recall:
        """Episodes that bear on the task, best first. For guidance ask for those with `success=True`.

        Also those that were remembered by `remember(kind="episodic")` or saved by an agent. None for
        `success` asks for all, whatever came of them. `as_of`, `known_at` and `min_trust` are as in `recall`.

        Raises:
            InvalidInput, StoreError: as `recall`.
        """
        return await self.recall(
            task,
            user_id=user_id,
            kinds=MemoryKind.EPISODIC,
            success=success,
            as_of=as_of,
            known_at=known_at,
            min_trust=min_trust,
            limit=limit,
            min_confidence=min_confidence,
        )

    async def remember_fact(  # noqa: PLR0913 - the fields of a fact
        self,
        content: str,
        *,
        subject: str | None = None,
        user_id: str | None = None,
        importance: float = 0.5,
        tags: Iterable[str] = (),
        metadata: Mapping[str, object] | None = None,
        source: Source | None = None,
        origin: Origin | str = Origin.USER,
        key: str | None = None,
    ) -> MemoryItem:
        """The fact as a semantic memory, durable; `subject` is what it is about, and becomes a tag.

        Subjects are the same whatever their case and spaces. See `remember` for facts stated again.

        Raises:
            InvalidInput, EmbedderError, StoreError: as `remember`; nothing was written.
        """
        about = [] if subject is None else [label_tag("subject", SUBJECT_TAG, subject)]
        return await self.remember(
            content,
            user_id=user_id,
            kind=MemoryKind.SEMANTIC,
            importance=importance,
            tags=[*about, *checks.check_tags(tags)],
            metadata=metadata,
            source=source,
            origin=origin,
            key=key,
        )

    async def facts_about(  # noqa: PLR0913 - the parts of a question
        self,
        topic: str,
        *,
        user_id: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        min_trust: Origin | str | None = None,
        limit: int = 10,
    ) -> Recall:
        """Facts on the topic: first those whose subject it is, then others that bear on it, best first.

        Of more than `limit` facts with this subject the newest are taken. Their `why` has the part "subject".
        `as_of`, `known_at` and `min_trust` are as in `recall`.

        Raises:
            InvalidInput, StoreError: as `recall`.
        """
        found = await self.recall(
            topic,
            user_id=user_id,
            kinds=MemoryKind.SEMANTIC,
            as_of=as_of,
            known_at=known_at,
            min_trust=min_trust,
            limit=limit,
        )
        tag = as_tag(SUBJECT_TAG, topic)
        if tag is None:
            return found
        page = await self.list(
            user_id=user_id,
            kinds=MemoryKind.SEMANTIC,
            tags=[tag],
            as_of=as_of,
            known_at=known_at,
            min_trust=min_trust,
            limit=limit,
        )
        return subjects_first(found, page.items, limit)

    async def remember_procedure(  # noqa: PLR0913 - the fields of a procedure
        self,
        name: str,
        steps: Sequence[str],
        *,
        user_id: str | None = None,
        importance: float = 0.5,
        tags: Iterable[str] = (),
        metadata: Mapping[str, object] | None = None,
        source: Source | None = None,
        origin: Origin | str = Origin.USER,
    ) -> MemoryItem:
        """How something is done, as a procedural memory, durable. It supersedes the version of the same name.

        Names are the same whatever their case and spaces. `metadata["procedure"]` holds name and steps. The
        same steps again give the memory that is there. Of two writers at once both versions are kept, one as
        the history of the other.

        Raises:
            InvalidInput, EmbedderError, StoreError: as `remember`; nothing was written.
            NotTrusted: the version that is there was said by someone who is trusted more.
            Conflict: other writers kept changing the procedure.
        """
        name = checks.check_label("name", name, max_chars=MAX_NAME_CHARS)
        done = check_steps(steps)
        if not done:
            raise InvalidInput("a procedure needs at least one step")
        tag = label_tag("name", PROCEDURE_TAG, name)
        draft = NewMemory(
            content="\n".join([name, *numbered(done)]),
            kind=MemoryKind.PROCEDURAL,
            importance=importance,
            tags=[tag, *checks.check_tags(tags)],
            metadata=with_parts(metadata, "procedure", {"name": name, "steps": done}),
            source=source,
            origin=origin,
        )
        for number in range(TRIES):
            # The first version has a key, so that of two writers one finds the other's. If there is still
            # none to be found after that, the key is of a version whose tags were changed.
            first = replace(draft, key=tag if number < KEYED_TRIES else None)
            try:
                written = await self._write_version(draft, first, tag, user_id)
            except Conflict:
                continue
            if written is not None:
                return written
        raise Conflict(f"other writers kept changing the procedure {name!r}; try again")

    async def _write_version(
        self, draft: NewMemory, first: NewMemory, tag: str, user_id: str | None
    ) -> MemoryItem | None:
        """The version as it is stored; None if another writer's first version came in between."""
        there = await self.list(user_id=user_id, kinds=MemoryKind.PROCEDURAL, tags=[tag])
        if there.items:
            batch = Batch(new=[draft], supersedes={0: [item.id for item in there]})
        else:
            batch = Batch(new=[first])
        applied = await self.apply(batch, user_id=user_id)
        item = applied.items[0]
        is_other = item.superseded_by is not None or (tag in item.tags and item.content != draft.content)
        return None if is_other and not there.items else item

    async def procedures_for(  # noqa: PLR0913 - the parts of a question
        self,
        task: str,
        *,
        user_id: str | None = None,
        as_of: datetime | None = None,
        known_at: datetime | None = None,
        min_trust: Origin | str | None = None,
        limit: int = 3,
    ) -> Recall:
        """Procedures that bear on the task, best first, in their newest versions, or in those of `as_of`.

        Those marked as failing (`update(id, success=False)`) are left out. `as_of`, `known_at` and
        `min_trust` are as in `recall`.

        Raises:
            InvalidInput, StoreError: as `recall`.
        """
        checks.check_limit("limit", limit)
        asked = limit
        while True:
            found = await self.recall(
                task,
                user_id=user_id,
                kinds=MemoryKind.PROCEDURAL,
                as_of=as_of,
                known_at=known_at,
                min_trust=min_trust,
                limit=asked,
            )
            working = [hit for hit in found if hit.item.success is not False]
            if len(working) >= limit or len(found) < asked or asked == checks.MAX_LIMIT:
                hits = [replace(hit, rank=rank) for rank, hit in enumerate(working[:limit], start=1)]
                return Recall(hits, query=task, degraded=found.degraded)
            asked = min(2 * asked, checks.MAX_LIMIT)
