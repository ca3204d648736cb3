"""Forgetting takes everything that was kept of a memory, and a verdict says so or says where it still is."""
# ruff: noqa: ASYNC240  (a test acts on the files by hand)

import copy
import json
import pickle
import sqlite3
from collections.abc import AsyncIterator, Sequence
from dataclasses import asdict, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import pytest_asyncio

from retentive import Conflict, InvalidInput, Memory, NewMemory, RetentionPolicy, Scope, Source, Verdict
from retentive.events import Event, EventType
from retentive.extraction import notes as extraction_notes
from retentive.life import erase
from retentive.life.batch import Batch
from retentive.life.removal import ERASING
from retentive.life.taking_back import NOTES_OF_RUNS, NOTES_OF_THREADS
from retentive.short_term.summarizing import NOTE as SUMMARY
from retentive.stores.base import NewTurn, ThreadStore
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.stores.jsonl_threads import JsonlThreadStore
from retentive.testing.places import Place
from retentive.types import REDACTED, MemoryItem

SAID = 'The vault code of "Zanzibar" is quixotic-marmalade-4711.'
OTHER = "The cat of the neighbours sleeps on the piano all day."
MARKER = b"marmalade"
AT = datetime(2026, 3, 8, 12, tzinfo=UTC)


@pytest_asyncio.fixture(params=["jsonl", "memory"])
async def threads(request: pytest.FixtureRequest, tmp_path: Path) -> AsyncIterator[ThreadStore]:
    store = JsonlThreadStore(tmp_path / "threads") if request.param == "jsonl" else InMemoryThreadStore()
    yield store
    await store.close()


async def say(
    store: ThreadStore, thread: str, *texts: str, namespace: str = "default", **metadata: Any
) -> None:
    read = await store.turns(namespace, thread)
    last = read.position
    turns = [
        NewTurn(id=f"{thread}-{last + n}", role="user", content=text, at=AT, metadata=metadata)
        for n, text in enumerate(texts, start=1)
    ]
    await store.append(namespace, thread, turns, last)


async def said(store: ThreadStore, thread: str, namespace: str = "default") -> list[str]:
    return [turn.content for turn in (await store.turns(namespace, thread)).turns]


def bytes_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


async def with_notes(memory: Memory, *names: str, user_id: str | None = "ada") -> None:
    await memory.apply(Batch(notes=dict.fromkeys(names, b"a note about it")), user_id=user_id)


def places(verdict: Verdict) -> list[str]:
    return [checked.place.split(" ")[0] for checked in verdict.checked]


def test_the_names_of_notes_are_those_that_extraction_and_summaries_write() -> None:
    assert set(NOTES_OF_THREADS) == {extraction_notes.WATERMARKS, extraction_notes.DEAD_TURNS, SUMMARY}
    assert set(NOTES_OF_RUNS) == {extraction_notes.EXCHANGES, extraction_notes.DEAD_EXCHANGES}


async def test_forget_leaves_no_bytes_and_the_verdict_says_where_it_looked(place: Place) -> None:
    memory = place.open()
    await memory.remember(OTHER)
    item = await memory.remember(SAID)
    receipt = await memory.forget(item.id)
    verdict = await memory.verify_forgotten(receipt)
    assert verdict, verdict
    assert not verdict.skipped
    assert places(verdict)[:4] == ["rows", "index", "links", "notes"]
    assert ("file" in places(verdict)) is place.keeps
    sizes = [checked.size for checked in verdict.checked if checked.unit == "bytes"]
    assert any(sizes) is place.keeps
    if place.keeps:
        assert MARKER not in place.bytes_on_disk()


async def test_the_older_versions_leave_no_bytes_either(place: Place) -> None:
    memory = place.open()
    old = await memory.remember(SAID)
    new = await memory.supersede(old.id, "The vault code of Zanzibar is 99-something-else.")
    receipt = await memory.forget(new.id)
    assert set(receipt.ids) == {old.id, new.id}
    assert await memory.verify_forgotten(receipt)
    if place.keeps:
        assert MARKER not in place.bytes_on_disk()


async def test_what_was_not_removed_after_all_is_found(place: Place) -> None:
    """A receipt for a memory that is there: in rows, index, links and, if nobody else says it, in files."""
    memory = place.open()
    old = await memory.remember("The pier is closed on Mondays until further notice.")
    item = await memory.supersede(old.id, "The pier is open on Mondays from ten to six.")
    receipt = await memory.forget((await memory.remember(SAID)).id)
    false = replace(receipt, ids=(item.id,))
    verdict = await memory.verify_forgotten(false)
    assert not verdict
    assert [found.split(":")[0] for found in verdict.found] == ["rows", "index", "links"]


