"""Calls that wait at the same moment are done as one, and no caller feels another's error."""

import asyncio
from collections.abc import Hashable, Sequence

import pytest

from retentive.gathering import Gathering, Turns


class Work:
    """Doubles numbers once `gate` is open; cannot do odd ones above 100, nor any batch that has one."""

    def __init__(self) -> None:
        self.calls: list[tuple[Hashable, list[int]]] = []
        self.gate = asyncio.Event()

    async def __call__(self, key: Hashable, asked: Sequence[int]) -> list[int]:
        self.calls.append((key, list(asked)))
        await self.gate.wait()
        if any(one > 100 and one % 2 for one in asked):
            raise ValueError(f"cannot do {asked}")
        return [2 * one for one in asked]


@pytest.fixture
def work() -> Work:
    return Work()


async def settle() -> None:
    for _ in range(10):
        await asyncio.sleep(0)


async def ask_all(gathering: Gathering[int, int], numbers: Sequence[int]) -> list[asyncio.Task[int]]:
    tasks = [asyncio.create_task(gathering.ask("key", number)) for number in numbers]
    await settle()
    return tasks


async def test_what_comes_while_one_call_runs_is_the_next_call(work: Work):
    gathering = Gathering(work, most=10)
    tasks = await ask_all(gathering, [1, 2, 3, 4])
    work.gate.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6, 8]
    assert work.calls == [("key", [1]), ("key", [2, 3, 4])]


async def test_no_call_takes_more_than_the_most(work: Work):
    gathering = Gathering(work, most=2)
    tasks = await ask_all(gathering, [1, 2, 3, 4])
    work.gate.set()
    assert await asyncio.gather(*tasks) == [2, 4, 6, 8]
    assert [asked for _, asked in work.calls] == [[1], [2, 3], [4]]


async def test_keys_are_gathered_apart(work: Work):
    gathering = Gathering(work, most=10)
    tasks = [asyncio.create_task(gathering.ask(key, 1)) for key in "abab"]
    await settle()
    work.gate.set()
    await asyncio.gather(*tasks)
    assert sorted(work.calls) == [("a", [1]), ("a", [1]), ("b", [1]), ("b", [1])]


async def test_an_error_reaches_only_the_one_it_belongs_to(work: Work):
    gathering = Gathering(work, most=10)
    tasks = await ask_all(gathering, [1, 2, 101, 4])
    work.gate.set()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert answers[:2] == [2, 4]
    assert isinstance(answers[2], ValueError)
    assert answers[3] == 8


@pytest.mark.parametrize("cancelled", range(4))
async def test_a_cancelled_caller_takes_no_other_along(work: Work, cancelled: int):
    gathering = Gathering(work, most=10)
    tasks = await ask_all(gathering, [1, 2, 3, 4])
    tasks[cancelled].cancel()
    await settle()
    work.gate.set()
    answers = await asyncio.gather(*tasks, return_exceptions=True)
    assert isinstance(answers.pop(cancelled), asyncio.CancelledError)
    assert answers == [number for number in (2, 4, 6, 8) if number != 2 * (cancelled + 1)]


async def test_after_an_error_or_a_rest_the_next_is_answered(work: Work):
    gathering = Gathering(work, most=10)
    work.gate.set()
    with pytest.raises(ValueError, match="cannot do"):
        await gathering.ask("key", 101)
    assert await gathering.ask("key", 3) == 6


def test_it_serves_one_event_loop_after_another():
    async def ask_three(gathering: Gathering[int, int]) -> list[int]:
        return await asyncio.gather(*(gathering.ask("key", number) for number in (1, 2, 3)))

    async def double(_: Hashable, asked: Sequence[int]) -> list[int]:
        return [2 * one for one in asked]

    gathering = Gathering(double, most=10)
    assert asyncio.run(ask_three(gathering)) == [2, 4, 6]
    assert asyncio.run(ask_three(gathering)) == [2, 4, 6]


def test_a_loop_that_ends_leaves_no_caller_waiting_and_the_next_loop_free():
    async def forever(_: Hashable, __: Sequence[int]) -> list[int]:
        await asyncio.Event().wait()
        return []

    gathering = Gathering[int, int](forever, most=10)

    async def leave() -> None:
        for number in (1, 2, 3):
            task = asyncio.ensure_future(gathering.ask("key", number))
            task.add_done_callback(lambda done: done.cancelled())
        await settle()

    asyncio.run(leave())
    assert not gathering._waiting  # pyright: ignore[reportPrivateUsage]


async def test_turns_leave_room_for_other_tasks_in_between() -> None:
    turns, order = Turns(), list[str]()

    async def work(name: str) -> None:
        async with turns.turn():
            order.append(name)

    async def other() -> None:
        for _ in range(4):
            order.append("other")
            await asyncio.sleep(0)

    await asyncio.gather(*(work(name) for name in "abcd"), other())
    assert [name for name in order if name != "other"] == ["a", "b", "c", "d"]
    assert order.index("other") < order.index("b")


async def test_a_turn_that_fails_is_given_on() -> None:
    turns = Turns()
    with pytest.raises(ValueError, match="first"):
        async with turns.turn():
            raise ValueError("first")
    async with turns.turn():
        pass
