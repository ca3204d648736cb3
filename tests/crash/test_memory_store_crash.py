"""Processes that write are killed; what they were told is durable is there, and nothing by halves.

Run as a script this file is such a process: `<this file> <store> <folder> <job> <arguments>`.
"""

import asyncio
import json
import os
import random
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, cast

import apsw
import pytest

from retentive.stores.base import Changes, MemoryStore, StoredMemory
from retentive.stores.file import FileStore
from retentive.stores.sqlite import SQLiteStore
from retentive.testing.memory_model import ScopeModel, make_memory
from retentive.types import Scope

TASKS = 3
SHARED = Scope("together")
STORES: dict[str, Callable[[Path], MemoryStore]] = {
    "sqlite": lambda folder: SQLiteStore(folder / "memory.db"),
    "file": FileStore,
}


def changes_of(scope: Scope, seed: int) -> Iterator[Changes]:
    """An endless, repeatable row of changes: inserts of one and of many, updates, deletes, notes."""
    rng = random.Random(seed)
    live: list[str] = []
    for number in range(1, 1_000_000):
        new = [f"{number:05}-{part}" for part in range(rng.choice([1, 1, 1, 4]))]
        inserts = [make_memory(scope, id, text_key=id.encode(), vector=b"v" * 64) for id in new]
        updates: list[StoredMemory] = []
        deletes: list[str] = []
        if len(live) > 3 and rng.random() < 0.5:
            rng.shuffle(live)
            deletes = [live.pop() for _ in range(rng.randint(1, 2))]
            updates = [make_memory(scope, live[0], version=number, near=deletes[0])]
        live += new
        notes: dict[str, bytes | None] = {"done": b"%d" % number}
        if rng.random() < 0.5:
            notes[f"note{rng.randrange(3)}"] = rng.choice([None, b"%d" % number, b"n" * 5_000])
        yield Changes(scope=scope, deletes=deletes, updates=updates, inserts=inserts, notes=notes)


def scope_of(round: int, task: int) -> Scope:
    return Scope(f"space{task % 2}", f"r{round}-{task}")


def say(*words: Any) -> None:
    os.write(1, (json.dumps(words) + "\n").encode())


async def write_for_ever(store: MemoryStore, round: int) -> None:
    async def work(task: int) -> None:
        for number, changes in enumerate(changes_of(scope_of(round, task), seed=round * 10 + task)):
            await store.write(changes)
            say(task, number)

    await asyncio.gather(*map(work, range(TASKS)))


async def write_together(store: MemoryStore, process: int) -> None:
    for step in range(25):
        text_key = b"shared-%d" % step if step % 5 == 0 else None
        memory = make_memory(SHARED, f"p{process}-{step}", text_key=text_key)
        written = await store.write(Changes(scope=SHARED, inserts=[memory]))
        say(step, *written.inserted)
    await store.close()