@pytest.mark.parametrize("place", ["sqlite", "file"], indirect=True)
@pytest.mark.parametrize("form", ["text", "packed", "vector"])
async def test_bytes_that_stayed_in_a_file_are_found_whatever_their_form(place: Place, form: str) -> None:
    memory = place.open()
    await memory.remember(OTHER)
    item = await memory.remember(SAID)
    stored = (await place.store().get(Scope("default"), [item.id]))[0]
    assert stored is not None
    kept = {"text": json.dumps(SAID).encode(), "packed": stored.packed, "vector": stored.vector}[form]
    assert kept is not None
    receipt = await memory.forget(item.id)
    assert await memory.verify_forgotten(receipt)
    left = next(path for path in place.folder.rglob("*") if path.suffix in (".db", ".jsonl"))
    aside = left.with_name(f"{left.name}.v1.bak" if left.suffix == ".db" else f"{left.name}.torn-1")
    aside.write_bytes(b"\0" * 1_000_003 + kept + b"\0" * 77)
    verdict = await memory.verify_forgotten(receipt)
    assert [found.split(": ")[0] for found in verdict.found] == [f"file {aside}"]


async def test_what_another_says_in_the_same_words_is_not_found(place: Place) -> None:
    memory = place.open()
    await memory.remember(SAID, user_id="bob")
    item = await memory.remember(SAID, user_id="ada")
    receipt = await memory.forget(item.id, user_id="ada")
    verdict = await memory.verify_forgotten(receipt)
    assert verdict, verdict
    assert (verdict.shared > 0) is place.keeps
    assert [hit.content for hit in await memory.recall("vault code", user_id="bob")] == [SAID]


async def test_a_note_that_holds_the_text_is_found(place: Place) -> None:
    memory = place.open()
    item = await memory.remember(SAID, user_id="ada")
    await memory.apply(Batch(notes={"exchange/r": json.dumps({"user": SAID}).encode()}), user_id="ada")
    receipt = await memory.forget(item.id, user_id="ada")
    verdict = await memory.verify_forgotten(receipt)
    assert verdict.found[0] == "note 'exchange/r' of user 'ada'"


async def test_a_receipt_holds_no_text_and_its_traces_do_not_leave_the_process(place: Place) -> None:
    memory = place.open()
    receipt = await memory.forget((await memory.remember(SAID)).id)
    assert receipt.traces is not None
    for words in (repr(receipt).encode(), pickle.dumps(receipt), receipt.traces.words):
        assert MARKER not in words
    assert "traces" not in repr(receipt)
    for other in (pickle.loads(pickle.dumps(receipt)), copy.deepcopy(receipt)):
        assert other == receipt
        assert other.traces is None
        verdict = await memory.verify_forgotten(other)
        assert [skipped.split(":")[0] for skipped in verdict.skipped] == ["files"]
    assert asdict(receipt)["traces"] is None


async def test_a_receipt_of_another_namespace_is_refused(place: Place) -> None:
    receipt = await place.open("one").forget("x")
    with pytest.raises(InvalidInput, match="'one'"):
        await place.open("two").verify_forgotten(receipt)


async def test_clear_takes_the_notes_too_but_not_with_kinds(place: Place) -> None:
    memory = place.open()
    await memory.remember_many([SAID, NewMemory(content=OTHER, kind="episodic")], user_id="ada")
    await with_notes(memory, "extract/default/t", "exchange/r")
    await with_notes(memory, "extract/default/t", user_id="bob")
    receipt = await memory.clear(user_id="ada", kinds=["episodic"])
    assert "notes" not in receipt.removed
    assert len(await memory.notes(user_id="ada")) == 2
    receipt = await memory.clear(user_id="ada")
    assert (receipt.removed["rows"], receipt.removed["notes"]) == (1, 2)
    assert await memory.notes(user_id="ada") == {}
    assert await memory.scopes() == [Scope("default", "bob")]
    assert await memory.verify_forgotten(receipt)


