"""The laws of `ThreadStore` as tests. Subclass `ThreadStoreSuite` in a pytest module and give it a `store`.

Example:
    class TestMyThreads(ThreadStoreSuite):
        @pytest.fixture
        async def store(self):
            store = MyThreadStore(...)
            yield store
            await store.close()

Needs pytest, pytest-asyncio (in auto mode) and hypothesis: `pip install 'retentive[test]'`.
"""

import asyncio
import contextlib
from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from retentive.checks import Json
from retentive.errors import Conflict, InvalidInput, StoreClosed
from retentive.stores.base import LeasesThreads, LogRead, NewTurn, Redacts, ThreadStore
from retentive.stores.wrapped import able
from retentive.types import REDACTED, REDACTED_AT, Turn

NOON = datetime(2026, 3, 8, 12, tzinfo=UTC)
HARD_TEXTS = [
    "two\nlines\r\nand a tab\t",
    'quotes " and \\ and { } and }{',
    "line separators \u2028 \u2029 \x85 \x0b \x0c",
    "family 👩‍👩‍👧‍👦, crab 🦀, e\u0301, 東京, ไทย, עברית",
    "x" * 100_000,
]
HARD_METADATA: dict[str, Json] = {
    "big": 2**63,
    "deep": {"list": [1, 2.5, None, True, {"": "🦀\u2028"}]},
    "more": 3,
    "seq": -1,
}

_operations = st.lists(
    st.tuples(
        st.sampled_from(["append", "append", "append", "delete"]),
        st.sampled_from(["a", "A", "b"]),
        st.sampled_from(["t", "T", "tt"]),
        st.lists(st.sampled_from(["one", "two\n", "🦀"]), min_size=1, max_size=3),
    ),
    max_size=12,
)


def new_turn(
    content: str, role: str = "user", metadata: Mapping[str, Json] | None = None, *, at: datetime = NOON
) -> NewTurn:
    """A turn to append, with an id that is different each time."""
    return NewTurn(id=f"turn-{next(_numbers)}", role=role, content=content, at=at, metadata=metadata or {})


_numbers = iter(range(1, 1 << 60))


def contents(read: LogRead) -> list[str]:
    """What was said, in order."""
    return [turn.content for turn in read.turns]


def once(content: str, id: str) -> NewTurn:
    """A turn that is to be there once."""
    return replace(new_turn(content), id=id, once=True)


def _redacting(store: ThreadStore) -> Redacts:
    redacts = able(store, Redacts)
    if redacts is None:
        pytest.skip("this store redacts no turns")
    return redacts


