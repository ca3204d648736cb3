"""What is drawn from threads and exchanges, once, on every store."""

import asyncio
from typing import Any

import pytest
from extraction_rig import USER, EveryTurn, Rig, Scripted

from retentive import Event, InvalidInput, MemoryKind, Origin, StoreClosed, StoreUnavailable
from retentive.events import EventType
from retentive.extraction import Decision, Statement, VerbatimExtractor
from retentive.stores.base import Changes, MemoryStore
from retentive.testing.clocks import FakeClock


def oslo(*turns: int, **fields: Any) -> Statement:
    defaults: dict[str, Any] = {"content": "The user lives in Oslo.", "turns": turns or (1,)}
    return Statement(**(defaults | fields))


async def test_what_waits_in_a_thread_becomes_memories_once(rig: Rig) -> None:
    extraction = rig.extraction(VerbatimExtractor())
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("I moved to Oslo.", ("assistant", "Welcome there."), "thanks", "I only eat plants.")
    done = await extraction.extract(backlog)
    assert [item.content for item in done.items] == ["I moved to Oslo.", "I only eat plants."]
    assert done.turns == 4
    assert await rig.watermark() == 4
    assert all(item.kind is MemoryKind.EPISODIC and item.is_turn for item in done.items)
    assert all(item.origin is Origin.USER for item in done.items)
    again = await extraction.extract(backlog)
    assert (again.items, again.turns, bool(again)) == ((), 0, True)
    assert await rig.contents() == ["I moved to Oslo.", "I only eat plants."]


async def test_a_thread_is_extracted_from_where_its_first_run_began(rig: Rig) -> None:
    await rig.thread("old one", "old two")
    extractor = EveryTurn()
    extraction = rig.extraction(extractor)
    backlog = await extraction.begin_thread("default", "t", 2, user_id=USER)
    await rig.thread("new one")
    await extraction.begin_thread("default", "t", 3, user_id=USER)
    await extraction.extract(backlog)
    assert extractor.seen == ["new one"]


async def test_a_big_backlog_is_done_in_windows_of_one_step_each(rig: Rig) -> None:
    extractor = Scripted(*([Statement(content=f"fact {n}", turns=(3 * n + 1,))] for n in range(3)))
    extraction = rig.extraction(extractor, window_turns=3, turns_before=1)
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread(*(f"turn {n}" for n in range(1, 9)))
    done = await extraction.extract(backlog)
    assert [item.content for item in done.items] == ["fact 0", "fact 1", "fact 2"]
    assert [[turn.seq for turn in asked.turns] for asked in extractor.asked] == [[1, 2, 3], [4, 5, 6], [7, 8]]
    assert [[turn.seq for turn in asked.before] for asked in extractor.asked] == [[], [3], [6]]


async def test_one_call_does_a_bounded_number_of_windows(rig: Rig) -> None:
    extraction = rig.extraction(EveryTurn(), window_turns=1, windows=2)
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("one", "two", "three")
    assert (await extraction.extract(backlog)).turns == 2
    assert (await extraction.extract(backlog)).turns == 1
    assert await rig.contents() == ["one", "two", "three"]


async def test_small_talk_advances_the_watermark_without_asking_a_model(rig: Rig) -> None:
    extractor = Scripted(needs_model=True)
    extraction = rig.extraction(extractor)
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("Hi!", ("assistant", "Hello! How can I help you?"), "thanks")
    assert await extraction.extract(backlog)
    assert (extractor.asked, await rig.watermark()) == ([], 3)


async def test_an_empty_answer_is_a_success(rig: Rig) -> None:
    extraction = rig.extraction(Scripted([]))
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("What is the capital of Norway?")
    done = await extraction.extract(backlog)
    assert (bool(done), done.items, await rig.watermark()) == (True, (), 1)


async def test_scopes_extract_the_same_thread_apart_and_pass_over_each_others_turns(rig: Rig) -> None:
    thread = await rig.thread()
    await thread.append("I am Ada's turn", metadata={"user_id": "ada"})
    await thread.append("I am Bob's turn", metadata={"user_id": "bob"})
    extraction = rig.extraction(EveryTurn())
    for user in ("ada", "bob"):
        await extraction.extract(await extraction.begin_thread("default", "t", user_id=user))
    assert await rig.contents("ada") == ["I am Ada's turn"]
    assert await rig.contents("bob") == ["I am Bob's turn"]
    assert await rig.contents(None) == []


