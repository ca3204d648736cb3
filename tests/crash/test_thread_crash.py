"""A process that ends at any moment loses nothing that it acknowledged and leaves nothing half-written."""

import asyncio
import json
import os
import random
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TypeAlias

import pytest

from retentive.threads import Thread, open_thread

KILLS = 28
KILLED_WITHIN_ACKNOWLEDGED = 60
Start: TypeAlias = "Callable[..., subprocess.Popen[bytes]]"

WRITER = """
import asyncio, os, sys
from pathlib import Path
from retentive.threads import open_thread

home, run, exit_call, exit_at = Path(sys.argv[1]), sys.argv[2], sys.argv[3], int(sys.argv[4])

def count(name, before):
    really, calls = getattr(os, name), iter(range(1, 1 << 30))
    def call(*args):
        at = next(calls)
        if at == exit_at and before:
            os._exit(9)
        if at == exit_at and name == "write" and len(args[1]) > 1:
            really(args[0], args[1][: len(args[1]) // 2])
            os._exit(9)
        result = really(*args)
        if at == exit_at:
            os._exit(9)
        return result
    setattr(os, name, call)

acknowledge = os.write
if exit_call != "none":
    name, when = exit_call.split("-")
    count(name, when == "before")

async def main():
    thread = await open_thread("t", home=home)
    async def one(worker):
        for n in range(100_000):
            text = f"{run}:{worker}:{n}"
            if n % 3 == 2:
                await thread.append_many([text + ":a", text + ":b" + "x" * 9_000, text + ":c"])
            else:
                await thread.append(text + "y" * 3_000)
            acknowledge(1, (text + "\\n").encode())
    await asyncio.gather(*(one(worker) for worker in range(3)))

asyncio.run(main())
"""


@dataclass(frozen=True)
class Append:
    """What the writer acknowledges: `run:worker:n`, three turns at once where n is 2, 5, 8, ..."""

    name: str

    @property
    def texts(self) -> list[str]:
        if int(self.name.rsplit(":", 1)[1]) % 3 == 2:
            return [f"{self.name}:a", f"{self.name}:b" + "x" * 9_000, f"{self.name}:c"]
        return [self.name + "y" * 3_000]


@pytest.fixture
def start() -> Iterator[Start]:
    """Starts a writer: its home, its name, and the call of `os` at which it ends, if any."""
    started: list[subprocess.Popen[bytes]] = []

    def start_one(home: Path, run: str, exit_call: str = "none", exit_at: int = 0) -> subprocess.Popen[bytes]:
        command = [sys.executable, "-c", WRITER, str(home), run, exit_call, str(exit_at)]
        pipe = subprocess.PIPE
        started.append(subprocess.Popen(command, stdout=pipe, stderr=pipe, bufsize=0))
        return started[-1]

    yield start_one
    for process in started:
        if process.poll() is None:
            process.kill()
            process.communicate()


def acknowledged_until_killed(process: subprocess.Popen[bytes], count: int) -> list[str]:
    """What was acknowledged by a process that is killed after so many."""
    assert process.stdout is not None
    lines = [process.stdout.readline() for _ in range(count)]
    process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    rest, errors = process.communicate()
    assert b"Traceback" not in errors, errors.decode()  # it may report what the one before left torn
    return (b"".join(lines) + rest).decode().split("\n")[:-1]


def check(thread: Thread, acknowledged: Sequence[str]) -> None:
    """Every acknowledged append is whole, others whole or absent, each worker's in order, numbered on."""
    turns = list(thread.messages())
    assert [turn.seq for turn in turns] == list(range(1, len(turns) + 1))
    texts = [turn.content for turn in turns]
    found: list[str] = []
    while texts:
        append = Append(":".join(texts[0].rstrip("y").split(":")[:3]))
        assert texts[: len(append.texts)] == append.texts
        del texts[: len(append.texts)]
        found.append(append.name)
    assert len(set(found)) == len(found)
    assert set(acknowledged) <= set(found)
    for prefix in {name.rsplit(":", 1)[0] for name in found}:
        numbers = [int(name.rsplit(":", 1)[1]) for name in found if name.rsplit(":", 1)[0] == prefix]
        assert numbers == list(range(len(numbers)))


def check_lines(home: Path) -> None:
    for line in (home / "threads" / "default" / "t.jsonl").read_bytes().splitlines():
        json.loads(line)


def reopen_and_append(home: Path) -> Thread:
    async def go() -> Thread:
        thread = await open_thread("t", home=home)
        await thread.append("check:0:0" + "y" * 3_000)
        return thread

    return asyncio.run(go())


def test_a_process_killed_at_any_moment_loses_nothing_acknowledged(tmp_path: Path, start: Start) -> None:
    random_counts = random.Random(7)
    acknowledged: list[str] = []
    for first in range(0, KILLS, 4):
        runs = range(first, min(first + 4, KILLS))
        homes = {run: tmp_path / f"home{run % 4}" for run in runs}
        processes = {run: start(homes[run], f"run{run}") for run in runs}
        for run, process in processes.items():
            names = acknowledged_until_killed(process, random_counts.randrange(1, KILLED_WITHIN_ACKNOWLEDGED))
            acknowledged += names
            thread = asyncio.run(open_thread("t", home=homes[run]))
            check(thread, [name for name in acknowledged if int(name[3:].split(":")[0]) % 4 == run % 4])
    assert len(acknowledged) > KILLS
    for number in range(4):
        home = tmp_path / f"home{number}"
        thread = reopen_and_append(home)
        check(thread, [name for name in acknowledged if int(name[3:].split(":")[0]) % 4 == number])
        check_lines(home)


@pytest.mark.parametrize("when", ["before", "after"])
@pytest.mark.parametrize("call", ["write", "fsync", "ftruncate"])
def test_a_process_that_ends_at_any_disk_call_loses_nothing_acknowledged(
    tmp_path: Path, start: Start, call: str, when: str
) -> None:
    acknowledged: list[str] = []
    log = tmp_path / "threads" / "default" / "t.jsonl"
    for at in (1, 2, 3, 5, 8) if call != "ftruncate" else (1,):
        if log.exists() and not log.read_bytes().endswith(b'{"torn'):
            log.write_bytes(log.read_bytes() + b'{"torn')
        elif call == "ftruncate":
            log.parent.mkdir(parents=True, exist_ok=True)
            log.write_bytes(b'{"torn')
        process = start(tmp_path, f"run{at}", f"{call}-{when}", at)
        output, errors = process.communicate(timeout=60)
        assert process.returncode == 9, errors.decode()
        acknowledged += output.decode().split("\n")[:-1]
        check(asyncio.run(open_thread("t", home=tmp_path)), acknowledged)
    check(reopen_and_append(tmp_path), acknowledged)
    check_lines(tmp_path)


def test_the_last_holder_of_the_lock_may_die_with_it(tmp_path: Path) -> None:
    script = (
        "import os, sys\nfrom pathlib import Path\nfrom retentive.stores.file_lock import locked\n"
        "with locked(Path(sys.argv[1])):\n    os._exit(0)\n"
    )
    log = tmp_path / "threads" / "default" / "t.jsonl"
    log.parent.mkdir(parents=True)
    subprocess.run([sys.executable, "-c", script, str(log)], check=True)
    assert log.with_name("t.jsonl.lock").exists()
    assert len(reopen_and_append(tmp_path)) == 1


if os.name == "nt":  # pragma: no cover
    pytestmark = pytest.mark.skip(reason="SIGKILL and fault injection by os.* are POSIX")