def die_at(moment: str, count: int) -> None:
    """End this process without any tidying when the moment comes for the n-th time."""
    left = [count]

    def tick(*_: Any) -> bool:
        left[0] -= 1
        if left[0] <= 0:
            os._exit(9)
        return False

    def before(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: (tick(), function(*args, **kwargs))[1]

    def after(function: Callable[..., Any]) -> Callable[..., Any]:
        return lambda *args, **kwargs: (function(*args, **kwargs), tick())[0]

    real_write = os.write

    def write_half(fd: int, data: Any) -> int:
        if fd > 2:
            left[0] -= 1
            if left[0] <= 0:
                real_write(fd, bytes(data)[: len(data) // 2])
                os._exit(9)
        return real_write(fd, data)

    hooks: dict[str, Callable[[], Any]] = {
        "before commit": lambda: apsw.connection_hooks.append(lambda db: db.set_commit_hook(tick)),
        "after commit": lambda: apsw.connection_hooks.append(lambda db: db.set_wal_hook(tick)),
        "in a transaction": lambda: apsw.connection_hooks.append(
            lambda db: db.set_update_hook(cast("Any", tick))
        ),
        "half a write": lambda: setattr(os, "write", write_half),
        "before fsync": lambda: setattr(os, "fsync", before(os.fsync)),
        "after fsync": lambda: setattr(os, "fsync", after(os.fsync)),
        "before replace": lambda: setattr(os, "replace", before(os.replace)),
        "after replace": lambda: setattr(os, "replace", after(os.replace)),
    }
    hooks[moment]()


def main(kind: str, folder: str, job: str, number: str, moment: str = "", count: str = "0") -> None:
    if moment:
        die_at(moment, int(count))
    store = STORES[kind](Path(folder))
    asyncio.run((write_for_ever if job == "for-ever" else write_together)(store, int(number)))


def start(kind: str, folder: Path, *job: Any) -> "subprocess.Popen[bytes]":
    command = [sys.executable, __file__, kind, str(folder), *map(str, job)]
    return subprocess.Popen(command, stdout=subprocess.PIPE)


def acknowledged(lines: list[bytes]) -> dict[int, int]:
    """How many changes of each task are durable, as far as the process was told."""
    done = dict.fromkeys(range(TASKS), 0)
    for line in lines:
        if line.endswith(b"\n"):
            task, number = json.loads(line)
            done[task] = number + 1
    return done


async def state_of(store: MemoryStore, scope: Scope) -> tuple[list[StoredMemory | None], dict[str, bytes]]:
    memories = await store.get(scope, [row.id for row in (await store.scan(scope, 0)).rows])
    return memories, await store.notes(scope)


async def check_round(store: MemoryStore, round: int, done: dict[int, int]) -> None:
    """Each scope is as after the acknowledged changes, or as after the one that was under way."""
    for task, count in done.items():
        scope = scope_of(round, task)
        model, changes = ScopeModel(), changes_of(scope, seed=round * 10 + task)
        for _ in range(count):
            model.write(next(changes))
        held = await state_of(store, scope)
        if held != (list(model.memories.values()), model.notes):
            model.write(next(changes))
            assert held == (list(model.memories.values()), model.notes)


async def check_folder(kind: str, folder: Path, rounds: list[dict[int, int]]) -> None:
    store = STORES[kind](folder)
    await store.open()
    for round, done in enumerate(rounds):
        await check_round(store, round, done)
    memory = make_memory(Scope("after"), f"{len(rounds)}")
    await store.write(Changes(scope=Scope("after"), inserts=[memory]))
    assert await store.get(Scope("after"), [memory.item.id]) == [memory]
    await store.close()


def kill_after(process: "subprocess.Popen[bytes]", lines: int) -> dict[int, int]:
    assert process.stdout is not None
    with process, process.stdout as output:
        said = [output.readline() for _ in range(lines)]
        process.kill()
        said += output.readlines()
    return acknowledged(said)


@pytest.mark.parametrize("kind", STORES)
@pytest.mark.parametrize("seed", range(5))
async def test_a_killed_process_loses_nothing_acknowledged(kind: str, seed: int, tmp_path: Path) -> None:
    rng = random.Random(seed)
    rounds: list[dict[int, int]] = []
    for round in range(5):
        rounds.append(kill_after(start(kind, tmp_path, "for-ever", round), rng.randint(1, 120)))
        assert sum(rounds[-1].values()) > 0
        await check_folder(kind, tmp_path, rounds)


@pytest.mark.parametrize(
    ("kind", "moment"),
    [("sqlite", moment) for moment in ("before commit", "after commit", "in a transaction")]
    + [
        ("file", moment)
        for moment in ("half a write", "before fsync", "after fsync", "before replace", "after replace")
    ],
)
async def test_a_process_that_ends_at_a_chosen_point_leaves_all_or_nothing(
    kind: str, moment: str, tmp_path: Path
) -> None:
    rounds: list[dict[int, int]] = []
    for round, count in enumerate((1, 2, 3, 7, 20)):
        process = start(kind, tmp_path, "for-ever", round, moment, count)
        output, _ = process.communicate()
        assert process.returncode == 9
        rounds.append(acknowledged(output.splitlines(keepends=True)))
        await check_folder(kind, tmp_path, rounds)


@pytest.mark.parametrize("kind", STORES)
async def test_four_processes_write_one_store_without_loss(kind: str, tmp_path: Path) -> None:
    processes = [start(kind, tmp_path, "together", number) for number in range(4)]
    answers: list[dict[int, str]] = []
    for process in processes:
        output, _ = process.communicate()
        assert process.returncode == 0
        answers.append(dict(json.loads(line) for line in output.splitlines()))
    store = STORES[kind](tmp_path)
    ids = [row.id for row in (await store.scan(SHARED, 0)).rows]
    await store.close()
    assert len(ids) == len(set(ids)) == 4 * 20 + 5
    for step in range(25):
        told = {answer[step] for answer in answers}
        assert told <= set(ids)
        assert len(told) == (1 if step % 5 == 0 else 4)


if __name__ == "__main__":
    main(*sys.argv[1:])