async def test_a_correction_supersedes_and_a_restatement_writes_nothing(rig: Rig) -> None:
    old = await rig.memory.remember("The user lives in Rome.", user_id=USER)
    kept = await rig.memory.remember("The user prefers email.", user_id=USER)
    extractor = Scripted(
        [
            oslo(decision=Decision.SUPERSEDES, target=old.id),
            Statement(content="The user prefers email.", turns=(1,), decision="restates", target=kept.id),
        ]
    )
    extraction = rig.extraction(extractor)
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("I moved from Rome to Oslo, and email is still best.")
    done = await extraction.extract(backlog)
    assert {item.id for item in extractor.asked[0].known} == {old.id, kept.id}
    assert [item.content for item in done.items] == ["The user lives in Oslo."]
    assert (done.superseded, done.restated) == ((old.id,), (kept.id,))
    before = await rig.memory.get(old.id, user_id=USER)
    assert before is not None
    assert before.superseded_by == done.items[0].id
    assert await rig.contents() == ["The user prefers email.", "The user lives in Oslo."]


async def test_the_assistant_cannot_correct_what_the_user_said(rig: Rig) -> None:
    old = await rig.memory.remember("The user lives in Rome.", user_id=USER)
    extraction = rig.extraction(Scripted([oslo(2, decision=Decision.SUPERSEDES, target=old.id)]))
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("Where do I live?", ("assistant", "You live in Oslo."))
    done = await extraction.extract(backlog)
    assert (done.superseded, done.items[0].origin) == ((), Origin.ASSISTANT)
    assert await rig.contents() == ["The user lives in Rome.", "The user lives in Oslo."]


async def test_a_memory_superseded_meanwhile_costs_neither_the_statement_nor_the_step(rig: Rig) -> None:
    old = await rig.memory.remember("The user lives in Rome.", user_id=USER)

    async def somebody_else() -> None:
        await rig.memory.supersede(old.id, "The user lives in Bern.", user_id=USER)

    extractor = Scripted([oslo(decision=Decision.SUPERSEDES, target=old.id)], then=somebody_else)
    extraction = rig.extraction(extractor)
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("I moved from Rome to Oslo.")
    assert await extraction.extract(backlog)
    assert await rig.contents() == ["The user lives in Bern.", "The user lives in Oslo."]


async def test_what_was_recalled_is_known_and_its_echo_is_not_stored_again(rig: Rig) -> None:
    old = await rig.memory.remember("Quarterly zebra audits happen in Basel.", user_id=USER)
    extractor = Scripted([Statement(content="Quarterly zebra audits happen in Basel", turns=(2,))])
    extraction = rig.extraction(extractor, known=1)
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    thread = await rig.thread("Where should I be?")
    echo = "Quarterly zebra audits happen in Basel."
    await thread.append(echo, role="assistant", metadata={"recalled": [old.id]})
    done = await extraction.extract(backlog)
    assert [item.id for item in extractor.asked[0].known] == [old.id]
    assert (done.items, done.restated) == ((), (old.id,))
    assert await rig.contents() == ["Quarterly zebra audits happen in Basel."]


async def test_a_forgotten_memory_does_not_come_back_while_its_thread_stays(rig: Rig) -> None:
    extraction = rig.extraction(VerbatimExtractor())
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("I moved to Oslo.")
    (item,) = (await extraction.extract(backlog)).items
    assert await rig.memory.forget(item.id, user_id=USER)
    await rig.thread("I only eat plants.")
    for backlog in await extraction.backlogs():
        await extraction.extract(backlog)
    assert await rig.contents() == ["I only eat plants."]


async def test_a_thread_that_was_deleted_and_began_anew_is_extracted_from_its_start(rig: Rig) -> None:
    extractor = EveryTurn()
    extraction = rig.extraction(extractor)
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("one", "two")
    await extraction.extract(backlog)
    await rig.threads.delete("default", "t")
    assert await extraction.backlogs() == []
    assert not (await extraction.extract(backlog)).items
    for count, turn in enumerate(["three", "four", "five"], start=1):
        await rig.threads.append("default", "t", [_new(turn)], count - 1)
    await extraction.extract(backlog)
    assert extractor.seen == ["one", "two", "three", "four", "five"]


def _new(content: str) -> Any:
    from retentive.clock import new_id, utc_now
    from retentive.stores.base import NewTurn

    return NewTurn(id=new_id(), role="user", content=content, at=utc_now())


async def test_an_exchange_without_a_thread_waits_until_it_is_extracted(rig: Rig) -> None:
    extraction = rig.extraction(VerbatimExtractor())
    waiting = await extraction.begin_exchange("run-1", "I only eat plants.", user_id=USER)
    await extraction.begin_exchange("run-1", "I only eat plants.", user_id=USER)
    await extraction.end_exchange(waiting, "Noted.")
    (found,) = await extraction.backlogs(USER)
    assert (found.run_id, found.waiting, found.failures) == ("run-1", 2, 0)
    (item,) = (await extraction.extract(found)).items
    assert item.metadata == {"run_id": "run-1"}
    assert await extraction.backlogs() == []
    assert await rig.memory.notes("exchange", user_id=USER) == {}
    assert not (await extraction.extract(waiting)).items


