"""A process killed in the middle of a run: the user's turn is there, and the thread goes on."""

import asyncio
import itertools
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from pydantic_ai.models.test import TestModel

from retentive import Memory, MemoryKind, open_thread
from retentive.agent import Agent

RUNNER = """
import asyncio, sys
from pathlib import Path
from pydantic_ai.messages import ModelResponse, TextPart
from pydantic_ai.models.function import FunctionModel
from retentive import Memory, open_thread
from retentive.agent import Agent

home, run = Path(sys.argv[1]), sys.argv[2]

async def answer(messages, info):
    print("asked", flush=True)
    if run.startswith("hang"):
        await asyncio.Event().wait()
    return ModelResponse(parts=[TextPart("answer to " + run)])

async def main():
    thread = await open_thread("t", home=home)
    async with Memory(store=f"sqlite:///{(home / 'memory.db').as_posix()}") as memory:
        agent = Agent(model=FunctionModel(answer), memory=memory)
        for number in range(1000):
            await agent.run(f"{run}:{number}", thread=thread, user_id="ada")
            print(f"done {run}:{number}", flush=True)

asyncio.run(main())
"""


def killed(home: Path, run: str, lines: int) -> list[str]:
    """What a runner said until it was killed after so many lines."""
    process = subprocess.Popen([sys.executable, "-c", RUNNER, str(home), run], stdout=subprocess.PIPE)
    assert process.stdout is not None
    said = [process.stdout.readline() for _ in range(lines)]
    process.send_signal(signal.SIGKILL if hasattr(signal, "SIGKILL") else signal.SIGTERM)
    rest, _ = process.communicate()
    return (b"".join(said) + rest).decode().splitlines()


def test_a_kill_while_the_model_is_asked_leaves_the_users_turn_and_a_free_thread(tmp_path: Path) -> None:
    for number in range(3):
        assert killed(tmp_path, f"hang{number}", 1) == ["asked"]
    thread = asyncio.run(open_thread("t", home=tmp_path))
    assert [turn.content for turn in thread.messages()] == ["hang0:0", "hang1:0", "hang2:0"]
    model = TestModel(custom_output_text="Here again.")
    asyncio.run(Agent(model=model).run("Still there?", thread=thread, user_id="ada"))
    assert [turn.role for turn in thread.messages()] == ["user"] * 4 + ["assistant"]


@pytest.mark.parametrize("lines", [2, 7, 12, 25, 40])
def test_every_run_that_returned_is_whole_and_every_other_at_most_begun(tmp_path: Path, lines: int) -> None:
    done = [line.removeprefix("done ") for line in killed(tmp_path, "run", lines) if line.startswith("done")]
    thread = asyncio.run(open_thread("t", home=tmp_path))
    turns = list(thread.messages())
    users = [turn.content for turn in turns if turn.role == "user"]
    assert users == [f"run:{number}" for number in range(len(users))]
    assert len(done) <= len(users) <= len(done) + 2
    for turn, after in itertools.pairwise(turns):
        assert turn.role != after.role
    answered = {str(turn.metadata["run"]) for turn in turns if turn.role == "assistant"}
    assert answered >= {str(turn.metadata["run"]) for turn in turns if turn.content in done}
    assert asyncio.run(episodes(tmp_path)) >= len(done)


async def episodes(home: Path) -> int:
    async with Memory(store=f"sqlite:///{(home / 'memory.db').as_posix()}") as memory:
        return await memory.count(user_id="ada", kinds=MemoryKind.EPISODIC)


INTERRUPTED = """
import asyncio, signal, sys
from pathlib import Path
from pydantic_ai.messages import ModelResponse
from pydantic_ai.models.function import FunctionModel
from retentive import sync
from retentive.agent import Agent

signal.signal(signal.SIGINT, signal.default_int_handler)
thread = sync.open_thread("t", home=Path(sys.argv[1]))

async def answer(messages, info):
    print("asked", flush=True)
    try:
        await asyncio.Event().wait()
    except asyncio.CancelledError:
        print("cancelled", flush=True)
        raise

try:
    Agent(model=FunctionModel(answer)).run_sync("Hello.", thread=thread)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


@pytest.mark.skipif(sys.platform == "win32", reason="a process cannot be sent Ctrl-C alone there")
def test_ctrl_c_cancels_a_blocking_run_and_the_process_ends(tmp_path: Path) -> None:
    process = subprocess.Popen([sys.executable, "-c", INTERRUPTED, str(tmp_path)], stdout=subprocess.PIPE)
    assert process.stdout is not None
    assert process.stdout.readline().strip() == b"asked"
    process.send_signal(signal.SIGINT)
    rest, _ = process.communicate(timeout=60)
    assert sorted(rest.decode().split()) == ["cancelled", "interrupted"]
    thread = asyncio.run(open_thread("t", home=tmp_path))
    assert [turn.content for turn in thread.messages()] == ["Hello."]
