# ruff: noqa: D102  (a test's name says it)
"""The laws of `MemoryStore` as tests. Subclass `MemoryStoreSuite`, give it a `store` fixture, run pytest.

One long module, as a store is one thing to check: a law is found by its name.

    class TestMyStore(MemoryStoreSuite):
        @pytest_asyncio.fixture
        async def store(self, tmp_path):
            store = MyStore(tmp_path)
            await store.open()
            yield store
            await store.close()

        async def reopen(self, store):
            await store.close()
            return MyStore(store.path)

Each test's name is the law that it checks. A backend where nothing survives a close leaves `reopen` out.
Needs pytest, pytest-asyncio and hypothesis: `pip install "retentive[test]"`.
"""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine, Mapping
from dataclasses import replace
from itertools import count
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retentive.errors import Conflict, NotFound, StoreClosed
from retentive.stores.base import (
    MAX_NOTE_BYTES,
    MAX_NOTE_NAME_CHARS,
    Changes,
    MemoryStore,
    StoredMemory,
    Written,
)
from retentive.testing.memory_model import EPOCH, Follower, ScopeModel, index_rows, make_memory
from retentive.types import MemoryItem, MemoryKind, Origin, Scope, Source

ANN = Scope("acme", "ann")
BOB = Scope("acme", "bob")
SHARED = Scope("acme")
OTHER_TENANT = Scope("zeta", "ann")
FAR = EPOCH.replace(year=9999)

_namespaces = count()


async def insert(store: MemoryStore, *memories: StoredMemory) -> Written:
    """Insert the memories into their scope as one change."""
    return await store.write(Changes(scope=memories[0].item.scope, inserts=memories))


async def put_notes(store: MemoryStore, scope: Scope, notes: Mapping[str, bytes | None]) -> Written:
    """Change only these notes of the scope."""
    return await store.write(Changes(scope=scope, notes=notes))


async def everything(store: MemoryStore, scope: Scope) -> list[str]:
    """The ids of a scope, oldest change first."""
    return [row.id for row in (await store.scan(scope, 0)).rows]


async def one(store: MemoryStore, scope: Scope, id: str) -> StoredMemory | None:
    """One memory."""
    return (await store.get(scope, [id]))[0]


