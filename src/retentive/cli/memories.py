"""The commands about memories: remember, recall, search, list."""

from typing import Annotated

import typer
from rich.console import Console

from retentive.cli import bulk, options
from retentive.cli.command import Answer, Where
from retentive.cli.output import one_line, print_hits, print_items, recall_to_dict
from retentive.codec import item_to_dict
from retentive.drafts import NewMemory
from retentive.errors import InvalidInput
from retentive.events import Event
from retentive.memory import Memory
from retentive.ranking.dedupe import why_different
from retentive.recall import Recall
from retentive.types import MemoryItem, MemoryKind, Origin, Scope


async def remember(  # noqa: PLR0913 - the fields of a memory
    where: Where,
    text: Annotated[
        str, typer.Argument(help="The statement; - reads many from stdin, one a line.", metavar="TEXT")
    ],
    kind: Annotated[
        str, typer.Option(help=f"One of {options.KINDS}.", metavar="KIND")
    ] = MemoryKind.SEMANTIC.value,
    importance: Annotated[str, typer.Option(help="0 to 1.", metavar="NUMBER")] = "0.5",
    tag: Annotated[list[str] | None, typer.Option(help="Repeat for more.", metavar="TAG")] = None,
    metadata: Annotated[str | None, typer.Option(help="A JSON object.", metavar="JSON")] = None,
    occurred_at: Annotated[
        str | None, typer.Option(help="When it happened: ISO 8601 with a zone.", metavar="TIME")
    ] = None,
    ttl: Annotated[
        str | None, typer.Option(help="How long to keep it: 30m, 12h, 7d, 2w.", metavar="SPAN")
    ] = None,
    key: Annotated[
        str | None, typer.Option(help="Makes a retry harmless: one memory a key.", metavar="KEY")
    ] = None,
    origin: Annotated[
        str, typer.Option(help=f"Who said it: {options.ORIGINS}.", metavar="WHO")
    ] = Origin.USER.value,
    jsonl: Annotated[
        bool, typer.Option("--jsonl", help="With -: each line is a JSON object with these fields.")
    ] = False,
) -> Answer:
    """Keep a statement. What is known already is not stored twice."""
    draft = NewMemory(
        content=text,
        kind=kind,
        importance=options.number("importance", importance),
        tags=tag or (),
        metadata=options.optional(options.json_object, "metadata", metadata),
        occurred_at=options.optional(options.moment, "occurred-at", occurred_at),
        ttl=options.optional(options.lifetime, "ttl", ttl),
        origin=origin,
        key=key,
    )
    if text == "-":
        return await bulk.remember_lines(where, draft, jsonl=jsonl)
    if jsonl:
        raise InvalidInput("--jsonl reads stdin: pass - as the text")
    events: list[Event] = []
    async with where.memory() as (memory, _):
        memory.subscribe(events.append)
        item = (await memory.remember_many([draft], user_id=where.user))[0]
        restated = bool(events[0].restated)
        notes = () if restated else await _near_note(memory, where, item)

    def show(out: Console) -> None:
        out.print(f"{'known already, not stored twice' if restated else 'remembered'} {item.id}")

    return Answer(data={"restated": restated, "item": item_to_dict(item)}, show=show, notes=notes)


async def _near_note(memory: Memory, where: Where, item: MemoryItem) -> tuple[str, ...]:
    """What to say when an older memory is worded alike but states another fact."""
    older = await memory.get(item.near, user_id=where.user) if item.near else None
    if older is None:
        return ()
    reason = why_different(item.content, older.content) or "they differ"
    return (f"both are kept: {older.id} says {one_line(older.content)[:60]!r} ({reason})",)


async def recall(  # noqa: PLR0913 - the parts of a question
    where: Where,
    query: Annotated[
        str, typer.Argument(help="A question, as you would put it to a person.", metavar="QUERY")
    ],
    limit: options.Limit = "10",
    kind: options.Kinds = None,
    tag: options.Tags = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    known_at: options.KnownAt = None,
    min_trust: options.MinTrust = None,
    include_superseded: options.IncludeSuperseded = False,
    min_score: options.MinScore = None,
    min_confidence: options.MinConfidence = None,
    why: options.Why = False,
) -> Answer:
    """What bears on a question, best first, with importance and recency: what an agent would be told."""
    async with where.memory() as (memory, _):
        found = await memory.recall(
            query,
            user_id=where.user,
            kinds=kind,
            tags=tag,
            since=options.optional(options.moment, "since", since),
            until=options.optional(options.moment, "until", until),
            as_of=options.optional(options.moment, "as-of", as_of),
            known_at=options.optional(options.moment, "known-at", known_at),
            min_trust=min_trust,
            include_superseded=include_superseded,
            limit=options.whole_number("limit", limit),
            min_score=options.optional(options.number, "min-score", min_score),
            min_confidence=options.optional(options.number, "min-confidence", min_confidence),
        )
        return await _found(memory, where, found, why=why)