async def test_the_exchange_of_a_run_that_goes_on_is_left_to_it_for_an_hour(
    rig: Rig, clock: FakeClock
) -> None:
    extraction = rig.extraction(EveryTurn())
    waiting = await extraction.begin_exchange("run-1", "I only eat plants.", user_id=USER)
    assert await extraction.backlogs() == []
    clock.move(minutes=60)
    (found,) = await extraction.backlogs()
    await extraction.extract(found)
    await extraction.end_exchange(waiting, "Then I suggest lentils.")
    await extraction.extract(waiting)
    assert await rig.contents() == ["I only eat plants.", "Then I suggest lentils."]
    await extraction.end_exchange(waiting, "")
    assert await extraction.backlogs() == []


async def test_exchanges_are_bounded_in_size_and_number_and_what_is_dropped_is_told(rig: Rig) -> None:
    events: list[Event] = []
    rig.memory.subscribe(events.append)
    extraction = rig.extraction(EveryTurn(), exchanges=2, exchange_chars=10)
    for number in range(3):
        await extraction.end_exchange(await extraction.begin_exchange(f"run-{number}", "x" * 50), "y" * 50)
    found = await extraction.backlogs()
    assert [one.run_id for one in found] == ["run-1", "run-2"]
    assert ["run-0" in event.degraded["extraction"] for event in failures(events)] == [True]
    done = await extraction.extract(found[0])
    assert [item.content for item in done.items] == ["x" * 10, "y" * 10]


def failures(events: list[Event]) -> list[Event]:
    return [event for event in events if event.type is EventType.EXTRACTION_FAILED]


async def test_backlogs_are_found_in_every_scope_by_their_notes(rig: Rig) -> None:
    extraction = rig.extraction(EveryTurn())
    for user in ("bob", None, "ada"):
        await extraction.begin_thread("default", "t", user_id=user)
    await extraction.begin_thread("default", "empty", user_id="ada")
    await rig.thread("one", "two")
    found = await extraction.backlogs()
    assert [(one.user_id, one.thread, one.waiting) for one in found] == [
        (None, "t", 2),
        ("ada", "t", 2),
        ("bob", "t", 2),
    ]
    assert [one.user_id for one in await extraction.backlogs("bob")] == ["bob"]
    assert [one.user_id for one in await extraction.backlogs(None)] == [None]


async def test_a_window_that_keeps_failing_goes_to_the_dead_letters_and_the_rest_goes_on(rig: Rig) -> None:
    events: list[Event] = []
    rig.memory.subscribe(events.append)
    bad = ValueError("cannot read this")
    extractor = Scripted(bad, bad, bad)
    extraction = rig.extraction(extractor, attempts=3, window_turns=1)
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("poison", "I live in Oslo.")
    for count in (1, 2):
        done = await extraction.extract(backlog)
        assert "cannot read this" in (done.failure or "")
        (found,) = await extraction.backlogs()
        assert (found.failures, found.waiting) == (count, 2)
        assert "cannot read this" in (found.error or "")
    done = await extraction.extract(backlog)
    assert [(letter.first, letter.last) for letter in done.dead] == [(1, 1)]
    assert len(failures(events)) == 3
    extractor.answers = [[oslo(2)]]
    await extraction.extract(backlog)
    assert await rig.contents() == ["The user lives in Oslo."]
    (letter,) = await extraction.dead_letters()
    assert (letter.user_id, letter.thread, letter.first, letter.attempts) == (USER, "t", 1, 3)
    extractor.answers = [bad]
    assert not await extraction.retry(letter)
    (letter,) = await extraction.dead_letters(USER)
    assert letter.attempts == 4
    extractor.answers = [[Statement(content="poison tastes bad", turns=(1,))]]
    assert [item.content for item in (await extraction.retry(letter)).items] == ["poison tastes bad"]
    assert await extraction.dead_letters() == []
    assert not (await extraction.retry(letter)).items
    assert await extraction.backlogs() == []


async def test_a_dead_letter_of_a_thread_that_is_gone_comes_to_nothing(rig: Rig) -> None:
    extraction = rig.extraction(Scripted(ValueError("no")), attempts=1)
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("poison")
    (letter,) = (await extraction.extract(backlog)).dead
    await rig.threads.delete("default", "t")
    assert await extraction.retry(letter)
    assert await extraction.dead_letters() == []


async def test_two_workers_on_one_thread_write_it_once(rig: Rig) -> None:
    both, waiting = asyncio.Event(), [2]

    async def meet() -> None:
        waiting[0] -= 1
        if not waiting[0]:
            both.set()
        await both.wait()

    extractors = [
        Scripted([Statement(content=f"in the words of worker {n}", turns=(1,))], then=meet) for n in range(2)
    ]
    workers = [rig.extraction(extractor) for extractor in extractors]
    backlog = await workers[0].begin_thread("default", "t", user_id=USER)
    await rig.thread("I moved to Oslo.")
    done = await asyncio.gather(*(worker.extract(backlog) for worker in workers))
    assert all(done)
    assert len(await rig.contents()) == 1
    assert await rig.watermark() == 1