async def test_clear_of_everyone_is_one_receipt_that_can_be_verified(place: Place) -> None:
    memory = place.open()
    await memory.remember(SAID, user_id="ada")
    await memory.remember(OTHER)
    receipt = await memory.clear(everyone=True)
    assert (len(receipt.ids), receipt.everyone) == (2, True)
    assert await memory.verify_forgotten(receipt)
    assert not await memory.clear(everyone=True)


async def test_redact_source_takes_out_the_turns_and_leaves_their_numbers(
    place: Place, threads: ThreadStore, tmp_path: Path
) -> None:
    memory = place.open()
    await say(threads, "t", "hello", SAID, OTHER)
    item = await memory.remember(SAID, source=Source(thread="t", turns=(2,)), user_id="ada")
    await with_notes(memory, "summary/default/t", "extract/default/t", "summary/default/other")
    receipt = await memory.forget(item.id, user_id="ada", redact_source=True, threads=threads)
    assert receipt.turns == {"default/t": (2,)}
    assert (receipt.removed["turns"], receipt.removed["notes"]) == (1, 1)
    assert await said(threads, "t") == ["hello", REDACTED, OTHER]
    assert [*await memory.notes(user_id="ada")] == ["extract/default/t", "summary/default/other"]
    verdict = await memory.verify_forgotten(receipt, threads=threads)
    assert verdict, verdict
    assert "thread" in places(verdict)
    assert MARKER not in bytes_below(tmp_path)


async def test_a_thread_that_began_anew_is_not_the_one_that_was_redacted(
    place: Place, threads: ThreadStore
) -> None:
    memory = place.open()
    await say(threads, "t", SAID)
    item = await memory.remember(SAID, source=Source(thread="t", turns=(1,)))
    receipt = await memory.forget(item.id, redact_source=True, threads=threads)
    await memory.forget_thread("t", threads=threads)
    await threads.append(
        "default", "t", [NewTurn(id="new", role="user", content="Hello.", at=AT, metadata={})], 0
    )
    assert await memory.verify_forgotten(receipt, threads=threads)


async def test_without_redact_source_the_turn_stays(place: Place, threads: ThreadStore) -> None:
    memory = place.open()
    await say(threads, "t", SAID)
    item = await memory.remember(SAID, source=Source(thread="t", turns=(1,)))
    receipt = await memory.forget(item.id)
    assert await said(threads, "t") == [SAID]
    assert await memory.verify_forgotten(receipt)


async def test_redacting_never_takes_another_users_turn(place: Place, threads: ThreadStore) -> None:
    memory = place.open()
    await say(threads, "t", SAID, user_id="bob")
    item = await memory.remember(SAID, source=Source(thread="t", turns=(1, 9)), user_id="ada")
    receipt = await memory.forget(item.id, user_id="ada", redact_source=True, threads=threads)
    assert (receipt.ids, receipt.turns) == ((item.id,), {})
    assert await said(threads, "t") == [SAID]


async def test_the_source_is_sought_in_the_namespace_that_the_notes_name(
    place: Place, threads: ThreadStore
) -> None:
    memory = place.open()
    for namespace in ("default", "support", "sales"):
        await say(threads, "t", SAID, namespace=namespace)
    source = Source(thread="t", turns=(1,))
    item = await memory.remember(SAID, source=source, user_id="ada")
    await with_notes(memory, "extract/support/t")
    await memory.forget(item.id, user_id="ada", redact_source=True, threads=threads)
    assert await said(threads, "t") == [SAID]
    assert await said(threads, "t", "support") == [REDACTED]
    item = await memory.remember(SAID, source=source, user_id="ada")
    await with_notes(memory, "extract/sales/t")
    with pytest.raises(InvalidInput, match="sales, support"):
        await memory.forget(item.id, user_id="ada", redact_source=True, threads=threads)
    assert await memory.get(item.id, user_id="ada") is not None
    assert await said(threads, "t", "sales") == [SAID]


async def test_a_store_that_cannot_redact_is_refused_before_anything_goes(place: Place) -> None:
    memory, threads = place.open(), _WithoutRedact()
    await say(threads, "t", SAID)
    await say(threads, "hers", OTHER, user_id="ada")
    item = await memory.remember(SAID, source=Source(thread="t", turns=(1,)), user_id="ada")
    with pytest.raises(InvalidInput, match="cannot"):
        await memory.forget(item.id, user_id="ada", redact_source=True, threads=threads)
    with pytest.raises(InvalidInput, match="cannot"):
        await memory.forget_user("ada", threads=threads)
    assert await memory.get(item.id, user_id="ada") is not None
    assert await said(threads, "hers") == [OTHER]
    assert ERASING not in await memory.notes(user_id="ada")