async def search(  # noqa: PLR0913 - the parts of a question
    where: Where,
    query: Annotated[str, typer.Argument(help="Words to look for.", metavar="QUERY")],
    limit: options.Limit = "20",
    offset: Annotated[str, typer.Option(help="Skip this many hits.", metavar="N")] = "0",
    kind: options.Kinds = None,
    tag: options.Tags = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    known_at: options.KnownAt = None,
    min_trust: options.MinTrust = None,
    include_superseded: options.IncludeSuperseded = False,
    min_score: options.MinScore = None,
    min_confidence: options.MinConfidence = None,
    why: options.Why = False,
) -> Answer:
    """What the words find, best first, by relevance alone."""
    async with where.memory() as (memory, _):
        found = await memory.search(
            query,
            user_id=where.user,
            kinds=kind,
            tags=tag,
            since=options.optional(options.moment, "since", since),
            until=options.optional(options.moment, "until", until),
            as_of=options.optional(options.moment, "as-of", as_of),
            known_at=options.optional(options.moment, "known-at", known_at),
            min_trust=min_trust,
            include_superseded=include_superseded,
            limit=options.whole_number("limit", limit),
            offset=options.whole_number("offset", offset, maximum=1_000_000),
            min_score=options.optional(options.number, "min-score", min_score),
            min_confidence=options.optional(options.number, "min-confidence", min_confidence),
        )
        return await _found(memory, where, found, why=why)


async def _found(memory: Memory, where: Where, found: Recall, *, why: bool) -> Answer:
    hint = None if found else await empty_hint(memory, where)
    notes = [f"{leg}: {reason}" for leg, reason in found.degraded.items()]
    if found.confidence is not None:
        notes.append(f"confidence {found.confidence:.2f}" + (": too low" if found.abstained else ""))

    def show(out: Console) -> None:
        print_hits(out, found, why=why) if found else out.print("nothing found")

    return Answer(data=recall_to_dict(found), show=show, notes=tuple(notes), hint=hint)


async def empty_hint(memory: Memory, where: Where) -> str | None:
    """Why nothing can be there: no such namespace, or nothing of this user. None if there are memories."""
    scopes = await memory.scopes()
    if not scopes:
        return f"namespace {where.namespace!r} has no memories; `retentive namespaces` lists those that have"
    if Scope(where.namespace, where.user) in scopes:
        return None
    whose = f"user {where.user!r} has" if where.user else "the shared scope has"
    return f"{whose} no memories in namespace {where.namespace!r}; `retentive stats` lists who has"


async def list_(  # noqa: PLR0913 - the filters, and where the page starts
    where: Where,
    limit: options.Limit = "100",
    after: Annotated[
        str | None, typer.Option(help="Go on after this id: `next` of the page before.", metavar="ID")
    ] = None,
    kind: options.Kinds = None,
    tag: options.Tags = None,
    since: options.Since = None,
    until: options.Until = None,
    as_of: options.AsOf = None,
    known_at: options.KnownAt = None,
    min_trust: options.MinTrust = None,
    include_superseded: options.IncludeSuperseded = False,
) -> Answer:
    """The memories, newest first."""
    async with where.memory() as (memory, _):
        page = await memory.list(
            user_id=where.user,
            kinds=kind,
            tags=tag,
            since=options.optional(options.moment, "since", since),
            until=options.optional(options.moment, "until", until),
            as_of=options.optional(options.moment, "as-of", as_of),
            known_at=options.optional(options.moment, "known-at", known_at),
            min_trust=min_trust,
            include_superseded=include_superseded,
            limit=options.whole_number("limit", limit),
            after=after,
        )
        hint = None if page.items else await empty_hint(memory, where)
    if page.next:
        hint = f"there are more: --after {page.next}"

    def show(out: Console) -> None:
        print_items(out, page.items) if page.items else out.print("no memories")

    return Answer(
        data={"items": [item_to_dict(item) for item in page.items], "next": page.next}, show=show, hint=hint
    )