async def test_a_turn_appended_while_the_model_thinks_waits_for_the_next_step(rig: Rig) -> None:
    extractor = EveryTurn()
    really = extractor.extract

    async def slow(excerpt: Any) -> Any:
        if not extractor.seen:
            await rig.thread("and another")
        return await really(excerpt)

    extractor.extract = slow
    extraction = rig.extraction(extractor)
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("one")
    await extraction.extract(backlog)
    (left,) = await extraction.backlogs()
    assert left.waiting == 1
    await extraction.extract(left)
    assert await rig.contents() == ["one", "and another"]


async def test_an_extractor_that_gives_nonsense_is_a_failure(rig: Rig) -> None:
    answers: list[Any] = [["text"], None, 5]
    extraction = rig.extraction(Scripted(*answers))
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("one")
    for _ in range(3):
        assert not await extraction.extract(backlog)
    assert await rig.watermark() == 0


async def test_names_and_numbers_are_checked(rig: Rig) -> None:
    extraction = rig.extraction(EveryTurn())
    with pytest.raises(InvalidInput):
        await extraction.begin_thread("default", "../t")
    with pytest.raises(InvalidInput):
        await extraction.begin_thread("default", "t", -1)
    with pytest.raises(InvalidInput):
        await extraction.begin_exchange("", "text")
    with pytest.raises(InvalidInput):
        await extraction.begin_exchange("r", "a\x00b")
    backlog = await extraction.begin_thread("default", "t")
    with pytest.raises(InvalidInput, match="begin_exchange"):
        await extraction.end_exchange(backlog, "said")


async def test_a_damaged_note_is_told_and_not_written_over(rig: Rig) -> None:
    from retentive.life.batch import Batch

    await rig.memory.apply(Batch(notes={"extract/default/t": b"garbage"}), user_id=USER)
    extraction = rig.extraction(EveryTurn())
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("one")
    done = await extraction.extract(backlog)
    assert "extract/default/t" in (done.failure or "")
    assert await rig.memory.notes(user_id=USER) == {"extract/default/t": b"garbage"}


class Failing:
    """A store that cannot write memories while it is told so."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self.is_down = False

    def __getattr__(self, name: str) -> Any:
        return getattr(self._store, name)

    async def write(self, changes: Changes) -> Any:
        if self.is_down:
            raise StoreUnavailable("disk full")
        return await self._store.write(changes)


async def test_a_store_that_is_down_at_the_write_loses_nothing(rig: Rig, place: Any) -> None:
    store: Any = Failing(place.store())
    rig = Rig(place.open(store=store), place.clock)
    events: list[Event] = []
    rig.memory.subscribe(events.append)
    extraction = rig.extraction(EveryTurn())
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("one")
    store.is_down = True
    done = await extraction.extract(backlog)
    assert "disk full" in (done.failure or "")
    assert len(failures(events)) == 1
    store.is_down = False
    assert await extraction.extract(backlog)
    assert await rig.contents() == ["one"]


async def test_a_failure_while_the_store_is_down_is_told_too(rig: Rig, place: Any) -> None:
    store: Any = Failing(place.store())
    rig = Rig(place.open(store=store), place.clock)
    extraction = rig.extraction(Scripted(ValueError("bad")))
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.thread("one")
    store.is_down = True
    done = await extraction.extract(backlog)
    assert "bad" in (done.failure or "")
    assert "disk full" in (done.failure or "")


async def test_a_closed_memory_is_an_error(rig: Rig) -> None:
    extraction = rig.extraction(EveryTurn())
    backlog = await extraction.begin_thread("default", "t", user_id=USER)
    await rig.memory.close()
    with pytest.raises(StoreClosed):
        await extraction.extract(backlog)


async def test_a_call_that_another_worker_overtook_goes_on_from_where_that_one_stopped(rig: Rig) -> None:
    faster = rig.extraction(EveryTurn(), window_turns=1, windows=1)
    backlog = await faster.begin_thread("default", "t", user_id=USER)
    await rig.thread("one", "two", "three")
    extractor = EveryTurn()
    really = extractor.extract

    async def overtaken(excerpt: Any) -> Any:
        if not extractor.seen:
            await faster.extract(backlog)
        return await really(excerpt)

    extractor.extract = overtaken
    await rig.extraction(extractor, window_turns=2).extract(backlog)
    assert await rig.contents() == ["one", "two", "three"]
    assert await rig.watermark() == 3