class _WithoutRedact:
    """A store of threads that has no more than it must."""

    def __init__(self) -> None:
        inner = InMemoryThreadStore()
        self.url = inner.url
        self.append, self.turns, self.threads = inner.append, inner.turns, inner.threads
        self.namespaces, self.delete, self.close = inner.namespaces, inner.delete, inner.close


async def test_what_waits_of_a_run_without_a_thread_goes_with_its_memory(
    place: Place, threads: ThreadStore
) -> None:
    memory = place.open()
    item = await memory.remember(SAID, metadata={"run_id": "r"}, user_id="ada")
    await with_notes(memory, "exchange/r", "dead-exchange/r", "exchange/r2")
    receipt = await memory.forget(item.id, user_id="ada", redact_source=True, threads=threads)
    assert receipt.removed["notes"] == 2
    assert [*await memory.notes(user_id="ada")] == ["exchange/r2"]


async def test_forget_thread_takes_log_memories_and_watermark(
    place: Place, threads: ThreadStore, tmp_path: Path
) -> None:
    memory = place.open()
    await say(threads, "t", SAID, OTHER)
    await say(threads, "t2", "something else entirely")
    await memory.remember(SAID, source=Source(thread="t", turns=(1,)), user_id="ada")
    kept = await memory.remember("She rows.", source=Source(thread="t2", turns=(1,)), user_id="ada")
    await with_notes(
        memory, "extract/default/t", "dead/default/t/1", "summary/default/t", "extract/default/t2"
    )
    receipt = await memory.forget_thread("t", user_id="ada", threads=threads)
    assert receipt.threads == ("default/t",)
    assert {place: receipt.removed[place] for place in ("rows", "notes", "threads", "turns")} == {
        "rows": 1,
        "notes": 3,
        "threads": 1,
        "turns": 2,
    }
    assert await threads.threads("default") == ["t2"]
    assert [item.id for item in await memory.list(user_id="ada")] == [kept.id]
    assert [*await memory.notes(user_id="ada")] == ["extract/default/t2"]
    assert await memory.verify_forgotten(receipt, threads=threads)
    assert MARKER not in bytes_below(tmp_path)
    assert not await memory.forget_thread("t", user_id="ada", threads=threads)


async def grown(memory: Memory, threads: ThreadStore) -> list[str]:
    """Two numbers of two threads, made one text by a model; the ids of all three."""

    async def merge(statements: Sequence[MemoryItem]) -> str:
        assert len(statements) == 2
        return "The team in quixotown grew from four to five."

    ids: list[str] = []
    for thread, number in (("t1", "4"), ("t2", "5")):
        await say(threads, thread, f"said in {thread}")
        said = f"The team in quixotown has {number} members."
        ids.append((await memory.remember(said, source=Source(thread=thread, turns=(1,)))).id)
    report = await memory.consolidate(user_id=None, dry_run=False, merge=merge)
    return [*ids, str(report.merged[0].id)]


@pytest.mark.parametrize(("thread", "left"), [("t1", 1), ("t2", 0)])
async def test_forgetting_a_thread_takes_apart_what_was_made_of_it_and_of_another(
    place: Place, threads: ThreadStore, thread: str, left: int
) -> None:
    memory = place.open()
    ids = await grown(memory, threads)
    receipt = await memory.forget_thread(thread, threads=threads)
    assert [item.id for item in await memory.list()] == [ids[left]]
    assert set(receipt.ids) == {*ids} - {ids[left]}
    assert await memory.verify_forgotten(receipt, threads=threads)
    assert b"quixotown grew" not in (place.bytes_on_disk() if place.keeps else b"")
    assert await threads.threads("default") == sorted({"t1", "t2"} - {thread})


@pytest.mark.parametrize("thread", ["t1", "t2"])
async def test_forgetting_a_thread_removes_what_cannot_be_taken_apart_any_more(
    place: Place, threads: ThreadStore, thread: str
) -> None:
    memory = place.open()
    *_, made = await grown(memory, threads)
    place.clock.move(days=1)
    policy = RetentionPolicy(purge_superseded_after=timedelta(hours=1))
    await memory.prune(policy, user_id=None, dry_run=False)
    assert [item.id for item in await memory.list()] == [made]
    receipt = await memory.forget_thread(thread, threads=threads)
    assert receipt.ids == (made,)
    assert await memory.verify_forgotten(receipt, threads=threads)


