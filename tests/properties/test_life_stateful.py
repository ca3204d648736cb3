"""Random lives of memories answer every question, of any two times, as a plain model of them does."""

import asyncio
import shutil
import tempfile
from collections.abc import Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from hashlib import blake2b
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import pytest
from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import RuleBasedStateMachine, rule, run_state_machine_as_test

from retentive import Conflict, Memory, MemoryItem, MemoryKind, NotFound, NotTrusted, Origin, RetentionPolicy
from retentive.embedders.base import EmbedKind, Vectors
from retentive.life.consolidate import CHANGED
from retentive.testing.places import KINDS_OF_STORE, Place

_T = TypeVar("_T")

TEXTS = [f"Harbour note {n}" for n in range(4)]
KINDS = [MemoryKind.SEMANTIC, MemoryKind.WORKING]
TRUST = [Origin.IMPORTED, Origin.DOCUMENT, Origin.TOOL, Origin.ASSISTANT, Origin.USER]

texts = st.sampled_from(TEXTS)
kinds = st.sampled_from(KINDS)
origins = st.sampled_from([Origin.USER, Origin.USER, Origin.ASSISTANT, Origin.TOOL])
minutes = st.none() | st.integers(0, 240)
picks = st.integers(0, 30)


class Apart:
    """An embedder whose texts lie far apart, but for those that are equal."""

    dimensions = 32

    def __init__(self, name: str = "apart") -> None:
        self.name = name

    async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:
        return np.stack([self._one(text) for text in texts])

    def _one(self, text: str) -> Vectors:
        seed = int.from_bytes(blake2b((self.name + text).encode(), digest_size=8).digest(), "big")
        return np.random.default_rng(seed).standard_normal(32).astype(np.float32)


@dataclass(frozen=True, kw_only=True)
class Life:
    """A memory as the model sees it. `slot` is what no other memory may say at the same time."""

    id: str
    text: str
    kind: MemoryKind
    origin: Origin
    created: datetime
    expires: datetime | None
    begins: datetime | None = None
    ends: datetime | None = None
    planned: datetime | None = None
    supersedes: str | None = None
    by: str | None = None
    by_at: datetime | None = None
    sources: tuple[str, ...] = ()
    slot: tuple[object, ...] | None = None

    @property
    def period(self) -> datetime | None:
        begun = self.supersedes is not None and self.begins is not None and self.begins <= self.created
        return None if begun else self.begins

    def with_slot(self) -> "Life":
        whose = None if self.origin is Origin.USER else self.origin
        return replace(self, slot=None if self.by else (self.kind, self.text, self.period, whose))

    def gone(self, now: datetime) -> bool:
        return self.expires is not None and self.expires <= now

    def holds(self, at: datetime, known: datetime | None = None, *, undone: bool = False) -> bool:
        if known is not None and self.created > known:
            return False
        replaced = self.by is not None
        if undone or (known is not None and self.by_at is not None and self.by_at > known):
            replaced = False
        if replaced and self.ends is None:  # merged: what took its place says the same
            return False
        end = self.ends if replaced or self.by is None else self.planned
        return not self.gone(at) and (self.begins is None or self.begins <= at) and (end is None or at < end)