class MemoryStoreSuite:
    """Every law of `retentive.stores.base.MemoryStore`."""

    pytestmark = pytest.mark.asyncio

    @pytest.fixture
    def store(self) -> Any:
        """An open, empty store. Override this."""
        raise NotImplementedError("give the suite a `store` fixture")

    async def reopen(self, store: MemoryStore) -> MemoryStore | None:  # noqa: ARG002  (for overriders)
        """Close the store and give another object over the same data; None where nothing survives."""
        return None

    # What is kept

    async def test_every_field_comes_back_as_it_was(self, store: MemoryStore) -> None:
        item = MemoryItem(
            id="01full",
            scope=ANN,
            kind=MemoryKind.EPISODIC,
            content="line\u2028sep \U0001f9ed \u05e9\u05dc\u05d5\u05dd \u6771\u4eac \x1f 'q' \"dq\" \\ %_*",
            importance=0.1 + 0.2,
            tags=("b", "a", "\u00e9"),
            metadata={
                "big": 2**63,
                "neg": -(2**64),
                "f": 1e-7,
                "n": None,
                "l": [True, {"\u2029": ""}],
                "": 0,
            },
            created_at=EPOCH,
            updated_at=EPOCH.replace(microsecond=1),
            occurred_at=EPOCH.replace(year=1),
            valid_from=EPOCH,
            valid_until=EPOCH.replace(year=9999),
            expires_at=EPOCH,
            source=Source(thread="t-1", turns=(3, 4), speaker="Ann", document="d", place="p. 2"),
            origin=Origin.TOOL,
            success=False,
            supersedes="older",
            superseded_by="newer",
            superseded_at=EPOCH,
            planned_until=EPOCH.replace(year=9998),
            merged_from=("one", "other"),
            merged_sources=(Source(thread="t-1", turns=(3, 4)), Source(document="d", place="p. 2")),
            near="neighbour",
            embedder="model-1",
        )
        memory = StoredMemory(
            item=item,
            text_key=bytes(range(16)),
            key="k'\u2028",
            packed=bytes(range(256)) * 40,
            vector=b"\x00\xff" * 512,
        )
        await insert(store, memory)
        assert await one(store, ANN, "01full") == memory
        (row,) = (await store.scan(ANN, 0)).rows
        assert [row] == index_rows([memory])

    async def test_what_is_none_or_empty_comes_back_so(self, store: MemoryStore) -> None:
        memory = make_memory(SHARED, "bare", packed=b"")
        await insert(store, memory)
        assert await one(store, SHARED, "bare") == memory
        assert list((await store.scan(SHARED, 0)).rows) == index_rows([memory])

    async def test_a_long_text_comes_back(self, store: MemoryStore) -> None:
        memory = make_memory(ANN, "long", content="\u00e9\U0001f9ed" * 500_000)
        await insert(store, memory)
        assert await one(store, ANN, "long") == memory

    async def test_what_goes_in_is_copied(self, store: MemoryStore) -> None:
        metadata: dict[str, Any] = {"list": [1]}
        writing = asyncio.ensure_future(insert(store, make_memory(ANN, "a", metadata=metadata)))
        await asyncio.sleep(0)
        metadata["list"].append(2)
        await writing
        found = await one(store, ANN, "a")
        assert found is not None
        assert found.item.metadata == {"list": [1]}

    async def test_what_comes_out_is_copied(self, store: MemoryStore) -> None:
        await insert(store, make_memory(ANN, "a", metadata={"list": [1]}))
        for _ in range(2):
            found = await one(store, ANN, "a")
            assert found is not None
            metadata: Any = found.item.metadata
            assert metadata == {"list": [1]}
            try:
                metadata["list"].append(2)
            except TypeError:
                return  # frozen is as good as copied

    async def test_get_gives_the_order_asked_and_none_for_unknown_ids(self, store: MemoryStore) -> None:
        a, b = make_memory(ANN, "a"), make_memory(ANN, "b")
        await insert(store, a, b)
        asked = ["b", "no", "a", "b", "%", "a%", "*", "", "\ud800", "a\x00", "A"]
        assert await store.get(ANN, asked) == [b, None, a, b, *[None] * 7]
        assert await store.get(ANN, []) == []

    async def test_five_thousand_in_one_change(self, store: MemoryStore) -> None:
        memories = [make_memory(ANN, f"{n:05}", text_key=b"%d" % n) for n in range(5_000)]
        written = await insert(store, *memories)
        ids = [memory.item.id for memory in memories]
        assert list(written.inserted) == ids
        assert list((await store.scan(ANN, 0)).rows) == index_rows(memories)
        assert await store.get(ANN, ids) == memories
        assert list((await store.write(Changes(scope=ANN, deletes=ids))).deleted) == ids
        assert await everything(store, ANN) == []

    # Inserts and what makes them unique

    async def test_an_insert_whose_text_is_there_gives_the_one_there(self, store: MemoryStore) -> None:
        await insert(store, make_memory(ANN, "a", text_key=b"t"))
        written = await insert(
            store, make_memory(ANN, "b", text_key=b"t"), make_memory(ANN, "c", text_key=b"u")
        )
        assert list(written.inserted) == ["a", "c"]
        assert await everything(store, ANN) == ["a", "c"]

    async def test_an_insert_whose_key_is_there_gives_the_one_there(self, store: MemoryStore) -> None:
        await insert(store, make_memory(ANN, "a", key="k", text_key=b"t"))
        written = await insert(store, make_memory(ANN, "b", key="k", text_key=b"u", kind=MemoryKind.WORKING))
        assert list(written.inserted) == ["a"]
        assert await one(store, ANN, "b") is None

    async def test_an_insert_whose_id_is_there_changes_nothing(self, store: MemoryStore) -> None:
        first = make_memory(ANN, "a", text_key=b"t")
        await insert(store, first)
        written = await insert(store, make_memory(ANN, "a", text_key=b"u", version=1))
        assert list(written.inserted) == ["a"]
        assert await one(store, ANN, "a") == first

    async def test_an_inserts_key_counts_before_its_text(self, store: MemoryStore) -> None:
        await insert(store, make_memory(ANN, "text", text_key=b"t"), make_memory(ANN, "key", key="k"))
        assert list((await insert(store, make_memory(ANN, "c", key="k", text_key=b"t"))).inserted) == ["key"]

    async def test_equal_texts_of_two_kinds_are_two_memories(self, store: MemoryStore) -> None:
        kinds = list(MemoryKind)
        written = await insert(store, *[make_memory(ANN, k, text_key=b"t", kind=k) for k in kinds])
        assert list(written.inserted) == kinds

    async def test_without_text_key_and_key_nothing_is_the_same(self, store: MemoryStore) -> None:
        written = await insert(store, *[make_memory(ANN, id, content="same") for id in "abc"])
        assert list(written.inserted) == ["a", "b", "c"]

    async def test_equal_texts_in_one_change_are_written_once(self, store: MemoryStore) -> None:
        written = await insert(store, *[make_memory(ANN, id, text_key=b"t") for id in "abc"])
        assert list(written.inserted) == ["a", "a", "a"]
        assert await everything(store, ANN) == ["a"]

    # Updates

    async def test_an_update_replaces_everything(self, store: MemoryStore) -> None:
        await insert(
            store, make_memory(ANN, "a", text_key=b"t", key="k", near="x", vector=b"1234", tags=("t",))
        )
        after = make_memory(
            ANN, "a", text_key=b"u", kind=MemoryKind.EPISODIC, version=1, embedder="e2", vector=b"5678"
        )
        written = await store.write(Changes(scope=ANN, updates=[after]))
        assert _lists(written) == ([], [])
        assert await one(store, ANN, "a") == after
        free = [make_memory(ANN, "b", text_key=b"t"), make_memory(ANN, "c", key="k")]
        assert list((await insert(store, *free)).inserted) == ["b", "c"]

    async def test_an_update_may_keep_its_own_text_and_key(self, store: MemoryStore) -> None:
        await insert(store, make_memory(ANN, "a", text_key=b"t", key="k"))
        after = make_memory(ANN, "a", text_key=b"t", key="k", version=1)
        await store.write(Changes(scope=ANN, updates=[after]))
        assert await one(store, ANN, "a") == after

    @pytest.mark.parametrize("filled", [False, True])
    async def test_an_update_of_an_unknown_id_is_not_found(self, store: MemoryStore, filled: bool) -> None:
        if filled:
            await insert(store, make_memory(ANN, "a"))
        before = await store.scan(ANN, 0)
        changes = Changes(
            scope=ANN, deletes=["a"], updates=[make_memory(ANN, "no")], inserts=[make_memory(ANN, "b")]
        )
        with pytest.raises(NotFound):
            await store.write(changes)
        assert list((await store.scan(ANN, 0)).rows) == list(before.rows)

    async def test_an_update_that_takes_anothers_text_or_key_conflicts(self, store: MemoryStore) -> None:
        a, b = make_memory(ANN, "a", text_key=b"t", key="k"), make_memory(ANN, "b", text_key=b"u")
        await insert(store, a, b)
        for wrong in (make_memory(ANN, "b", text_key=b"t"), make_memory(ANN, "b", key="k")):
            with pytest.raises(Conflict):
                await store.write(Changes(scope=ANN, updates=[wrong], inserts=[make_memory(ANN, "c")]))
        assert await store.get(ANN, ["a", "b", "c"]) == [a, b, None]

    async def test_an_update_of_what_has_changed_conflicts(self, store: MemoryStore) -> None:
        first = make_memory(ANN, "a")
        await insert(store, first)
        second, third = make_memory(ANN, "a", version=1), make_memory(ANN, "a", version=2)
        seen = {"a": first.item.updated_at}
        await store.write(Changes(scope=ANN, updates=[second], unchanged=seen))
        with pytest.raises(Conflict):
            await store.write(Changes(scope=ANN, updates=[third], unchanged=seen))
        assert await one(store, ANN, "a") == second

    async def test_of_many_updates_of_what_they_saw_one_wins(self, store: MemoryStore) -> None:
        first = make_memory(ANN, "a")
        await insert(store, first)
        seen = {"a": first.item.updated_at}
        changes = [
            Changes(scope=ANN, updates=[make_memory(ANN, "a", version=n)], unchanged=seen)
            for n in range(1, 33)
        ]
        results = await asyncio.gather(*map(store.write, changes), return_exceptions=True)
        assert sorted(type(result).__name__ for result in results) == ["Conflict"] * 31 + ["Written"]

    # All or nothing, in the order deletes, updates, inserts

    async def test_a_change_that_fails_leaves_no_trace(self, store: MemoryStore) -> None:
        await insert(store, *[make_memory(ANN, id, text_key=id.encode(), near="a") for id in "abc"])
        before = await store.scan(ANN, 0)
        held = await store.get(ANN, ["a", "b", "c"])
        changes = Changes(
            scope=ANN,
            deletes=["a"],
            updates=[make_memory(ANN, "b", text_key=b"x"), make_memory(ANN, "c", text_key=b"x")],
            inserts=[make_memory(ANN, "d")],
        )
        with pytest.raises(Conflict):
            await store.write(changes)
        assert list((await store.scan(ANN, 0)).rows) == list(before.rows)
        assert await store.get(ANN, ["a", "b", "c"]) == held
        assert list((await store.scan(ANN, before.position)).rows) == []

    async def test_a_delete_makes_room_in_the_same_change(self, store: MemoryStore) -> None:
        await insert(store, *[make_memory(ANN, id, text_key=id.encode(), key=id) for id in "abc"])
        changes = Changes(
            scope=ANN,
            deletes=["a", "c"],
            updates=[make_memory(ANN, "b", text_key=b"a", key="a", version=1)],
            inserts=[make_memory(ANN, "a", text_key=b"b", key="b"), make_memory(ANN, "d", text_key=b"c")],
        )
        written = await store.write(changes)
        assert _lists(written) == (["a", "c"], ["a", "d"])
        assert await everything(store, ANN) == ["b", "a", "d"]

    async def test_what_the_change_deletes_it_cannot_update(self, store: MemoryStore) -> None:
        await insert(store, make_memory(ANN, "a"))
        with pytest.raises(NotFound):
            await store.write(Changes(scope=ANN, deletes=["a"], updates=[make_memory(ANN, "a", version=1)]))
        assert await everything(store, ANN) == ["a"]

    async def test_an_empty_change_does_nothing(self, store: MemoryStore) -> None:
        assert _lists(await store.write(Changes(scope=ANN))) == ([], [])
        await insert(store, make_memory(ANN, "a"))
        before = await store.scan(ANN, 0)
        assert _lists(await store.write(Changes(scope=ANN))) == ([], [])
        assert (await store.scan(ANN, 0)).position == before.position

    # Deletes

    async def test_a_delete_of_unknown_ids_does_nothing(self, store: MemoryStore) -> None:
        assert list((await store.write(Changes(scope=ANN, deletes=["a"]))).deleted) == []
        await insert(store, make_memory(ANN, "a"))
        written = await store.write(Changes(scope=ANN, deletes=["b", "%", "a", "a", "\ud800", "*"]))
        assert list(written.deleted) == ["a"]
        assert list((await store.write(Changes(scope=ANN, deletes=["a"]))).deleted) == []

    async def test_del_2_what_was_forgotten_can_be_remembered_again(self, store: MemoryStore) -> None:
        for version in range(3):
            memory = make_memory(ANN, "a", text_key=b"t", key="k", version=version)
            assert list((await insert(store, memory)).inserted) == ["a"]
            assert await one(store, ANN, "a") == memory
            assert list((await store.write(Changes(scope=ANN, deletes=["a"]))).deleted) == ["a"]
            assert await one(store, ANN, "a") is None

    async def test_a_delete_clears_the_links_to_it(self, store: MemoryStore) -> None:
        linked = make_memory(ANN, "b", near="a", metadata={"big": 2**63, "near": "a"}, text_key=b"t")
        elsewhere = make_memory(BOB, "b", near="a")
        await insert(store, make_memory(ANN, "a"), linked, make_memory(ANN, "c", near="b"))
        await insert(store, elsewhere)
        before = await store.scan(ANN, 0)
        await store.write(Changes(scope=ANN, deletes=["a"]))
        assert await one(store, ANN, "b") == replace(linked, item=replace(linked.item, near=None))
        assert await one(store, BOB, "b") == elsewhere
        kept = await one(store, ANN, "c")
        assert kept is not None
        assert kept.item.near == "b"
        after = await store.scan(ANN, before.position)
        assert (list(after.rows), list(after.gone)) == ([], ["a"])

    async def test_a_delete_of_many_clears_all_links_to_them_and_no_other(self, store: MemoryStore) -> None:
        links = {"a": None, "b": "a", "c": "a", "d": "b", "e": "c", "f": "x", "x": "f"}
        await insert(store, *[make_memory(ANN, id, near=near) for id, near in links.items()])
        await store.write(Changes(scope=ANN, deletes=["a", "b", "x"]))
        kept = [memory for memory in await store.get(ANN, list("cdef")) if memory is not None]
        assert [memory.item.near for memory in kept] == [None, None, "c", None]

    # Scans

    async def test_a_scan_gives_the_oldest_change_first(self, store: MemoryStore) -> None:
        for id in "zay":
            await insert(store, make_memory(ANN, id))
        await store.write(Changes(scope=ANN, updates=[make_memory(ANN, "z", version=1)]))
        assert await everything(store, ANN) == ["a", "y", "z"]

    async def test_a_scan_since_a_position_gives_what_came_after(self, store: MemoryStore) -> None:
        await insert(store, *[make_memory(ANN, id) for id in "abcd"])
        seen = await store.scan(ANN, 0)
        new, changed = make_memory(ANN, "e"), make_memory(ANN, "b", version=1)
        await insert(store, new)
        await store.write(Changes(scope=ANN, updates=[changed], deletes=["c"]))
        scan = await store.scan(ANN, seen.position)
        assert not scan.reset
        assert list(scan.rows) == index_rows([new, changed])
        assert list(scan.gone) == ["c"]
        assert scan.position > seen.position

    async def test_nothing_new_is_nothing(self, store: MemoryStore) -> None:
        await insert(store, make_memory(ANN, "a"))
        seen = await store.scan(ANN, 0)
        await insert(store, make_memory(BOB, "b"))
        again = await store.scan(ANN, seen.position)
        assert (again.position, len(again.rows), len(again.gone), again.reset) == (seen.position, 0, 0, False)

    async def test_an_unknown_scope_is_empty(self, store: MemoryStore) -> None:
        scan = await store.scan(ANN, 0)
        assert (scan.position, len(scan.rows), len(scan.gone)) == (0, 0, 0)
        assert (await store.scan(ANN, 7)).reset

    async def test_a_position_that_was_never_given_starts_anew(self, store: MemoryStore) -> None:
        await insert(store, make_memory(ANN, "a"), make_memory(ANN, "b"))
        position = (await store.scan(ANN, 0)).position
        scan = await store.scan(ANN, position + 1_000)
        assert scan.reset
        assert [row.id for row in scan.rows] == ["a", "b"]

    @pytest.mark.parametrize("at_once", [True, False])
    async def test_who_is_far_behind_still_gets_the_truth(self, store: MemoryStore, at_once: bool) -> None:
        ids = [f"{n:04}" for n in range(1_200)]
        await insert(store, *[make_memory(ANN, id) for id in [*ids, "stays"]])
        follower = Follower()
        follower.follow(await store.scan(ANN, 0))
        if at_once:
            await store.write(Changes(scope=ANN, deletes=ids))
        else:
            await asyncio.gather(*(store.write(Changes(scope=ANN, deletes=[id])) for id in ids))
        await insert(store, make_memory(ANN, "new"))
        follower.follow(await store.scan(ANN, follower.position))
        assert list(follower.rows) == ["stays", "new"]

    async def test_a_scope_that_was_emptied_begins_anew_for_all(self, store: MemoryStore) -> None:
        follower, late = Follower(), Follower()
        for round in range(3):
            ids = [f"{round}{id}" for id in "abc"]
            await insert(store, *[make_memory(ANN, id) for id in ids])
            for reader in (follower, late) if round != 1 else (follower,):
                reader.follow(await store.scan(ANN, reader.position))
                assert list(reader.rows) == ids
            await store.write(Changes(scope=ANN, deletes=ids))
            if round == 1:
                follower.follow(await store.scan(ANN, follower.position))
                assert not follower.rows

    # Notes

    async def test_notes_come_back_as_they_were_sorted_by_name(self, store: MemoryStore) -> None:
        notes = {"b": b"", "a": bytes(range(256)), "é/\u2028 '": b"'\n", "ab": b"\xff" * 9, "A": b"x"}
        await put_notes(store, ANN, notes)
        assert list((await store.notes(ANN)).items()) == sorted(notes.items())
        assert list((await store.notes(ANN, "a")).items()) == [("a", notes["a"]), ("ab", notes["ab"])]

    async def test_the_longest_note_under_the_longest_name_comes_back(self, store: MemoryStore) -> None:
        notes = {"\U0001f9ed" * MAX_NOTE_NAME_CHARS: b"\x00\xff" * (MAX_NOTE_BYTES // 2)}
        await put_notes(store, ANN, notes)
        assert await store.notes(ANN) == notes

    async def test_a_thousand_notes_in_one_change(self, store: MemoryStore) -> None:
        notes = {f"{n:04}": b"%d" % n for n in range(1_000)}
        await put_notes(store, ANN, notes)
        assert list((await store.notes(ANN)).items()) == list(notes.items())
        assert len(await store.notes(ANN, "09")) == 100
        await put_notes(store, ANN, dict.fromkeys(notes))
        assert await store.notes(ANN) == {}

    async def test_signs_in_a_prefix_mean_themselves(self, store: MemoryStore) -> None:
        names = ["a_b", "axb", "a%b", "a*b", "A_b", "a[x]", "a\U0010ffffb", "a"]
        await put_notes(store, ANN, dict.fromkeys(names, b"1"))
        for prefix in ("a_", "a%", "a*", "A", "a[", "a\U0010ffff", "ax"):
            assert len(await store.notes(ANN, prefix)) == 1
        for prefix in ("b", "\ud800", "a\x00", "a_bc", "%", "_"):
            assert await store.notes(ANN, prefix) == {}
        assert len(await store.notes(ANN)) == len(names)

    async def test_a_note_is_replaced_and_removed_by_its_name(self, store: MemoryStore) -> None:
        await put_notes(store, ANN, {"a": b"1", "ab": b"2"})
        await put_notes(store, ANN, {"a": b"3", "c": None})
        assert await store.notes(ANN) == {"a": b"3", "ab": b"2"}
        await put_notes(store, ANN, {"a": None, "ab": b"2"})
        assert await store.notes(ANN) == {"ab": b"2"}

    async def test_notes_are_copied_on_their_way_in(self, store: MemoryStore) -> None:
        notes: dict[str, bytes | None] = {"a": b"1"}
        expected: dict[str, bytes | None] = {"a": None}
        writing = asyncio.ensure_future(store.write(Changes(scope=ANN, notes=notes, expected=expected)))
        await asyncio.sleep(0)
        notes["b"] = b"2"
        expected["c"] = b"3"
        await writing
        found = await store.notes(ANN)
        assert found == {"a": b"1"}
        found["d"] = b"4"
        assert await store.notes(ANN) == {"a": b"1"}

    async def test_notes_of_a_scope_are_never_seen_from_another(self, store: MemoryStore) -> None:
        scopes = [ANN, BOB, SHARED, OTHER_TENANT, Scope("acme", "ann2"), Scope("acm")]
        for scope in scopes:
            await put_notes(store, scope, {"a": str(scope).encode()})
        await put_notes(store, ANN, {"a": None})
        assert [await store.notes(scope) for scope in scopes] == [
            {},
            *({"a": str(scope).encode()} for scope in scopes[1:]),
        ]
        assert await store.notes(Scope("nobody")) == {}

    async def test_notes_are_no_change_that_a_scan_tells(self, store: MemoryStore) -> None:
        await put_notes(store, ANN, {"a": b"1"})
        first = await store.scan(ANN, 0)
        assert list(first.rows) == []
        await insert(store, make_memory(ANN, "m"))
        seen = await store.scan(ANN, first.position)
        assert [row.id for row in seen.rows] == ["m"]
        await put_notes(store, ANN, {"a": b"2", "b": b"3"})
        await put_notes(store, ANN, {"b": None})
        after = await store.scan(ANN, seen.position)
        assert (after.position, list(after.rows), list(after.gone)) == (seen.position, [], [])

    async def test_memories_and_notes_change_together_or_not_at_all(self, store: MemoryStore) -> None:
        a = make_memory(ANN, "a", text_key=b"t")
        written = await store.write(Changes(scope=ANN, inserts=[a], notes={"n": b"1"}))
        assert _lists(written) == ([], ["a"])
        wrong = [
            Changes(scope=ANN, deletes=["a"], updates=[make_memory(ANN, "no")], notes={"n": b"2"}),
            Changes(
                scope=ANN, updates=[make_memory(ANN, "a")], unchanged={"a": FAR}, notes={"n": None, "m": b""}
            ),
        ]
        for changes in wrong:
            with pytest.raises((NotFound, Conflict)):
                await store.write(changes)
        assert await store.notes(ANN) == {"n": b"1"}
        assert await one(store, ANN, "a") == a
        await store.write(Changes(scope=ANN, deletes=["a"], notes={"n": b"2"}))
        assert (await everything(store, ANN), await store.notes(ANN)) == ([], {"n": b"2"})

    async def test_a_change_is_made_where_the_notes_are_as_expected(self, store: MemoryStore) -> None:
        await store.write(Changes(scope=ANN, notes={"n": b"1"}, expected={"n": None, "other": None}))
        changes = Changes(
            scope=ANN, inserts=[make_memory(ANN, "a")], notes={"n": None}, expected={"n": b"1", "m": None}
        )
        await store.write(changes)
        assert (await everything(store, ANN), await store.notes(ANN)) == (["a"], {})

    @pytest.mark.parametrize("expected", [{"n": b"2"}, {"n": None}, {"n": b"1", "m": b""}, {"n": b"1\x00"}])
    async def test_where_a_note_is_not_as_expected_nothing_is_written(
        self, store: MemoryStore, expected: dict[str, bytes | None]
    ) -> None:
        a = make_memory(ANN, "a")
        await store.write(Changes(scope=ANN, inserts=[a], notes={"n": b"1"}))
        before = await store.scan(ANN, 0)
        changes = Changes(
            scope=ANN,
            deletes=["a"],
            inserts=[make_memory(ANN, "b")],
            notes={"n": b"3", "new": b""},
            expected=expected,
        )
        with pytest.raises(Conflict):
            await store.write(changes)
        assert await store.get(ANN, ["a", "b"]) == [a, None]
        assert await store.notes(ANN) == {"n": b"1"}
        assert (await store.scan(ANN, 0)).position == before.position

    async def test_an_unknown_scope_has_no_note_to_expect(self, store: MemoryStore) -> None:
        insertion = [make_memory(ANN, "a")]
        for updates in ((), [make_memory(ANN, "b")]):
            changes = Changes(scope=ANN, inserts=insertion, updates=updates, expected={"n": b""})
            with pytest.raises(Conflict):
                await store.write(changes)
        with pytest.raises(Conflict):
            await store.write(Changes(scope=ANN, expected={"n": b""}))
        assert (await store.scopes("acme"), await store.namespaces()) == ([], [])
        await store.write(Changes(scope=ANN, inserts=insertion, expected={"n": None}))
        assert await everything(store, ANN) == ["a"]

    async def test_of_many_who_expect_the_same_one_wins(self, store: MemoryStore) -> None:
        changes = [
            Changes(
                scope=ANN,
                inserts=[make_memory(ANN, f"{n}")],
                notes={"n": b"%d" % n},
                expected={"n": None},
            )
            for n in range(32)
        ]
        results = await asyncio.gather(*map(store.write, changes), return_exceptions=True)
        assert sorted(type(result).__name__ for result in results) == ["Conflict"] * 31 + ["Written"]
        (id,) = await everything(store, ANN)
        assert await store.notes(ANN) == {"n": id.encode()}

    # Whole

    @pytest.mark.parametrize("taken", ["id", "key", "text"])
    async def test_of_a_whole_change_nothing_is_written_where_a_place_is_taken(
        self, store: MemoryStore, taken: str
    ) -> None:
        a, b = make_memory(ANN, "a", text_key=b"t", key="k"), make_memory(ANN, "b")
        await insert(store, a, b)
        before = await store.scan(ANN, 0)
        wrong = make_memory(
            ANN,
            "a" if taken == "id" else "d",
            key="k" if taken == "key" else None,
            text_key=b"t" if taken == "text" else None,
        )
        changes = Changes(
            scope=ANN, deletes=["b"], inserts=[make_memory(ANN, "c"), wrong], notes={"n": b"1"}, whole=True
        )
        with pytest.raises(Conflict) as conflict:
            await store.write(changes)
        assert conflict.value.taken == {wrong.item.id: "a"}
        assert await store.get(ANN, ["a", "b", "c", "d"]) == [a, b, None, None]
        assert await store.notes(ANN) == {}
        assert (await store.scan(ANN, 0)).position == before.position
        written = await store.write(replace(changes, whole=False))
        assert _lists(written) == (["b"], ["c", "a"])

    async def test_a_whole_change_may_not_say_the_same_twice(self, store: MemoryStore) -> None:
        same = [make_memory(ANN, id, text_key=b"t") for id in "ab"]
        with pytest.raises(Conflict) as conflict:
            await store.write(Changes(scope=ANN, inserts=same, whole=True))
        assert conflict.value.taken == {"b": "a"}
        assert (await store.scopes("acme"), await everything(store, ANN)) == ([], [])

    async def test_a_whole_change_takes_the_places_that_it_makes(self, store: MemoryStore) -> None:
        await insert(store, *[make_memory(ANN, id, text_key=id.encode(), key=id) for id in "ab"])
        changes = Changes(
            scope=ANN,
            deletes=["a"],
            updates=[make_memory(ANN, "b", text_key=b"x", version=1)],
            inserts=[make_memory(ANN, "a", text_key=b"b", key="b"), make_memory(ANN, "c", text_key=b"a")],
            whole=True,
        )
        assert _lists(await store.write(changes)) == (["a"], ["a", "c"])
        taken_by_the_update = [make_memory(ANN, "d", text_key=b"y")]
        update = [make_memory(ANN, "b", text_key=b"y", version=2)]
        with pytest.raises(Conflict):
            await store.write(Changes(scope=ANN, updates=update, inserts=taken_by_the_update, whole=True))
        assert await everything(store, ANN) == ["b", "a", "c"]

    # Scopes

    async def test_a_scope_is_there_as_long_as_it_holds_a_memory_or_a_note(self, store: MemoryStore) -> None:
        await put_notes(store, ANN, {"n": None})
        assert (await store.namespaces(), await store.scopes("acme")) == ([], [])
        await put_notes(store, ANN, {"n": b"", "m": b"1"})
        await put_notes(store, OTHER_TENANT, {"n": b""})
        assert (await store.namespaces(), await store.scopes("acme")) == (["acme", "zeta"], [ANN])
        await insert(store, make_memory(ANN, "a"))
        await put_notes(store, ANN, {"n": None, "m": None})
        assert await store.scopes("acme") == [ANN]
        await put_notes(store, ANN, {"n": b""})
        await store.write(Changes(scope=ANN, deletes=["a"]))
        assert await store.scopes("acme") == [ANN]
        await put_notes(store, ANN, {"n": None})
        assert (await store.namespaces(), await store.scopes("acme")) == (["zeta"], [])

    async def test_a_position_of_a_scope_that_was_dropped_never_hides_what_is_new(
        self, store: MemoryStore
    ) -> None:
        await put_notes(store, ANN, {"n": b"1"})
        await insert(store, *[make_memory(ANN, id) for id in "abc"])
        await store.write(Changes(scope=ANN, deletes=["a", "b", "c"]))
        seen = (await store.scan(ANN, 0)).position
        await put_notes(store, ANN, {"n": None})
        await put_notes(store, ANN, {"n": b"2"})
        for n in range(8):
            await insert(store, make_memory(ANN, f"{n}"))
            follower = Follower()
            follower.position = seen
            follower.follow(await store.scan(ANN, seen))
            assert list(follower.rows) == [f"{old}" for old in range(n + 1)]

    async def test_one_change_erases_all_of_a_scope(self, store: MemoryStore) -> None:
        for scope in (ANN, BOB):
            memories = [make_memory(scope, id, near="a") for id in "abc"]
            await store.write(Changes(scope=scope, inserts=memories, notes={"n": b"1", "m": b"2"}))
        changes = Changes(
            scope=ANN, deletes=await everything(store, ANN), notes=dict.fromkeys(await store.notes(ANN))
        )
        assert list((await store.write(changes)).deleted) == ["a", "b", "c"]
        assert await store.scopes("acme") == [BOB]
        assert (await everything(store, ANN), await store.notes(ANN)) == ([], {})
        assert len(await everything(store, BOB)) == 3
        assert len(await store.notes(BOB)) == 2

    async def test_who_follows_a_scope_that_only_its_notes_keep_misses_nothing(
        self, store: MemoryStore
    ) -> None:
        follower, late = Follower(), Follower()
        for round in range(3):
            ids = [f"{round}{id}" for id in "abc"]
            await store.write(
                Changes(scope=ANN, inserts=[make_memory(ANN, id) for id in ids], notes={"n": b"1"})
            )
            for reader in (follower, late) if round != 1 else (follower,):
                reader.follow(await store.scan(ANN, reader.position))
                assert list(reader.rows) == ids
            await store.write(Changes(scope=ANN, deletes=ids))
            if round != 2:
                follower.follow(await store.scan(ANN, follower.position))
                assert not follower.rows
            await put_notes(store, ANN, {"n": None if round else b"2"})

    async def test_scopes_and_namespaces_are_those_that_hold_memories(self, store: MemoryStore) -> None:
        assert (await store.namespaces(), await store.scopes("acme")) == ([], [])
        for scope in (OTHER_TENANT, BOB, SHARED, ANN):
            await insert(store, make_memory(scope, "a"))
        assert await store.namespaces() == ["acme", "zeta"]
        assert await store.scopes("acme") == [SHARED, ANN, BOB]
        assert await store.scopes("acm") == []
        await store.write(Changes(scope=ANN, deletes=["a"]))
        await store.write(Changes(scope=OTHER_TENANT, deletes=["a"]))
        assert await store.scopes("acme") == [SHARED, BOB]
        assert await store.namespaces() == ["acme"]

    async def test_a_scope_never_sees_another(self, store: MemoryStore) -> None:
        scopes = [ANN, BOB, SHARED, OTHER_TENANT, Scope("zeta")]
        for scope in scopes:
            memory = make_memory(scope, "a", text_key=b"t", key="k", content=f"of {scope}")
            assert list((await insert(store, memory)).inserted) == ["a"]
        for scope in scopes:
            found = await one(store, scope, "a")
            assert found is not None
            assert found.item.scope == scope
            assert found.item.content == f"of {scope}"
        await store.write(Changes(scope=SHARED, updates=[make_memory(SHARED, "a", version=1)]))
        await store.write(Changes(scope=ANN, deletes=["a"]))
        assert [len(await everything(store, scope)) for scope in scopes] == [0, 1, 1, 1, 1]
        found = await one(store, BOB, "a")
        assert found is not None
        assert found.item.content == f"of {BOB}"

    @pytest.mark.parametrize("as_user", [True, False])
    async def test_ten_1_signs_in_names_mean_themselves(self, store: MemoryStore, as_user: bool) -> None:
        names = [
            "ann_lee",
            "annxlee",
            "ann-lee",
            "ANN_LEE",
            "100%",
            "100x",
            "a*",
            "ab",
            "a[bc]",
            "a?c",
            "a'b",
        ]
        names += ["a\\b"] if as_user else []
        scopes = [Scope("acme", name) if as_user else Scope(name) for name in names]
        for scope in scopes:
            await insert(store, make_memory(scope, f"of {scope}", text_key=b"t"))
        assert len(await store.scopes("acme")) == (len(names) if as_user else 0)
        for left, scope in enumerate(scopes, start=1):
            assert await everything(store, scope) == [f"of {scope}"]
            await store.write(Changes(scope=scope, deletes=[f"of {scope}"]))
            counts = [len(await everything(store, other)) for other in scopes]
            assert counts == [0] * left + [1] * (len(scopes) - left)

    async def test_ten_2_a_name_that_starts_like_another_is_another(self, store: MemoryStore) -> None:
        scopes = [
            Scope("org-nova"),
            Scope("org-nova2"),
            Scope("org-nova-team"),
            Scope("org-novae"),
            Scope("org", "nova"),
        ]
        for scope in scopes:
            await insert(store, make_memory(scope, "a"))
        await store.write(Changes(scope=scopes[0], deletes=["a"]))
        assert [len(await everything(store, scope)) for scope in scopes] == [0, 1, 1, 1, 1]

    async def test_ten_3_deleting_all_of_one_user_leaves_the_others(self, store: MemoryStore) -> None:
        sizes = {ANN: 3, BOB: 2, SHARED: 1}
        for scope, size in sizes.items():
            await insert(store, *[make_memory(scope, f"{n}") for n in range(size)])
        await store.write(Changes(scope=ANN, deletes=await everything(store, ANN)))
        assert [len(await everything(store, scope)) for scope in sizes] == [0, 2, 1]
        await store.write(Changes(scope=Scope("acme", "nobody"), deletes=["0", "1", "2"]))
        assert [len(await everything(store, scope)) for scope in sizes] == [0, 2, 1]

    # Many at once

    async def test_sixty_four_writers_at_once_lose_nothing(self, store: MemoryStore) -> None:
        async def work(n: int) -> None:
            for step in range(4):
                id = f"{n:02}-{step}"
                assert list((await insert(store, make_memory(ANN, id, text_key=id.encode()))).inserted) == [
                    id
                ]
                assert await one(store, ANN, id) is not None

        await asyncio.gather(*map(work, range(64)))
        assert len(set(await everything(store, ANN))) == 256

    async def test_of_equal_inserts_at_once_one_wins(self, store: MemoryStore) -> None:
        writes = [insert(store, make_memory(ANN, f"{n}", text_key=b"t")) for n in range(64)]
        winners = {id for written in await asyncio.gather(*writes) for id in written.inserted}
        assert list(winners) == await everything(store, ANN)

    async def test_each_writer_gets_its_own_error(self, store: MemoryStore) -> None:
        async def work(n: int) -> None:
            if n % 2:
                with pytest.raises(NotFound, match=f"no-{n}"):
                    await store.write(Changes(scope=ANN, updates=[make_memory(ANN, f"no-{n}")]))
            else:
                await insert(store, make_memory(ANN, f"{n}"))

        await asyncio.gather(*map(work, range(64)))
        assert len(await everything(store, ANN)) == 32

    async def test_a_cancelled_write_is_whole_or_absent(self, store: MemoryStore) -> None:
        tasks: list[asyncio.Task[Written]] = []
        for n in range(40):
            memories = [make_memory(ANN, f"{n}-{part}") for part in range(5)]
            tasks.append(asyncio.create_task(insert(store, *memories)))
            await asyncio.sleep(0)
            if n % 2:
                tasks[-1].cancel()
        results = await asyncio.gather(*tasks, return_exceptions=True)
        await insert(store, make_memory(ANN, "last-0"))
        ids = await everything(store, ANN)
        for n, result in enumerate(results):
            parts = sum(id.startswith(f"{n}-") for id in ids)
            assert parts in ({0, 5} if isinstance(result, asyncio.CancelledError) else {5})

    async def test_it_serves_several_event_loops_at_once(self, store: MemoryStore) -> None:
        async def work(n: int) -> None:
            for step in range(5):
                await insert(store, make_memory(ANN, f"{n}-{step}"))
                assert f"{n}-{step}" in await everything(store, ANN)

        errors = await asyncio.gather(*(in_own_loop(work(n)) for n in range(8)))
        assert errors == [None] * 8
        assert len(await everything(store, ANN)) == 40

    # Life

    async def test_opening_twice_is_harmless(self, store: MemoryStore) -> None:
        await insert(store, make_memory(ANN, "a"))
        await asyncio.gather(store.open(), store.open())
        assert await everything(store, ANN) == ["a"]

    async def test_after_close_everything_says_so(self, store: MemoryStore) -> None:
        await insert(store, make_memory(ANN, "a"))
        await store.close()
        await store.close()
        calls = [
            store.open(),
            store.write(Changes(scope=ANN, deletes=["a"])),
            store.get(ANN, ["a"]),
            store.scan(ANN, 0),
            store.notes(ANN),
            store.scopes("acme"),
            store.namespaces(),
        ]
        for call in calls:
            with pytest.raises(StoreClosed):
                await call

    async def test_closing_from_another_thread_finishes_what_was_begun(self, store: MemoryStore) -> None:
        writing = asyncio.create_task(insert(store, make_memory(ANN, "a")))
        await asyncio.sleep(0)
        assert await in_own_loop(store.close()) is None
        with contextlib.suppress(StoreClosed):  # then it had not begun
            assert list((await writing).inserted) == ["a"]

    async def test_the_url_names_the_store(self, store: MemoryStore) -> None:
        assert "://" in store.url

    async def test_what_was_written_is_there_after_reopening(self, store: MemoryStore) -> None:
        memories = [
            make_memory(scope, id, text_key=id.encode(), near="a", vector=b"1234", metadata={"\u2028": 2**63})
            for scope in (ANN, SHARED)
            for id in "abc"
        ]
        await insert(store, *memories[:3])
        await insert(store, *memories[3:])
        await store.write(Changes(scope=ANN, deletes=["a"], updates=[make_memory(ANN, "b", version=1)]))
        scopes = (ANN, SHARED)
        held = [await store.get(scope, ["a", "b", "c"]) for scope in scopes]
        followers = [Follower() for _ in scopes]
        for scope, follower in zip(scopes, followers, strict=True):
            follower.follow(await store.scan(scope, 0))
        again = await self.reopen(store)
        if again is None:
            pytest.skip("nothing survives a close here")
        assert [await again.get(scope, ["a", "b", "c"]) for scope in scopes] == held
        assert await everything(again, ANN) == ["c", "b"]
        await again.write(Changes(scope=ANN, deletes=["c"], inserts=[make_memory(ANN, "d", text_key=b"d")]))
        for scope, follower in zip(scopes, followers, strict=True):
            follower.follow(await again.scan(scope, follower.position))
        assert [list(follower.rows) for follower in followers] == [["b", "d"], ["a", "b", "c"]]
        await again.close()

    async def test_notes_are_there_after_reopening(self, store: MemoryStore) -> None:
        kept = {"a": bytes(range(256)), "é": b"", "long": b"x" * 100_000}
        await store.write(
            Changes(scope=ANN, inserts=[make_memory(ANN, "m"), make_memory(ANN, "o")], notes=kept)
        )
        await put_notes(store, SHARED, {"only": b"1", "gone": b"2"})
        await put_notes(store, SHARED, {"only": b"3", "gone": None})
        await put_notes(store, BOB, {"gone": b"2"})
        await put_notes(store, BOB, {"gone": None})
        again = await self.reopen(store)
        if again is None:
            pytest.skip("nothing survives a close here")
        assert await again.notes(ANN) == kept
        assert await again.notes(SHARED) == {"only": b"3"}
        assert await again.scopes("acme") == [SHARED, ANN]
        assert await everything(again, ANN) == ["m", "o"]
        await again.write(Changes(scope=ANN, deletes=["m", "o"], expected=kept, notes={"a": None}))
        assert list(await again.notes(ANN)) == ["long", "é"]
        await again.close()

    # Everything together, against the model

    @settings(
        max_examples=40,
        deadline=None,
        suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
    )
    @given(data=st.data())
    async def test_it_does_what_the_model_does(self, store: MemoryStore, data: st.DataObject) -> None:
        namespace = f"model-{next(_namespaces)}"
        scopes = [Scope(namespace), Scope(namespace, "ann")]
        models = {scope: ScopeModel() for scope in scopes}
        followers = {scope: Follower() for scope in scopes}
        for version in range(data.draw(st.integers(1, 12), label="changes")):
            changes = data.draw(_changes(scopes, version))
            expected = _outcome_of_model(models[changes.scope], changes)
            actual = await _outcome(store.write(changes))
            assert actual == expected
            for scope in scopes if data.draw(st.booleans()) else scopes[:1]:
                await _check_scope(store, scope, models[scope], followers[scope])
        for scope in scopes:
            await _check_scope(store, scope, models[scope], followers[scope])


def _lists(written: Written) -> tuple[list[str], list[str]]:
    return list(written.deleted), list(written.inserted)


async def in_own_loop(work: Coroutine[Any, Any, None]) -> BaseException | None:
    """Run it in an event loop of its own in a thread of its own; what it raised."""
    failed: list[BaseException] = []
    done = asyncio.Event()
    loop = asyncio.get_running_loop()

    def run() -> None:
        try:
            asyncio.run(work)
        except BaseException as error:  # noqa: BLE001  (handed to the test)
            failed.append(error)
        loop.call_soon_threadsafe(done.set)

    thread = threading.Thread(target=run)
    thread.start()
    await done.wait()
    thread.join()
    return failed[0] if failed else None


_IDS = st.sampled_from("abcdef")
_NAMES = st.sampled_from(["n", "m"])
_NOTES = st.sampled_from([None, b"", b"1"])


@st.composite
def _memories(draw: st.DrawFn, scope: Scope, version: int) -> StoredMemory:
    return make_memory(
        scope,
        draw(_IDS),
        text_key=draw(st.sampled_from([None, None, b"t", b"u", b"v"])),
        key=draw(st.sampled_from([None, None, None, "k", "l"])),
        kind=draw(st.sampled_from([MemoryKind.SEMANTIC, MemoryKind.EPISODIC])),
        near=draw(st.none() | _IDS),
        vector=draw(st.none() | st.binary(min_size=4, max_size=4)),
        version=version,
    )


@st.composite
def _changes(draw: st.DrawFn, scopes: list[Scope], version: int) -> Changes:
    scope = draw(st.sampled_from(scopes))
    times = st.integers(0, version).map(lambda n: make_memory(scope, "a", version=n).item.updated_at)
    memories = _memories(scope, version)
    return Changes(
        scope=scope,
        deletes=draw(st.lists(_IDS, max_size=3)),
        updates=draw(st.lists(memories, max_size=2)),
        inserts=draw(st.lists(memories, max_size=4)),
        unchanged=draw(st.dictionaries(_IDS, times, max_size=1)),
        notes=draw(st.dictionaries(_NAMES, _NOTES, max_size=2)),
        expected=draw(st.dictionaries(_NAMES, _NOTES, max_size=draw(st.integers(0, 1)))),
        whole=draw(st.booleans()),
    )


def _outcome_of_model(model: ScopeModel, changes: Changes) -> Any:
    try:
        written = model.write(changes)
    except (NotFound, Conflict) as error:
        return type(error)
    return _lists(written)


async def _outcome(writing: Coroutine[Any, Any, Written]) -> Any:
    try:
        written = await writing
    except (NotFound, Conflict) as error:
        return type(error)
    return _lists(written)


async def _check_scope(store: MemoryStore, scope: Scope, model: ScopeModel, follower: Follower) -> None:
    ids = list("abcdef")
    assert await store.get(scope, ids) == [model.memories.get(id) for id in ids]
    assert list((await store.notes(scope)).items()) == sorted(model.notes.items())
    held = bool(model.memories or model.notes)
    assert (scope in await store.scopes(scope.namespace)) is held
    rows = index_rows(model.memories.values())
    assert list((await store.scan(scope, 0)).rows) == rows
    follower.follow(await store.scan(scope, follower.position))
    assert list(follower.rows.values()) == rows