async def test_redact_source_finds_the_turns_of_sources_that_were_purged(
    place: Place, threads: ThreadStore
) -> None:
    memory = place.open()
    *_, made = await grown(memory, threads)
    place.clock.move(days=1)
    policy = RetentionPolicy(purge_superseded_after=timedelta(hours=1))
    await memory.prune(policy, user_id=None, dry_run=False)
    receipt = await memory.forget(made, redact_source=True, threads=threads)
    assert receipt.turns == {"default/t1": (1,), "default/t2": (1,)}


async def test_a_thread_that_others_speak_in_stays_with_their_turns(
    place: Place, threads: ThreadStore
) -> None:
    memory = place.open()
    await say(threads, "t", SAID, user_id="ada")
    await say(threads, "t", OTHER, user_id="bob")
    await say(threads, "t", "nobody's words")
    receipt = await memory.forget_thread("t", user_id="ada", threads=threads)
    assert (receipt.threads, receipt.turns) == ((), {"default/t": (1,)})
    assert await said(threads, "t") == [REDACTED, OTHER, "nobody's words"]


async def test_ten_3_forget_user_takes_memories_and_threads_of_that_user_alone(
    place: Place, threads: ThreadStore, tmp_path: Path
) -> None:
    memory = place.open()
    await say(threads, "named", SAID, user_id="ada")
    await say(threads, "noted", SAID)
    await say(threads, "passed", SAID)
    await say(threads, "elsewhere", SAID, namespace="support")
    await say(threads, "sourced", "not hers", SAID)
    await say(threads, "shared", SAID, user_id="ada")
    await say(threads, "shared", OTHER, user_id="bob")
    await say(threads, "bobs", OTHER, user_id="bob")
    await memory.remember(SAID, source=Source(thread="sourced", turns=(2,)), user_id="ada")
    await memory.remember(OTHER, user_id="bob")
    await memory.remember("For all.")
    await with_notes(memory, "extract/default/noted", "extract/support/elsewhere", "exchange/r")
    await with_notes(memory, "extract/default/bobs", user_id="bob")
    receipt = await memory.forget_user("ada", threads=threads, also=["passed"])
    assert set(receipt.threads) == {
        "default/named",
        "default/noted",
        "default/passed",
        "support/elsewhere",
    }
    assert receipt.turns == {"default/shared": (1,), "default/sourced": (2,)}
    assert (receipt.removed["rows"], receipt.removed["notes"], receipt.removed["turns"]) == (1, 3, 6)
    assert await threads.threads("default") == ["bobs", "shared", "sourced"]
    assert await said(threads, "sourced") == ["not hers", REDACTED]
    assert await memory.scopes() == [Scope("default"), Scope("default", "bob")]
    assert await memory.notes(user_id="ada") == {}
    assert await memory.count(user_id="bob") == await memory.count() == 1
    verdict = await memory.verify_forgotten(receipt, threads=threads)
    assert verdict, verdict
    assert MARKER not in bytes_below(tmp_path)
    assert not await memory.forget_user("ada", threads=threads)
    assert not await memory.forget_user("nobody", threads=threads)


async def test_forgetting_a_user_that_stopped_half_way_is_finished_by_the_same_call(
    place: Place, threads: ThreadStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    memory = place.open()
    await say(threads, "passed", SAID)
    await say(threads, "named", SAID, user_id="ada")
    await memory.remember(SAID, user_id="ada")
    delete, calls = threads.delete, iter(range(9))

    async def fails_second(namespace: str, thread: str) -> bool:
        if next(calls) == 1:
            raise OSError("the disk is gone")
        return await delete(namespace, thread)

    monkeypatch.setattr(threads, "delete", fails_second)
    with pytest.raises(OSError, match="gone"):
        await memory.forget_user("ada", threads=threads, also=["passed"])
    assert ERASING in await memory.notes(user_id="ada")
    assert await memory.count(user_id="ada") == 1
    assert len(await threads.threads("default")) == 1
    receipt = await memory.forget_user("ada", threads=threads)
    assert (len(receipt.threads), receipt.removed["rows"]) == (1, 1)
    assert await threads.threads("default") == []
    assert await memory.scopes() == []


async def test_the_shared_scope_is_no_user(memory: Memory) -> None:
    with pytest.raises(InvalidInput, match="clear"):
        await memory.forget_user(None)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType]
    with pytest.raises(InvalidInput, match="list"):
        await memory.forget_user("ada", also="thread")


