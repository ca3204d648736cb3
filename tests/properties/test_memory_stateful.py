"""Any sequence of verbs by several scopes does to a store what it does to a plain dictionary."""

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeAlias, TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import (
    RuleBasedStateMachine,
    invariant,
    precondition,
    rule,
    run_state_machine_as_test,
)

from retentive import Conflict, Memory, MemoryItem, MemoryKind, NewMemory, NotFound, Scope
from retentive.embedders.base import EmbedKind, Vectors
from retentive.testing.places import KINDS_OF_STORE, Place

_T = TypeVar("_T")
Window: TypeAlias = "tuple[int | None, int | None]"

SCOPES = [Scope("one"), Scope("one", "ann"), Scope("two", "ann")]
KINDS = [MemoryKind.SEMANTIC, MemoryKind.EPISODIC, MemoryKind.WORKING]
WINDOWS: list[Window] = [(None, None), (None, None), (None, 90), (30, None), (30, 90)]

scopes = st.sampled_from(SCOPES)
texts = st.sampled_from(
    [f.format(n) for n in range(6) for f in ("Harbour note {}", "Harbour note {}.", " Harbour note {} ")]
)
tags = st.sets(st.sampled_from(["a", "b", "a%"]))
some_kinds = st.sampled_from([None, *[[kind] for kind in KINDS], KINDS[:2]])


class Apart:
    """An embedder whose texts lie far apart, but for those that are equal."""

    name, dimensions = "apart", 32

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:
        return np.stack([self._one(normal(text)) for text in texts])

    @staticmethod
    def _one(text: str) -> Vectors:
        seed = int.from_bytes(blake2b(text.encode(), digest_size=8).digest(), "big")
        return np.random.default_rng(seed).standard_normal(32).astype(np.float32)


def normal(text: str) -> str:
    return text.strip().rstrip(".").casefold()


@dataclass(frozen=True, kw_only=True)
class Kept:
    item: MemoryItem
    key: str | None

    def says(self, kind: MemoryKind, text: str, window: object) -> bool:
        mine = (self.item.kind, normal(self.item.content), (self.item.valid_from, self.item.valid_until))
        return mine == (kind, normal(text), window)


class Model:
    """What each scope holds, by id. Every rule is a plain loop."""

    def __init__(self) -> None:
        self.scopes: dict[Scope, dict[str, Kept]] = {scope: {} for scope in SCOPES}

    def living(self, scope: Scope, now: datetime) -> list[Kept]:
        return [kept for kept in self.scopes[scope].values() if not over(kept.item, now)]

    def holder(self, scope: Scope, draft: NewMemory, now: datetime) -> Kept | None:
        window = (draft.valid_from, draft.valid_until)
        living = self.living(scope, now)
        same = [kept for kept in living if kept.says(MemoryKind(draft.kind), draft.content, window)]
        keyed = [kept for kept in living if draft.key is not None and kept.key == draft.key]
        if same and valid(same[0].item, now):
            return same[0]
        return (keyed or same or [None])[0]

    def refuses(self, scope: Scope, draft: NewMemory, now: datetime) -> bool:
        """Whether the draft's key was used for another statement."""
        held = self.holder(scope, draft, now)
        if held is None or draft.key is None or held.item.updated_at > held.item.created_at:
            return False
        mine = (draft.kind, normal(draft.content))
        return (held.item.kind, normal(held.item.content)) != mine

    def remember(self, draft: NewMemory, item: MemoryItem, now: datetime) -> bool:
        """Take in what `remember` gave; whether it is a new memory."""
        held = self.holder(item.scope, draft, now)
        if held is None:
            self.scopes[item.scope][item.id] = Kept(item=item, key=draft.key)
            return True
        expires_at = later(held.item.expires_at, self.expiry(draft, now))
        expected = replace(held.item, expires_at=expires_at, updated_at=item.updated_at)
        assert plain(item) == plain(expected)
        assert (item.updated_at == held.item.updated_at) == (expires_at == held.item.expires_at)
        self.scopes[item.scope][item.id] = replace(held, item=item)
        return False

    @staticmethod
    def expiry(draft: NewMemory, now: datetime) -> datetime | None:
        ttl = draft.ttl or (timedelta(hours=1) if draft.kind == MemoryKind.WORKING else None)
        return None if ttl is None else now + ttl


def plain(item: MemoryItem) -> MemoryItem:
    """The memory without its link, which ends when the other goes."""
    return replace(item, near=None)


def over(item: MemoryItem, now: datetime) -> bool:
    return item.expires_at is not None and item.expires_at <= now


def valid(item: MemoryItem, now: datetime) -> bool:
    return (item.valid_from is None or item.valid_from <= now) and (
        item.valid_until is None or now < item.valid_until
    )


def later(one: datetime | None, other: datetime | None) -> datetime | None:
    return None if one is None or other is None else max(one, other)


