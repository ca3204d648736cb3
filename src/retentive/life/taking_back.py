"""What was said in threads taken back: whole threads deleted, single turns redacted."""

from collections.abc import AsyncGenerator, Collection, Iterable, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from datetime import datetime
from itertools import chain
from pathlib import Path
from typing import Final, TypeAlias

from retentive.errors import InvalidInput
from retentive.guards import Guards
from retentive.life.erase import Going
from retentive.life.traces import Tracing
from retentive.stores.base import Redacts, ThreadStore
from retentive.stores.wrapped import able, bare_threads, check_guarded, check_readable
from retentive.types import Turn

Place: TypeAlias = tuple[str, str]
"""A thread: its namespace and its id."""

Threads: TypeAlias = "ThreadStore | Path | None"
"""Where threads are: a store, a home folder, or None for the default place."""

NOTES_OF_THREADS: Final = ("extract/", "dead/", "summary/")
NOTES_OF_RUNS: Final = ("exchange/", "dead-exchange/")
_SUMMARY: Final = "summary/"


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """What is to be done with a thread: delete it, or redact the turns of these numbers."""

    place: Place
    turns: tuple[Turn, ...]
    deletes: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What was done: threads deleted, numbers of turns redacted by thread, how many turns went in all."""

    threads: tuple[str, ...] = ()
    turns: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    count: int = 0


@asynccontextmanager
async def opened(threads: Threads, guards: Guards) -> AsyncGenerator[ThreadStore]:
    """The store of threads; guarded, and closed at the end, if it was not passed in."""
    if threads is None or isinstance(threads, Path):
        store = guards.threads_below(threads)
        try:
            yield store
        finally:
            await store.close()
    else:
        yield threads


def places_in(notes: Iterable[str]) -> set[Place]:
    """The threads that the names of notes speak of."""
    found: set[Place] = set()
    for name in notes:
        for prefix in NOTES_OF_THREADS:
            if name.startswith(prefix):
                namespace, _, rest = name.removeprefix(prefix).partition("/")
                found.add((namespace, rest.split("/", 1)[0]))
    return found


def notes_of(
    notes: Mapping[str, bytes], places: Collection[Place], runs: Collection[str] = ()
) -> dict[str, bytes]:
    """The notes about these threads, and those that hold what was said in these runs."""
    of_threads = {f"{prefix}{space}/{thread}" for prefix in NOTES_OF_THREADS for space, thread in places}
    of_runs = {f"{prefix}{run}" for prefix in NOTES_OF_RUNS for run in runs}
    return {
        name: note
        for name, note in notes.items()
        if name in of_threads or name in of_runs or name.rpartition("/")[0] in of_threads
    }


def summaries_of(places: Iterable[Place]) -> set[str]:
    """The names of the notes that tell what was said in these threads."""
    return {f"{_SUMMARY}{namespace}/{thread}" for namespace, thread in places}


def sources_of(going: Iterable[Going], notes: Iterable[str], namespace: str) -> dict[Place, set[int]]:
    """The turns that memories came from, by thread.

    A source names no namespace: it is the one that a note of the scope names with that thread, else the
    memories' own.

    Raises:
        InvalidInput: notes name the thread in several other namespaces.
    """
    known: dict[str, set[str]] = {}
    for space, thread in places_in(notes):
        known.setdefault(thread, set()).add(space)
    found: dict[Place, set[int]] = {}
    for source in chain.from_iterable(one.sources for one in going):
        if source.thread is not None and source.turns:
            space = _space_of(source.thread, known.get(source.thread, set()), namespace)
            found.setdefault((space, source.thread), set()).update(source.turns)
    return found


def _space_of(thread: str, known: set[str], namespace: str) -> str:
    if not known or namespace in known:
        return namespace
    if len(known) > 1:
        raise InvalidInput(
            f"memories came from thread {thread!r}, and there is one in each of {', '.join(sorted(known))}: "
            "forget without redact_source, then redact the turns in the thread's store"
        )
    return next(iter(known))


async def plan_turns(
    store: ThreadStore, sources: Mapping[Place, Collection[int]], user_id: str | None
) -> list[Plan]:
    """How to take back these turns, as far as they are there and not another user's."""
    plans: list[Plan] = []
    for place, seqs in sources.items():
        turns = await _turns(store, place)
        plans += _redaction(place, [turn for turn in turns if turn.seq in seqs and _may_be(turn, user_id)])
    return plans