class Model:
    """The lives, by id. Every rule is a plain loop."""

    def __init__(self) -> None:
        self.lives: dict[str, Life] = {}

    def stating(self, draft: Life, now: datetime) -> Life | None:
        """The living memory that says what the draft says already: the newest."""
        for life in sorted(self.lives.values(), key=lambda life: life.id, reverse=True):
            same_time = life.begins == draft.begins and life.ends == draft.ends
            alike = (life.kind, life.text) == (draft.kind, draft.text)
            trusted = TRUST.index(life.origin) >= TRUST.index(draft.origin)
            fits = same_time or (life.period == draft.period and life.ends == draft.ends)
            if alike and fits and trusted and life.holds(now):
                return life
        return None

    def place(self, life: Life, now: datetime, but: str | None = None) -> Life:
        """The life, or the one that has its place; an expired one makes room."""
        holder = next(
            (other for other in self.lives.values() if other.slot == life.slot and other.id != but), None
        )
        if holder is None or life.slot is None:
            return life
        if not holder.gone(now):
            return holder
        del self.lives[holder.id]
        return life

    def prolong(self, id: str, draft: Life) -> None:
        life = self.lives[id]
        if TRUST.index(draft.origin) < TRUST.index(life.origin):
            return
        if life.expires is not None and (draft.expires is None or draft.expires > life.expires):
            self.lives[id] = replace(life, expires=draft.expires)

    def remember(self, draft: Life, now: datetime) -> Life:
        found = self.stating(draft, now) or self.place(draft.with_slot(), now)
        self.lives.setdefault(found.id, found)
        if found.id != draft.id:
            self.prolong(found.id, draft)
        return self.lives[found.id]

    def supersede(self, old_id: str, draft: Life, now: datetime) -> Life | type[Exception]:
        old = self.lives.get(old_id)
        if old is None or old.gone(now):
            return NotFound
        since = draft.begins or now
        linked = replace(draft, supersedes=old_id, begins=since).with_slot()
        found = self.stating(draft, now)
        successor = self.lives.get(old.by or "")
        if successor and not successor.gone(now) and successor.by is None and successor.text == draft.text:
            found = successor
        if found is None and old.by is None and self.may(draft, draft, old):
            found = self.place(linked, now, but=old_id)
        if found is not None and found.id in (old_id, old.by):
            self.prolong(found.id, draft)
            return self.lives[found.id]
        if old.by is not None:
            return Conflict
        if found is None or not self.may(draft, found, old):
            return NotTrusted
        end = min(since, old.ends) if old.ends else since
        end = max(end, old.begins) if old.begins else end
        self.lives[old_id] = replace(old, by=found.id, by_at=now, planned=old.ends, ends=end, slot=None)
        self.lives.setdefault(found.id, found)
        if found.id != draft.id:
            life = self.lives[found.id]
            self.lives[found.id] = replace(life, supersedes=life.supersedes or old_id)
            self.prolong(found.id, draft)
        return self.lives[found.id]

    @staticmethod
    def may(draft: Life, found: Life, old: Life) -> bool:
        return min(TRUST.index(draft.origin), TRUST.index(found.origin)) >= TRUST.index(old.origin)

    def older(self, ids: Iterable[str]) -> set[str]:
        found = set(ids)
        while more := {life.id for life in self.lives.values() if life.by in found} - found:
            found |= more
        return found

    def forget(self, id: str, now: datetime) -> set[str]:
        """It and its older versions go, but for one that holds until a later correction begins."""
        if id not in self.lives:
            return set()
        gone = {id}

        def holds_still(life: Life) -> bool:
            return life.ends is not None and life.ends > now

        while more := {x.id for x in self.lives.values() if x.by in gone and not holds_still(x)} - gone:
            gone |= more
        for life in [x for x in self.lives.values() if x.by in gone and x.id not in gone]:
            again = replace(life, by=None, by_at=None, ends=life.planned, planned=None)
            self.lives[life.id] = again.with_slot()
        self.drop(gone)
        return gone

    def remove(self, ids: Iterable[str]) -> set[str]:
        """They and all their older versions go."""
        gone = self.older(ids)
        self.drop(gone)
        return gone

    def drop(self, gone: set[str]) -> None:
        """They go; what stays names them no more."""
        for each in gone:
            del self.lives[each]
        for each in list(self.lives.values()):
            sources = tuple(source for source in each.sources if source not in gone)
            life = self.lives[each.id] = replace(each, sources=sources)
            if life.supersedes in gone:
                left = [other.id for other in self.lives.values() if other.by == life.id]
                self.lives[life.id] = replace(life, supersedes=max(left, default=None))

    def prune(self, age: timedelta | None, purge: timedelta | None, now: datetime) -> set[str]:
        def goes(life: Life) -> bool:
            if life.gone(now):
                return True
            if life.by is None or life.by_at is None:
                return age is not None and life.created < now - age
            over = life.ends is None or life.ends <= now
            return purge is not None and life.by_at <= now - purge and over

        return self.remove([life.id for life in self.lives.values() if goes(life)])

    def alike(self, now: datetime) -> list[list[Life]]:
        """The groups that would become one, each with the one that leads it first."""
        groups: dict[tuple[object, ...], list[Life]] = {}
        for life in self.lives.values():
            if life.kind is MemoryKind.SEMANTIC and life.by is None and life.holds(now):
                groups.setdefault((life.text, life.period, life.ends), []).append(life)
        several = [group for group in groups.values() if len(group) > 1]
        return [
            sorted(group, key=lambda x: (TRUST.index(x.origin), x.created, x.id), reverse=True)
            for group in several
        ]

    def merge(self, group: Sequence[Life], id: str, now: datetime) -> bool:
        """Make one of the group, unless what it says has its place already."""
        ids = tuple(sorted(life.id for life in group))
        one = replace(group[0], id=id, created=now, supersedes=group[0].id, sources=ids).with_slot()
        if any(life.slot == one.slot and life.id not in ids for life in self.lives.values()):
            return False
        for life in group:
            self.lives[life.id] = replace(life, by=id, by_at=now, planned=life.ends, ends=None, slot=None)
        self.lives[id] = one
        return True

    def unmerge(self, id: str) -> list[Life] | type[Exception]:
        one = self.lives.get(id)
        if one is None or not one.sources:
            return NotFound
        after = self.lives.get(one.by or "")
        if after is not None and id in after.sources:
            return Conflict
        apart: list[Life] = []
        for source in one.sources:
            life = replace(self.lives[source], by=one.by, by_at=one.by_at, planned=None)
            life = replace(life, ends=self.lives[source].planned)
            if one.by is not None and one.ends is not None:
                end = min(one.ends, life.ends) if life.ends else one.ends
                end = max(end, life.begins) if life.begins else end
                life = replace(life, planned=life.ends, ends=end)
            apart.append(life.with_slot())
        there = {life.slot for life in self.lives.values() if life.slot and life.id != id}
        slots = [life.slot for life in apart if life.slot]
        if len(set(slots)) < len(slots) or there & set(slots):
            return Conflict
        heir = one.supersedes if one.supersedes in one.sources else max(one.sources)
        del self.lives[id]
        self.lives |= {life.id: life for life in apart}
        for life in list(self.lives.values()):
            if life.by == id:
                self.lives[life.id] = replace(life, by=heir)
            if life.supersedes == id:
                self.lives[life.id] = replace(life, supersedes=heir)
        return sorted(apart, key=lambda life: (life.created, life.id))

    def story(self, id: str, now: datetime) -> list[str]:
        if id not in self.lives or self.lives[id].gone(now):
            return []
        latest = id
        while (by := self.lives[latest].by) is not None and by in self.lives:
            latest = by
        family = [self.lives[each] for each in self.older([self.lives[latest].by or latest, latest])
                  if each in self.lives]  # fmt: skip
        shown = {life.id: life for life in family if not life.gone(now)}

        def steps(life: Life) -> int:
            return 0 if life.by is None else 1 + (steps(shown[life.by]) if life.by in shown else 0)

        return [life.id for life in sorted(shown.values(), key=lambda x: (-steps(x), x.created, x.id))]


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
        self.embedder = "apart"
        self.memory = self.open()

    def open(self) -> Memory:
        return self.place.open(embedder=Apart(self.embedder))

    def teardown(self) -> None:
        self.do(self.place.close())
        self.loop.close()
        shutil.rmtree(self.folder, ignore_errors=True)

    def do(self, call: Awaitable[_T]) -> _T:
        async def run() -> _T:
            return await call

        return self.loop.run_until_complete(run())

    @property
    def now(self) -> datetime:
        return self.place.clock()

    def draft(
        self, id: str, text: str, kind: MemoryKind, origin: Origin, begins: datetime | None = None
    ) -> Life:
        expires = self.now + timedelta(hours=1) if kind is MemoryKind.WORKING else None
        return Life(
            id=id, text=text, kind=kind, origin=origin, created=self.now, expires=expires, begins=begins
        )

    def next_id(self) -> str:
        """The id that the next memory would get."""
        taken = self.place.ids()
        return f"m{int(taken[1:]) + 1:08}"

    def check(self, item: MemoryItem, life: Life) -> None:
        assert (item.id, item.content, item.kind, item.origin) == (life.id, life.text, life.kind, life.origin)
        assert (item.created_at, item.expires_at) == (life.created, life.expires)
        assert (item.valid_from, item.valid_until, item.planned_until) == (
            life.begins,
            life.ends,
            life.planned,
        )
        assert (item.supersedes, item.superseded_by, item.superseded_at) == (
            life.supersedes,
            life.by,
            life.by_at,
        )
        assert item.merged_from == life.sources

    @rule(text=texts, kind=kinds, origin=origins)
    def remember(self, text: str, kind: MemoryKind, origin: Origin) -> None:
        life = self.model.remember(self.draft(self.next_id(), text, kind, origin), self.now)
        item = self.do(self.memory.remember(text, kind=kind, origin=origin))
        self.ids.append(item.id)
        self.check(item, life)

    @rule(pick=picks, text=texts, origin=origins, begins=st.sampled_from([None, None, -45, 0, 45]))
    def supersede(self, pick: int, text: str, origin: Origin, begins: int | None) -> None:
        old_id = self.ids[pick % len(self.ids)]
        valid_from = None if begins is None else self.now + timedelta(minutes=begins)
        old = self.model.lives.get(old_id)
        draft = self.draft(self.next_id(), text, old.kind if old else KINDS[0], origin, valid_from)
        expected = self.model.supersede(old_id, draft, self.now)
        call = self.memory.supersede(old_id, text, origin=origin, valid_from=valid_from)
        if isinstance(expected, type):
            with pytest.raises(expected):
                self.do(call)
            return
        item = self.do(call)
        self.ids.append(item.id)
        self.check(item, expected)

    @rule(pick=picks, importance=st.floats(0, 1))
    def update(self, pick: int, importance: float) -> None:
        id = self.ids[pick % len(self.ids)]
        life = self.model.lives.get(id)
        call = self.memory.update(id, importance=importance)
        if life is None or life.gone(self.now):
            with pytest.raises(NotFound):
                self.do(call)
            return
        anew = life.with_slot()
        holder = self.model.place(replace(anew, id="?"), self.now) if anew.slot != life.slot else anew
        if holder.id not in ("?", id):
            with pytest.raises(Conflict):
                self.do(call)
            return
        self.model.lives[id] = anew
        self.check(self.do(call), anew)

    @rule(pick=picks)
    def forget(self, pick: int) -> None:
        id = self.ids[pick % len(self.ids)]
        receipt = self.do(self.memory.forget(id))
        gone = self.model.forget(id, self.now)
        assert set(receipt.ids) == gone
        assert receipt.removed.get("history", 0) == max(len(gone) - 1, 0)

    @rule(by=st.integers(1, 90))
    def wait(self, by: int) -> None:
        self.place.clock.move(minutes=by)

    @rule()
    def reopen(self) -> None:
        self.do(self.memory.close())
        self.memory = self.open()

    @rule()
    def crash(self) -> None:
        """Nobody closes it, nor waits for what it does in the background."""
        self.memory = self.open()

    @rule()
    def change_model(self) -> None:
        """What is said while there are vectors of another model is the matter of other tests."""
        self.embedder = {"apart": "other", "other": "apart"}[self.embedder]
        self.reopen()
        there = any(not life.gone(self.now) for life in self.model.lives.values())
        report = self.do(self.memory.reembed(everyone=True))
        assert (report.left, report.moved > 0 or not there) == (0, True)
        assert self.do(self.memory.recall("harbour note")).degraded == {}
        assert self.do(self.memory.reembed(everyone=True)).moved == 0

    @rule(age=st.none() | st.integers(1, 200), purge=st.none() | st.integers(1, 120), dry_run=st.booleans())
    def prune(self, age: int | None, purge: int | None, dry_run: bool) -> None:
        spans = [None if n is None else timedelta(minutes=n) for n in (age, purge)]
        policy = RetentionPolicy(max_age=spans[0], purge_superseded_after=spans[1])
        report = self.do(self.memory.prune(policy, user_id=None, dry_run=dry_run))
        before = dict(self.model.lives)
        assert set(report.ids) == self.model.prune(spans[0], spans[1], self.now)
        if dry_run:
            self.model.lives = before

    @rule(dry_run=st.sampled_from([False, False, True]))
    def consolidate(self, dry_run: bool) -> None:
        groups = {frozenset(life.id for life in group): group for group in self.model.alike(self.now)}
        report = self.do(self.memory.consolidate(user_id=None, dry_run=dry_run))
        if dry_run:
            assert {frozenset(one.sources) for one in report.merged} == set(groups)
            return
        for one in report.merged:
            assert self.model.merge(groups.pop(frozenset(one.sources)), str(one.id), self.now)
            self.ids.append(str(one.id))
        assert not any(self.model.merge(group, "?", self.now) for group in groups.values())
        assert report.skipped.get(CHANGED, 0) == len(groups)

    def merged(self, pick: int) -> str:
        """One that a consolidation made, if there is any."""
        merged = [id for id in self.ids if id in self.model.lives and self.model.lives[id].sources]
        return (merged or self.ids)[pick % len(merged or self.ids)]

    @rule(pick=picks, text=texts, begins=st.sampled_from([None, -45, 45]))
    def supersede_merged(self, pick: int, text: str, begins: int | None) -> None:
        if self.model.lives.get(id := self.merged(pick), None) and self.model.lives[id].sources:
            self.supersede(self.ids.index(id), text, Origin.USER, begins)

    @rule(
        text=texts,
        less=st.sampled_from([Origin.TOOL, Origin.ASSISTANT]),
        after=st.none() | texts,
        begins=st.sampled_from([None, -45, 45]),
        apart=st.booleans(),
    )
    def merge_two(self, text: str, less: Origin, after: str | None, begins: int | None, apart: bool) -> None:
        """Who is trusted less says it first, so there are two; they become one, and maybe more happens."""
        self.remember(text, MemoryKind.SEMANTIC, less)
        self.remember(text, MemoryKind.SEMANTIC, Origin.USER)
        self.wait(1)
        self.consolidate(dry_run=False)
        if after is not None:
            self.supersede_merged(-1, after, begins)
            self.wait(1)
        if apart:
            self.unmerge(-1)

    @rule(pick=picks)
    def unmerge(self, pick: int) -> None:
        id = self.merged(pick)
        expected = self.model.unmerge(id)
        if isinstance(expected, type):
            with pytest.raises(expected):
                self.do(self.memory.unmerge(id))
            return
        apart = self.do(self.memory.unmerge(id))
        assert [item.id for item in apart] == [life.id for life in expected]
        for item in apart:
            self.check(item, self.model.lives[item.id])

    @rule(as_of=minutes, known_at=minutes, floor=st.none() | st.sampled_from(TRUST), undone=st.booleans())
    def ask(self, as_of: int | None, known_at: int | None, floor: Origin | None, undone: bool) -> None:
        """The two times lie anywhere between the beginning and four hours later."""
        of, known = (None if n is None else self.start + timedelta(minutes=n) for n in (as_of, known_at))
        at = of or known or self.now
        least = 0 if floor is None else TRUST.index(floor)
        expected = [
            life.id
            for life in sorted(self.model.lives.values(), key=lambda life: life.id, reverse=True)
            if life.holds(at, known, undone=undone) and TRUST.index(life.origin) >= least
        ]
        options: dict[str, Any] = {
            "as_of": of,
            "known_at": known,
            "min_trust": floor,
            "include_superseded": undone,
        }
        assert [item.id for item in self.do(self.memory.list(limit=1_000, **options))] == expected
        hits = self.do(self.memory.recall("harbour note", limit=1_000, **options))
        assert sorted(hit.id for hit in hits) == sorted(expected)

    @rule(pick=picks)
    def tell(self, pick: int) -> None:
        id = self.ids[pick % len(self.ids)]
        found = self.do(self.memory.history(id))
        assert [item.id for item in found] == self.model.story(id, self.now)
        for item in found:
            self.check(item, self.model.lives[item.id])


@pytest.mark.parametrize("kind", KINDS_OF_STORE)
def test_random_lives_answer_as_the_model_does(kind: str) -> None:
    machine: Callable[[], RuleBasedStateMachine] = type(f"{kind.title()}Machine", (Machine,), {"kind": kind})
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=60 if kind == "memory" else 20,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=[HealthCheck.too_slow],
        ),
    )