class Machine(RuleBasedStateMachine):
    kind = "memory"

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.loop = asyncio.new_event_loop()
        self.place = Place(self.kind, self.folder)
        self.start = self.place.clock()
        self.model = Model()
        self.ids = ["nothing"]
        self.memories: dict[str, Memory] = {}
        self.open()

    def open(self) -> None:
        store = self.place.store()
        self.memories = {
            name: self.place.open(name, store=store, embedder=Apart()) for name in ("one", "two")
        }

    def teardown(self) -> None:
        self.do(self.place.close())
        self.loop.close()
        shutil.rmtree(self.folder)

    def do(self, call: Awaitable[_T]) -> _T:
        async def made() -> _T:
            return await call

        return self.loop.run_until_complete(made())

    @property
    def now(self) -> datetime:
        return self.place.clock()

    def draft(self, text: str, kind: MemoryKind, window: Window, **fields: Any) -> NewMemory:
        ends = [None if end is None else self.start + timedelta(seconds=end) for end in window]
        return NewMemory(content=text, kind=kind, valid_from=ends[0], valid_until=ends[1], **fields)

    @rule(
        scope=scopes,
        text=texts,
        kind=st.sampled_from(KINDS),
        window=st.sampled_from(WINDOWS),
        seconds=st.sampled_from([None, None, 30, 60]),
        key=st.sampled_from([None, None, "k1", "k2"]),
        tagged=tags,
        importance=st.sampled_from([0.0, 0.5, 1.0]),
    )
    def remember(
        self,
        scope: Scope,
        text: str,
        kind: MemoryKind,
        window: Window,
        seconds: int | None,
        key: str | None,
        tagged: set[str],
        importance: float,
    ) -> None:
        ttl = None if seconds is None else timedelta(seconds=seconds)
        draft = self.draft(text, kind, window, ttl=ttl, key=key, tags=sorted(tagged), importance=importance)
        fields = {name: getattr(draft, name) for name in draft.__slots__}
        call = self.memories[scope.namespace].remember(**fields, user_id=scope.user_id)
        if self.model.refuses(scope, draft, self.now):
            with pytest.raises(Conflict):
                self.do(call)
            return
        item = self.do(call)
        if self.model.remember(draft, item, self.now):
            assert (item.content, item.kind, item.importance) == (text, kind, importance)
            assert (item.tags, item.created_at) == (tuple(sorted(tagged)), self.now)
            assert item.expires_at == self.model.expiry(draft, self.now)
            assert item.id not in self.ids
            self.ids.append(item.id)

    @rule(scope=scopes, some=st.lists(st.tuples(texts, st.sampled_from(KINDS)), max_size=4))
    def remember_many(self, scope: Scope, some: list[tuple[str, MemoryKind]]) -> None:
        drafts = [self.draft(text, kind, (None, None)) for text, kind in some]
        items = self.do(self.memories[scope.namespace].remember_many(drafts, user_id=scope.user_id))
        for draft, item in zip(drafts, items, strict=True):
            if self.model.remember(draft, item, self.now):
                self.ids.append(item.id)

    @rule(
        scope=scopes,
        data=st.data(),
        text=st.none() | texts,
        importance=st.sampled_from([0.1, 0.9]),
        tagged=tags,
    )
    def update(
        self, scope: Scope, data: st.DataObject, text: str | None, importance: float, tagged: set[str]
    ) -> None:
        memory_id = data.draw(st.sampled_from(self.ids))
        fields: dict[str, Any] = {"importance": importance, "tags": sorted(tagged)}
        fields |= {} if text is None else {"content": text}
        call = self.memories[scope.namespace].update(memory_id, user_id=scope.user_id, **fields)
        kept = self.model.scopes[scope].get(memory_id)
        if kept is None or over(kept.item, self.now):
            with pytest.raises(NotFound):
                self.do(call)
            return
        item = kept.item
        others = [one for one in self.model.living(scope, self.now) if one.item.id != memory_id]
        window = (item.valid_from, item.valid_until)
        if text is not None and any(one.says(item.kind, text, window) for one in others):
            with pytest.raises(Conflict):
                self.do(call)
            return
        changed = self.do(call)
        fields["tags"] = tuple(fields["tags"])
        assert plain(changed) == plain(replace(item, **fields, updated_at=changed.updated_at))
        assert changed.updated_at > item.updated_at
        self.model.scopes[scope][memory_id] = replace(kept, item=changed)

    @rule(scope=scopes, data=st.data())
    def forget(self, scope: Scope, data: st.DataObject) -> None:
        memory_id = data.draw(st.sampled_from(self.ids))
        receipt = self.do(self.memories[scope.namespace].forget(memory_id, user_id=scope.user_id))
        kept = self.model.scopes[scope].pop(memory_id, None)
        if kept is None or not over(kept.item, self.now):
            assert receipt.ids == (() if kept is None else (memory_id,))

    @rule(scope=scopes, kinds=some_kinds)
    def clear(self, scope: Scope, kinds: list[MemoryKind] | None) -> None:
        receipt = self.do(self.memories[scope.namespace].clear(user_id=scope.user_id, kinds=kinds))
        self.check_cleared([scope], kinds, receipt.ids)

    @rule(namespace=st.sampled_from(["one", "two"]), kinds=some_kinds)
    def clear_everyone(self, namespace: str, kinds: list[MemoryKind] | None) -> None:
        receipt = self.do(self.memories[namespace].clear(everyone=True, kinds=kinds))
        self.check_cleared([scope for scope in SCOPES if scope.namespace == namespace], kinds, receipt.ids)

    def check_cleared(
        self, cleared: list[Scope], kinds: list[MemoryKind] | None, gone: Iterable[str]
    ) -> None:
        there: set[str] = set()
        for scope in cleared:
            held = self.model.scopes[scope]
            for memory_id, kept in list(held.items()):
                if kinds is None or kept.item.kind in kinds:
                    del held[memory_id]
                    if not over(kept.item, self.now):
                        there.add(memory_id)
        assert there <= set(gone) <= set(self.ids)

    @rule(seconds=st.sampled_from([1, 29, 30, 31, 60, 3_600]))
    def time_passes(self, seconds: int) -> None:
        self.place.clock.move(seconds=seconds)

    @rule()
    def reopen(self) -> None:
        self.open()

    @precondition(lambda self: self.place.keeps)
    @rule()
    def close_and_reopen(self) -> None:
        self.do(self.place.close())
        self.open()

    @rule(scope=scopes, kinds=some_kinds, tagged=tags, limit=st.integers(0, 5), offset=st.integers(0, 3))
    def ask(
        self, scope: Scope, kinds: list[MemoryKind] | None, tagged: set[str], limit: int, offset: int
    ) -> None:
        memory, user = self.memories[scope.namespace], scope.user_id
        whole = self.do(memory.search("harbour", user_id=user, limit=1_000))
        passing = [hit for hit in whole if self.passes(hit.item, kinds, tagged)]
        asked = memory.search("harbour", user_id=user, kinds=kinds, tags=tagged, limit=limit, offset=offset)
        self.same(self.do(asked), passing[offset : offset + limit])
        recalled = self.do(memory.recall("harbour", user_id=user, limit=1_000))
        fitting = [hit for hit in recalled if self.passes(hit.item, kinds, tagged)]
        self.same(
            self.do(memory.recall("harbour", user_id=user, kinds=kinds, tags=tagged, limit=limit)),
            fitting[:limit],
        )
        page = self.do(memory.list(user_id=user, kinds=kinds, tags=tagged, limit=1_000))
        expected = [item for item in self.visible(scope) if self.passes(item, kinds, tagged)]
        assert list(map(plain, page)) == expected
        assert self.do(memory.count(user_id=user, kinds=kinds, tags=tagged)) == len(expected)

    @staticmethod
    def same(one: Sequence[Any], other: Sequence[Any]) -> None:
        assert [(hit.id, hit.score) for hit in one] == [(hit.id, hit.score) for hit in other]

    @staticmethod
    def passes(item: MemoryItem, kinds: list[MemoryKind] | None, tagged: set[str]) -> bool:
        return (kinds is None or item.kind in kinds) and tagged <= set(item.tags)

    def visible(self, scope: Scope) -> list[MemoryItem]:
        living = [kept.item for kept in self.model.living(scope, self.now)]
        valid_now = (plain(item) for item in living if valid(item, self.now))
        return sorted(valid_now, key=lambda item: item.id, reverse=True)

    @invariant()
    def every_scope_sees_its_own_and_nothing_else(self) -> None:
        for scope in SCOPES:
            memory, user = self.memories[scope.namespace], scope.user_id
            visible = self.visible(scope)
            listed = list(self.do(memory.list(user_id=user, limit=1_000)))
            assert list(map(plain, listed)) == visible
            assert {item.near for item in listed} <= {None, *self.model.scopes[scope]}
            hits = self.do(memory.recall("harbour", user_id=user, limit=1_000))
            assert {hit.id: plain(hit.item) for hit in hits} == {item.id: item for item in visible}
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)
            assert not hits.degraded

    @rule(scope=scopes, data=st.data())
    def get(self, scope: Scope, data: st.DataObject) -> None:
        memory_id = data.draw(st.sampled_from(self.ids))
        kept = self.model.scopes[scope].get(memory_id)
        expected = None if kept is None or over(kept.item, self.now) else plain(kept.item)
        got = self.do(self.memories[scope.namespace].get(memory_id, user_id=scope.user_id))
        assert (got and plain(got)) == expected


EXAMPLES: dict[str, int] = {"memory": 60, "sqlite": 20, "file": 20}
Machines: TypeAlias = Callable[[], RuleBasedStateMachine]


@pytest.mark.parametrize("kind", KINDS_OF_STORE)
def test_any_sequence_of_verbs_does_what_it_does_to_a_dictionary(kind: str) -> None:
    machine: Machines = type(f"{kind.title()}Machine", (Machine,), {"kind": kind})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=EXAMPLES[kind],
            stateful_step_count=30,
            deadline=None,
            suppress_health_check=[
                HealthCheck.too_slow,
                HealthCheck.data_too_large,
                HealthCheck.filter_too_much,
            ],
        ),
    )