class ThreadStoreSuite:
    """Every law of `ThreadStore`. Each test has an empty store of its own."""

    @pytest.fixture
    def store(self) -> ThreadStore:
        """An empty store; override this."""
        raise NotImplementedError

    async def test_an_unknown_thread_has_no_turns(self, store: ThreadStore) -> None:
        """And reading it does not make it."""
        assert await store.turns("ns", "t") == LogRead(turns=(), position=0)
        assert await store.threads("ns") == []
        assert await store.namespaces() == []

    async def test_what_was_appended_is_read_back_whole(self, store: ThreadStore) -> None:
        """Every field, and the numbers count from 1."""
        new = [
            new_turn("hello", metadata={"n": [1]}),
            new_turn("hi", "assistant", at=NOON.replace(microsecond=123456)),
        ]
        await store.append("ns", "t", new, 0)
        read = await store.turns("ns", "t")
        assert [(t.seq, t.id, t.role, t.content, t.at, dict(t.metadata)) for t in read.turns] == [
            (seq, n.id, n.role, n.content, n.at, dict(n.metadata)) for seq, n in enumerate(new, 1)
        ]
        assert all(turn.at.utcoffset() is not None for turn in read.turns)
        assert read.position == 2
        assert not read.damage

    async def test_append_gives_what_turns_gives(self, store: ThreadStore) -> None:
        """The same values, read or appended."""
        given_back = await store.append("ns", "t", [new_turn("a", metadata={"x": {"y": [1]}})], 0)
        assert given_back == await store.turns("ns", "t")

    async def test_append_gives_the_turns_of_others_first(self, store: ThreadStore) -> None:
        """And only those after the position."""
        first = await store.append("ns", "t", [new_turn("mine")], 0)
        await store.append("ns", "t", [new_turn("theirs")], 0)
        read = await store.append("ns", "t", [new_turn("mine again")], first.position)
        assert contents(read) == ["theirs", "mine again"]
        assert [turn.seq for turn in read.turns] == [2, 3]
        assert read.position == 3

    async def test_a_position_goes_on_where_it_was(self, store: ThreadStore) -> None:
        """Any number of a turn is a position."""
        await store.append("ns", "t", [new_turn(str(n)) for n in range(1, 6)], 0)
        for since in range(6):
            read = await store.turns("ns", "t", since)
            assert contents(read) == [str(n) for n in range(since + 1, 6)]
            assert read.position == 5

    async def test_appending_nothing_changes_nothing(self, store: ThreadStore) -> None:
        """It reads."""
        await store.append("ns", "t", [], 0)
        assert await store.threads("ns") == []
        await store.append("ns", "t", [new_turn("a")], 0)
        assert contents(await store.append("ns", "t", [], 0)) == ["a"]

    async def test_order_is_that_of_numbers_whatever_the_clock_says(self, store: ThreadStore) -> None:
        """Equal and falling times change nothing."""
        for n in range(20):
            await store.append("ns", "t", [new_turn(str(n), at=NOON.replace(year=2026 - n % 3))], 0)
        for _ in range(3):
            assert contents(await store.turns("ns", "t")) == [str(n) for n in range(20)]

    @pytest.mark.parametrize("text", HARD_TEXTS, ids=range(len(HARD_TEXTS)))
    async def test_every_text_comes_back_exactly(self, store: ThreadStore, text: str) -> None:
        """Also as a role's or metadata's text."""
        await store.append("ns", "t", [new_turn(text, metadata={"text": text}), new_turn("next")], 0)
        read = await store.turns("ns", "t")
        assert contents(read) == [text, "next"]
        assert read.turns[0].metadata == {"text": text}

    async def test_metadata_comes_back_exactly(self, store: ThreadStore) -> None:
        """Numbers keep their type and size, names mean nothing to the store."""
        await store.append("ns", "t", [new_turn("a", metadata=HARD_METADATA), new_turn("b")], 0)
        read = await store.turns("ns", "t")
        assert dict(read.turns[0].metadata) == HARD_METADATA
        assert [turn.seq for turn in read.turns] == [1, 2]

    async def test_nobody_changes_what_is_kept_through_an_alias(self, store: ThreadStore) -> None:
        """Neither through what was passed nor through what was given."""
        inner: list[Json] = ["a"]
        given_back = await store.append("ns", "t", [new_turn("x", metadata={"tags": inner})], 0)
        inner.append("b")
        for read in (given_back, await store.turns("ns", "t")):
            tags: Any = read.turns[0].metadata["tags"]
            with contextlib.suppress(TypeError):
                tags.append("c")
            with contextlib.suppress(TypeError):
                read.turns[0].metadata["more"] = 1  # type: ignore[index]  # pyright: ignore
        assert (await store.turns("ns", "t")).turns[0].metadata == {"tags": ["a"]}

    async def test_no_thread_sees_another(self, store: ThreadStore) -> None:
        """Names that begin alike, look like patterns, or differ by case or Unicode form."""
        names = [
            "org",
            "org2",
            "ORG",
            "org_",
            "orgx",
            "o%",
            "*",
            "a[bc]",
            "stra\u00dfe",
            "strasse",
            "é",
            "e\u0301",
        ]
        for namespace in names:
            for thread in names:
                await store.append(namespace, thread, [new_turn(f"{namespace}/{thread}")], 0)
        assert await store.namespaces() == sorted(names)
        for namespace in names:
            assert await store.threads(namespace) == sorted(names)
            for thread in names:
                assert contents(await store.turns(namespace, thread)) == [f"{namespace}/{thread}"]
        assert await store.delete("org", "org")
        assert await store.threads("org") == sorted(set(names) - {"org"})
        assert await store.threads("org2") == sorted(names)

    @pytest.mark.parametrize("bad", ["", " ", ".", "..", "a/b", "a\\b", "a\x00b", "con", "x" * 300])
    async def test_a_name_that_is_not_plain_is_refused(self, store: ThreadStore, bad: str) -> None:
        """As a thread and as a namespace, by every verb."""
        for namespace, thread in ((bad, "t"), ("ns", bad)):
            with pytest.raises(InvalidInput):
                await store.append(namespace, thread, [new_turn("a")], 0)
            with pytest.raises(InvalidInput):
                await store.turns(namespace, thread)
            with pytest.raises(InvalidInput):
                await store.delete(namespace, thread)
        with pytest.raises(InvalidInput):
            await store.threads(bad)

    async def test_delete_removes_the_thread_and_says_whether_there_was_one(self, store: ThreadStore) -> None:
        """A new one of that name begins at 1."""
        assert not await store.delete("ns", "t")
        await store.append("ns", "t", [new_turn("a"), new_turn("b")], 0)
        assert await store.delete("ns", "t")
        assert not await store.delete("ns", "t")
        assert await store.threads("ns") == []
        assert await store.namespaces() == []
        assert (await store.append("ns", "t", [new_turn("c")], 0)).turns[0].seq == 1

    async def test_an_append_after_what_is_gone_is_refused(self, store: ThreadStore) -> None:
        """Else half a conversation would rise from the dead."""
        position = (await store.append("ns", "t", [new_turn("a"), new_turn("b")], 0)).position
        await store.delete("ns", "t")
        with pytest.raises(Conflict):
            await store.append("ns", "t", [new_turn("c")], position)
        assert await store.turns("ns", "t") == LogRead(turns=(), position=0)
        assert await store.threads("ns") == []

    async def test_a_big_batch_is_kept_whole(self, store: ThreadStore) -> None:
        """5,000 turns at once."""
        await store.append("ns", "t", [new_turn(f"turn {n}") for n in range(5_000)], 0)
        read = await store.turns("ns", "t")
        assert contents(read) == [f"turn {n}" for n in range(5_000)]
        assert [turn.seq for turn in read.turns] == list(range(1, 5_001))

    async def test_many_at_once_are_numbered_without_holes_in_call_order(self, store: ThreadStore) -> None:
        """64 tasks on one thread, 16 on others; each answer ends with what it appended."""
        mine = [store.append("ns", "t", [new_turn(f"{n}a"), new_turn(f"{n}b")], 0) for n in range(64)]
        others = [store.append("ns", f"other-{n}", [new_turn("x")], 0) for n in range(16)]
        reads = (await asyncio.gather(*mine, *others))[:64]
        read = await store.turns("ns", "t")
        assert [turn.seq for turn in read.turns] == list(range(1, 129))
        assert contents(read) == [f"{n}{half}" for n in range(64) for half in "ab"]
        for n, answer in enumerate(reads):
            assert contents(answer)[-2:] == [f"{n}a", f"{n}b"]
            assert answer.position == answer.turns[-1].seq == 2 * n + 2

    async def test_a_cancelled_append_is_there_wholly_or_not_at_all(self, store: ThreadStore) -> None:
        """And the next one goes well."""
        for n in range(30):
            task = asyncio.create_task(
                store.append("ns", "t", [new_turn(f"{n}a"), new_turn(f"{n}b"), new_turn(f"{n}c")], 0)
            )
            for _ in range(n % 4):
                await asyncio.sleep(0)
            task.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await task
        await store.append("ns", "t", [new_turn("end")], 0)
        said = contents(await store.turns("ns", "t"))
        assert said.pop() == "end"
        groups = sorted({int(text[:-1]) for text in said})
        assert said == [f"{n}{part}" for n in groups for part in "abc"]

    async def test_a_lease_is_held_by_one_at_a_time(self, store: ThreadStore) -> None:
        """Where the store leases at all: others wait, or are told; other threads, and appends, go on."""
        if not isinstance(store, LeasesThreads):
            pytest.skip("this store leases no threads; retentive.threads.lease sees to one process")
        async with store.lease("ns", "t", 1):
            with pytest.raises(Conflict, match="'t'"):
                async with store.lease("ns", "t", 0):
                    pass
            async with store.lease("ns", "other", 0), store.lease("ns2", "t", 0):
                await store.append("ns", "t", [new_turn("a")], 0)
        async with store.lease("ns", "t", 0):
            pass

    async def test_a_lease_is_given_on_and_never_shared(self, store: ThreadStore) -> None:
        """Also after an error, and past those who gave up waiting."""
        if not isinstance(store, LeasesThreads):
            pytest.skip("this store leases no threads; retentive.threads.lease sees to one process")
        holders, most = 0, 0

        async def hold(number: int) -> None:
            nonlocal holders, most
            async with store.lease("ns", "t", 30):
                holders += 1
                most = max(most, holders)
                await asyncio.sleep(0)
                holders -= 1
                if number % 3 == 0:
                    raise ValueError

        tasks = [asyncio.create_task(hold(number)) for number in range(12)]
        await asyncio.sleep(0)
        tasks[5].cancel()
        await asyncio.gather(*tasks, return_exceptions=True)
        assert (holders, most) == (0, 1)

    async def test_deleting_a_thread_does_not_take_a_lease_away(self, store: ThreadStore) -> None:
        """Else two runs would hold it."""
        if not isinstance(store, LeasesThreads):
            pytest.skip("this store leases no threads; retentive.threads.lease sees to one process")
        await store.append("ns", "t", [new_turn("a")], 0)
        async with store.lease("ns", "t", 0):
            await store.delete("ns", "t")
            with pytest.raises(Conflict):
                async with store.lease("ns", "t", 0):
                    pass
        await store.append("ns", "t", [new_turn("a")], 0)
        assert await store.delete("ns", "t")
        assert await store.threads("ns") == []

    async def test_a_redacted_turn_keeps_its_number_and_nothing_that_was_said(
        self, store: ThreadStore
    ) -> None:
        """And the others, of its group too, stay as they are."""
        redacts = _redacting(store)
        said = [new_turn(text, "assistant", {"user_id": text}) for text in ("one", "two\n", "three")]
        await store.append("ns", "t", [new_turn("zero")], 0)
        before = (await store.append("ns", "t", said, 1)).turns
        await store.append("ns", "T", [new_turn("two\n")], 0)
        assert await redacts.redact("ns", "t", [3, 9], NOON) == [before[1]]
        read = await store.turns("ns", "t")
        assert contents(read) == ["zero", "one", REDACTED, "three"]
        assert [turn.is_redacted for turn in read.turns] == [False, False, True, False]
        assert (read.turns[1], read.turns[3]) == (before[0], before[2])
        left = read.turns[2]
        assert (left.seq, left.id, left.role, left.at) == (3, before[1].id, "assistant", NOON)
        assert left.metadata == {REDACTED_AT: "2026-03-08T12:00:00.000000Z"}
        assert contents(await store.turns("ns", "T")) == ["two\n"]

    async def test_what_was_redacted_or_is_unknown_is_passed_over(self, store: ThreadStore) -> None:
        """So a second call changes nothing, and no thread comes to be."""
        redacts = _redacting(store)
        await store.append("ns", "t", [new_turn("a"), new_turn("b")], 0)
        await redacts.redact("ns", "t", [1], NOON)
        before = await store.turns("ns", "t")
        for seqs in ([1], [0, 3, -1], []):
            assert await redacts.redact("ns", "t", seqs, NOON.replace(hour=13)) == []
        assert await store.turns("ns", "t") == before
        assert await redacts.redact("ns", "unknown", [1], NOON) == []
        assert await store.threads("ns") == ["t"]

    async def test_who_read_before_a_redaction_appends_and_is_told(self, store: ThreadStore) -> None:
        """Positions stay good, and the count of redactions says that earlier turns are to be read anew."""
        redacts = _redacting(store)
        seen = await store.append("ns", "t", [new_turn("a" * 500), new_turn("b")], 0)
        assert seen.redactions == 0
        for count, seqs in enumerate([[1], [2]], start=1):
            await redacts.redact("ns", "t", seqs, NOON)
            read = await store.append("ns", "t", [new_turn("next")], seen.position)
            assert contents(read)[-1] == "next"
            assert read.redactions == (await store.turns("ns", "t", 2)).redactions == count
        assert contents(await store.turns("ns", "t")) == [REDACTED, REDACTED, "next", "next"]

    async def test_a_deleted_thread_begins_without_redactions(self, store: ThreadStore) -> None:
        """It is another one."""
        redacts = _redacting(store)
        await store.append("ns", "t", [new_turn("a")], 0)
        await redacts.redact("ns", "t", [1], NOON)
        await store.delete("ns", "t")
        assert (await store.append("ns", "t", [new_turn("b")], 0)).redactions == 0
        with pytest.raises(Conflict):
            await store.append("ns", "t", [new_turn("c")], 2)

    async def test_what_is_to_be_left_beside_a_redaction_is_asked_once_with_the_turns_as_they_are(
        self, store: ThreadStore
    ) -> None:
        """And kept with them; turns that were redacted before are among all, not among those that go."""
        redacts = _redacting(store)
        await store.append("ns", "t", [new_turn("a"), new_turn("b"), new_turn("c")], 0)
        await redacts.redact("ns", "t", [1], NOON)
        before = (await store.turns("ns", "t")).turns
        asked: list[tuple[tuple[Turn, ...], tuple[Turn, ...]]] = []

        def leaving(turns: Sequence[Turn], taken: Sequence[Turn]) -> Mapping[int, Mapping[str, Json]]:
            asked.append((tuple(turns), tuple(taken)))
            return {turn.seq: {"mark": turn.content} for turn in taken}

        assert await redacts.redact("ns", "t", [1, 2, 9], NOON, leaving) == [before[1]]
        assert asked == [(tuple(before), (before[1],))]
        turns = (await store.turns("ns", "t")).turns
        assert [turn.metadata.get("mark") for turn in turns] == [None, "b", None]
        assert [turn.is_redacted for turn in turns] == [True, True, False]
        assert await redacts.redact("ns", "t", [1, 2], NOON, leaving) == []
        assert len(asked) == 1

    async def test_a_redaction_that_is_refused_leaves_all_as_it_was(self, store: ThreadStore) -> None:
        """What the wrapper raises reaches the caller."""
        redacts = _redacting(store)
        await store.append("ns", "t", [new_turn("a")], 0)
        before = await store.turns("ns", "t")

        def refusing(*_: Sequence[Turn]) -> Mapping[int, Mapping[str, Json]]:
            raise InvalidInput("refused by the wrapper")

        with pytest.raises(InvalidInput, match="refused by the wrapper"):
            await redacts.redact("ns", "t", [1], NOON, refusing)
        assert await store.turns("ns", "t") == before

    async def test_redactions_and_appends_at_once_lose_nothing(self, store: ThreadStore) -> None:
        """Every turn is there once, redacted where that was asked."""
        redacts = _redacting(store)
        await store.append("ns", "t", [new_turn("0")], 0)
        await asyncio.gather(
            *(store.append("ns", "t", [new_turn(str(n))], 0) for n in range(1, 20)),
            *(redacts.redact("ns", "t", [1], NOON) for _ in range(5)),
        )
        assert sorted(contents(await store.turns("ns", "t"))) == sorted([REDACTED, *map(str, range(1, 20))])

    async def test_after_close_every_verb_says_closed(self, store: ThreadStore) -> None:
        """And a second close is harmless."""
        await store.append("ns", "t", [new_turn("a")], 0)
        await store.close()
        await store.close()
        with pytest.raises(StoreClosed):
            await store.append("ns", "t", [new_turn("b")], 0)
        with pytest.raises(StoreClosed):
            await store.turns("ns", "t")
        with pytest.raises(StoreClosed):
            await store.threads("ns")
        with pytest.raises(StoreClosed):
            await store.namespaces()
        with pytest.raises(StoreClosed):
            await store.delete("ns", "t")

    def test_one_store_serves_several_event_loops(self, store: ThreadStore) -> None:
        """One after the other."""
        for n in range(5):
            asyncio.run(self._append_one(store, str(n)))
        assert contents(asyncio.run(store.turns("ns", "t"))) == ["0", "1", "2", "3", "4"]  # type: ignore[arg-type]

    async def _append_one(self, store: ThreadStore, text: str) -> None:
        await store.append("ns", "t", [new_turn(text)], 0)

    @settings(max_examples=30, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
    @given(operations=_operations)
    def test_any_sequence_of_verbs_does_what_a_dict_of_lists_does(
        self, store: ThreadStore, operations: list[tuple[str, str, str, list[str]]]
    ) -> None:
        """Appends and deletes over several names, compared after each step."""
        asyncio.run(self._compare(store, operations))

    async def _compare(self, store: ThreadStore, operations: list[tuple[str, str, str, list[str]]]) -> None:
        for namespace in await store.namespaces():
            for thread in await store.threads(namespace):
                await store.delete(namespace, thread)
        model: dict[tuple[str, str], list[str]] = {}
        for verb, namespace, thread, texts in operations:
            if verb == "delete":
                was_there = model.pop((namespace, thread), None) is not None
                assert await store.delete(namespace, thread) == was_there
                continue
            log = model.setdefault((namespace, thread), [])
            read = await store.append(namespace, thread, [new_turn(text) for text in texts], len(log) // 2)
            log += texts
            assert contents(read) == log[(len(log) - len(texts)) // 2 :]
        assert await store.namespaces() == sorted({namespace for namespace, _ in model})
        for (namespace, thread), log in model.items():
            read = await store.turns(namespace, thread)
            assert contents(read) == log
            assert [turn.seq for turn in read.turns] == list(range(1, len(log) + 1))

    async def test_a_turn_that_is_to_be_there_once_is_kept_once(self, store: ThreadStore) -> None:
        """Whatever the second says: it is the retry of the first."""
        await store.append("n", "t", [once("said", "key-1")], 0)
        again = await store.append("n", "t", [once("said again", "key-1")], 0)
        assert (contents(again), again.position) == (["said"], 1)
        assert contents(await store.turns("n", "t")) == ["said"]

    async def test_nothing_of_a_group_is_kept_with_a_turn_that_is_there(self, store: ThreadStore) -> None:
        """All or none holds here too; the caller appends the rest again."""
        await store.append("n", "t", [new_turn("one"), once("two", "key-2")], 0)
        group = [new_turn("three"), once("two", "key-2"), new_turn("four")]
        assert contents(await store.append("n", "t", group, 1)) == ["two"]
        assert contents(await store.append("n", "t", [group[0], group[2]], 2)) == ["three", "four"]
        assert contents(await store.turns("n", "t")) == ["one", "two", "three", "four"]

    async def test_once_counts_in_its_own_thread_and_for_those_that_ask_it(self, store: ThreadStore) -> None:
        """An id that is not asked to be unique may come twice."""
        await store.append("n", "t", [once("one", "key-1")], 0)
        await store.append("n", "other", [once("one", "key-1")], 0)
        twice = replace(new_turn("two"), id="same")
        await store.append("n", "other", [twice], 1)
        assert contents(await store.turns("n", "t")) == ["one"]
        assert contents(await store.turns("n", "other")) == ["one", "two"]

    async def test_of_appends_of_one_turn_at_the_same_moment_one_is_kept(self, store: ThreadStore) -> None:
        """And all of them are told which."""
        reads = await asyncio.gather(
            *[store.append("n", "t", [once(f"try {n}", "key-1")], 0) for n in range(8)]
        )
        assert len(await self._kept(store)) == 1
        assert {tuple(contents(read)) for read in reads} == {tuple(await self._kept(store))}

    @staticmethod
    async def _kept(store: ThreadStore) -> list[str]:
        return contents(await store.turns("n", "t"))