async def test_who_keeps_writing_is_told_to_stop(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    memory = place.open()
    await memory.remember(SAID, user_id="ada")
    really = erase.Erasing.erase

    async def erase_and_write(self: Any, scope: Scope, *rest: Any) -> None:
        await really(self, scope, *rest)
        await memory.remember(OTHER, user_id="ada")

    monkeypatch.setattr(erase.Erasing, "erase", erase_and_write)
    with pytest.raises(Conflict, match="kept writing"):
        await memory.clear(user_id="ada")


async def test_each_verb_is_told_as_an_event_with_the_ids_that_went(
    place: Place, threads: ThreadStore
) -> None:
    memory = place.open()
    events: list[Event] = []
    item = await memory.remember(SAID, user_id="ada")
    memory.subscribe(events.append)
    await memory.forget_user("ada", threads=threads)
    await memory.forget_thread("t", threads=threads)
    assert [(event.type, event.verb, event.ids) for event in events] == [
        (EventType.MEMORY_FORGET, "forget_user", (item.id,)),
        (EventType.MEMORY_FORGET, "forget_thread", ()),
    ]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_a_backup_that_holds_the_text_is_named(place: Place) -> None:
    memory = place.open()
    item = await memory.remember(SAID)
    database = place.folder / "memory.db"
    with sqlite3.connect(database) as source, sqlite3.connect(f"{database}.v1.bak") as target:
        source.backup(target)
    source.close()
    target.close()
    verdict = await memory.verify_forgotten(await memory.forget(item.id))
    assert [found.split(": ")[0] for found in verdict.found] == [
        f"copy {database}.v1.bak",
        f"file {database}.v1.bak",
    ]


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
async def test_a_backup_that_holds_an_earlier_wording_is_named(place: Place) -> None:
    memory = place.open()
    item, _ = await memory.remember(SAID, user_id="ada"), await memory.remember(OTHER, user_id="bob")
    database = place.folder / "memory.db"
    with sqlite3.connect(database) as source, sqlite3.connect(f"{database}.v1.bak") as target:
        source.backup(target)
    source.close()
    target.close()
    await memory.update(item.id, user_id="ada", content="It is with the bank.")
    verdict = await memory.verify_forgotten(await memory.forget(item.id, user_id="ada"))
    assert not verdict
    assert verdict.found == (f"copy {database}.v1.bak: 1",)
    since = await memory.remember("Said after the copy was made.", user_id="bob")
    assert await memory.verify_forgotten(await memory.forget(since.id, user_id="bob"))
    assert not await memory.verify_forgotten(await memory.clear(everyone=True))


@pytest.mark.parametrize("place", ["file"], indirect=True)
@pytest.mark.parametrize("begin", [0, 1, 501, 1_500, 3_900])
async def test_any_80_bytes_of_a_long_text_that_stayed_in_a_file_are_found(place: Place, begin: int) -> None:
    memory = place.open()
    await memory.remember(OTHER)
    text = " ".join(f"secret{number}zork" for number in range(400))
    receipt = await memory.forget((await memory.remember(text)).id)
    journal = next(place.folder.rglob("*.jsonl"))
    for size, is_gone in ((80, False), (10, True)):
        journal.with_name(f"{journal.name}.torn-1").write_bytes(b"..." + text[begin : begin + size].encode())
        assert bool(await memory.verify_forgotten(receipt)) is is_gone


@pytest.mark.parametrize("place", ["sqlite"], indirect=True)
@pytest.mark.parametrize("words", ["tea", "x" * 40_000 + SAID + "y" * 40_000])
async def test_the_shortest_and_the_longest_texts_leave_traces(place: Place, words: str) -> None:
    memory = place.open()
    item = await memory.remember(words)
    database = place.folder / "memory.db"
    with sqlite3.connect(database) as source, sqlite3.connect(f"{database}.v1.bak") as target:
        source.backup(target)
    source.close()
    target.close()
    receipt = await memory.forget(item.id)
    assert receipt.traces is not None
    assert not await memory.verify_forgotten(receipt)
    Path(f"{database}.v1.bak").unlink()
    assert await memory.verify_forgotten(receipt)
