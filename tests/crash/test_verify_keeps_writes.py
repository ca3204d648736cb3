"""Verifying a forget reads the files of a live store; no write of any process is lost by it."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

_SCRIPT = """
import asyncio, sys
from retentive import Memory

who, url, end = sys.argv[1:]

async def other(number):
    async with Memory(store=url) as memory:
        await memory.remember(f"B{number} {'xyz'[int(number)] * 8}", user_id="u")

async def first():
    memory = Memory(store=url)
    item = await memory.remember("to forget about zork", user_id="u")
    assert await memory.verify_forgotten(await memory.forget(item.id, user_id="u"))
    for number in range(3):
        child = await asyncio.create_subprocess_exec(sys.executable, __file__, str(number), url, end)
        assert await child.wait() == 0
        await memory.remember(f"A{number} {'abc'[number] * 8}", user_id="u")
    print("acknowledged", flush=True)
    if end == "kill":
        await asyncio.Event().wait()
    await memory.close()

asyncio.run(first() if who == "first" else other(who))
"""
_SHOW = """
import asyncio, sys
from retentive import Memory

async def show():
    async with Memory(store=sys.argv[1]) as memory:
        print(*sorted(item.content[:2] for item in (await memory.list(user_id="u")).items))

asyncio.run(show())
"""


@pytest.mark.parametrize("end", ["close", "kill"])
def test_no_process_loses_a_write_because_another_verified(tmp_path: Path, end: str) -> None:
    url = f"sqlite:///{(tmp_path / 'm.db').as_posix()}"
    script = tmp_path / "script.py"
    script.write_text(_SCRIPT, encoding="utf-8")
    with subprocess.Popen(
        [sys.executable, str(script), "first", url, end], stdout=subprocess.PIPE, text=True
    ) as first:
        assert first.stdout is not None
        assert first.stdout.readline() == "acknowledged\n"
        if end == "kill":
            os.kill(first.pid, getattr(signal, "SIGKILL", signal.SIGTERM))
    shown = subprocess.run(
        [sys.executable, "-c", _SHOW, url], capture_output=True, text=True, check=True
    ).stdout
    assert shown.split() == ["A0", "A1", "A2", "B0", "B1", "B2"]