async def plan_thread(store: ThreadStore, place: Place, user_id: str | None) -> list[Plan]:
    """How to take back all that the user has in the thread: whole, unless others speak in it too."""
    turns = await _turns(store, place)
    if all(_may_be(turn, user_id) for turn in turns):
        return [Plan(place=place, turns=tuple(turns), deletes=True)]
    return _redaction(place, [turn for turn in turns if turn.metadata.get("user_id") == user_id])


async def plan_user(
    store: ThreadStore,
    user_id: str,
    namespaces: Iterable[str],
    known: Collection[Place],
    sources: Mapping[Place, Collection[int]],
) -> list[Plan]:
    """How to take back all that the user has in any thread of the namespaces.

    `known` are threads that are the user's by other signs; a thread is it too when a turn's metadata names
    the user. Of the others the turns in `sources` are redacted.
    """
    plans: list[Plan] = []
    for namespace in namespaces:
        for thread in await store.threads(namespace):
            place = namespace, thread
            turns = await _turns(store, place)
            if place in known or any(turn.metadata.get("user_id") == user_id for turn in turns):
                plans += await plan_thread(store, place, user_id)
            elif place in sources:
                plans += await plan_turns(store, {place: sources[place]}, user_id)
    return plans


def check_power(store: ThreadStore, plans: Sequence[Plan]) -> None:
    """Nothing, if the store can do what is planned.

    Raises:
        InvalidInput: turns are to be redacted, and it cannot redact; or a thread is sealed, and it is not.
        WrongKey: a thread is encrypted, and the store reads it as it lies there.
    """
    for plan in plans:
        check_guarded(plan.place[1], plan.turns)
    if able(store, Redacts) is None and any(not plan.deletes for plan in plans):
        raise InvalidInput(
            f"turns in {store.url} would have to be redacted, and that store cannot: nothing was removed. "
            "Use a store that has redact(), or forget without redact_source"
        )


async def take_back(store: ThreadStore, plans: Sequence[Plan], at: datetime, tracing: Tracing) -> Taken:
    """What was done; each thread wholly or not at all, in order.

    Raises:
        InvalidInput: the store cannot redact, or a thread is sealed and the store is not; nothing was done.
        WrongKey: a thread is encrypted and the store reads it as it lies there; nothing was done.
        StoreError: the threads before were done, this one and those after it were not.
    """
    check_power(store, plans)
    threads: list[str] = []
    turns: dict[str, tuple[int, ...]] = {}
    count = 0
    for plan in plans:
        name = "/".join(plan.place)
        kept = await _as_kept(store, plan)
        if plan.deletes:
            went: Sequence[Turn] = plan.turns
            if await store.delete(*plan.place):
                threads.append(name)
        else:
            assert isinstance(store, Redacts)
            went = await store.redact(*plan.place, [turn.seq for turn in plan.turns], at)
            turns[name] = tuple(turn.seq for turn in went)
        for turn in (*went, *kept):
            tracing.add_turn(turn)
        count += len(went)
    return Taken(threads=tuple(threads), turns=turns, count=count)


async def _turns(store: ThreadStore, place: Place) -> Sequence[Turn]:
    """The turns of the thread, as they can be understood: whose they are, too."""
    turns = (await store.turns(*place)).turns
    check_readable(place[1], turns)
    return turns


async def _as_kept(store: ThreadStore, plan: Plan) -> list[Turn]:
    """The turns of the plan as they lie there, if the store keeps them otherwise than it gives them."""
    bare = bare_threads(store)
    if bare is store:
        return []
    seqs = {turn.seq for turn in plan.turns}
    return [turn for turn in (await bare.turns(*plan.place)).turns if turn.seq in seqs]


def _redaction(place: Place, turns: Iterable[Turn]) -> list[Plan]:
    left = tuple(turn for turn in turns if not turn.is_redacted)
    return [Plan(place=place, turns=left, deletes=False)] if left else []


def _may_be(turn: Turn, user_id: str | None) -> bool:
    """Whether the turn names this user or none."""
    return turn.metadata.get("user_id", user_id) == user_id
