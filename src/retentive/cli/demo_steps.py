"""What the demo does, step by step; each step gives back what happened, and whether a promise was kept."""

import asyncio
import os
import sys
from collections import defaultdict
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

from retentive.checks import Json
from retentive.cli import demo_story as story
from retentive.codec import to_json, turn_to_dict
from retentive.drafts import NewMemory
from retentive.errors import StoreUnavailable
from retentive.events import Event
from retentive.memory import Memory
from retentive.ranking.dedupe import why_different
from retentive.recall import Recall
from retentive.stores.base import MemoryStore
from retentive.threads import open_thread
from retentive.types import MemoryItem, Receipt

TOP = 3
STEP_TURNS = 5
RIGHT_ANSWERS_PROMISED = 9


@dataclass(frozen=True, slots=True, kw_only=True)
class Fact:
    """A statement that was told, what is stored for it, and what the store made of it."""

    told: str
    item: MemoryItem
    restated: bool
    differs_from: str | None
    reason: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """A question and what was recalled; `rank` is that of the first right answer, None if there is none."""

    question: story.Question
    recall: Recall
    rank: int | None

    @property
    def is_right(self) -> bool:
        """Whether a right answer is among the first `TOP`."""
        return self.rank is not None and self.rank <= TOP


@dataclass(frozen=True, slots=True, kw_only=True)
class Forgotten:
    """What was recalled before and after a fact was forgotten, and the receipt.

    `files` are those that still hold its words.
    """

    before: Recall
    receipt: Receipt
    after: Recall
    files: tuple[str, ...]

    @property
    def is_gone(self) -> bool:
        """Whether it was there before, and neither its id nor its words are afterwards."""
        first = self.before[0] if self.before else None
        was_there = first is not None and first.content == story.SECRET
        left = [hit for hit in self.after if hit.id in self.receipt.ids or hit.content == story.SECRET]
        return was_there and len(self.receipt.ids) == 1 and not left and not self.files


@dataclass(frozen=True, slots=True, kw_only=True)
class Reopened:
    """A thread as this process knows it, and as a second process printed it."""

    thread: str
    length: int
    command: str
    printed: str
    is_equal: bool


async def remember_turns(
    memory: Memory, home: Path, said: Sequence[story.Said], advance: Callable[[int], None]
) -> int:
    """Append every turn to its thread and remember it; gives how many memories that made."""
    by_thread: defaultdict[str, list[story.Said]] = defaultdict(list)
    for turn in said:
        by_thread[turn.thread].append(turn)
    for thread_id, turns in by_thread.items():
        thread = await open_thread(thread_id, story.NAMESPACE, home=home)
        await thread.append_many([turn.as_turn() for turn in turns])
    ids: set[str] = set()
    for start in range(0, len(said), STEP_TURNS):
        batch = said[start : start + STEP_TURNS]
        ids.update(item.id for item in await memory.remember_many([turn.as_memory() for turn in batch]))
        advance(len(batch))
    return len(ids)


async def remember_facts(memory: Memory, facts: Sequence[NewMemory]) -> list[Fact]:
    """Tell each fact, one at a time, as it would come in real life."""
    told: list[Fact] = []
    events: list[Event] = []
    end = memory.subscribe(events.append)
    for fact in facts:
        events.clear()
        item = (await memory.remember_many([fact]))[0]
        restated = bool(events[0].restated)
        other = await memory.get(item.near) if item.near and not restated else None
        told.append(
            Fact(
                told=fact.content,
                item=item,
                restated=restated,
                differs_from=other.content if other else None,
                reason=why_different(item.content, other.content) if other else None,
            )
        )
    end()
    return told


async def ask(memory: Memory, question: story.Question) -> Asked:
    """Recall for a question, and find the first right answer in it."""
    recall = await memory.recall(question.ask, limit=10)
    right = {(question.thread, turn) for turn in question.turns}
    ranks = [
        hit.rank
        for hit in recall
        if (source := hit.item.source) is not None and (source.thread, *source.turns) in right
    ]
    return Asked(question=question, recall=recall, rank=min(ranks, default=None))


async def forget_secret(memory: Memory, home: Path) -> Forgotten:
    """Recall a fact, forget it, ask again, and look for its words on disk."""
    before = await memory.recall(story.SECRET_QUESTION, limit=TOP)
    receipt = await memory.forget(before[0].id) if before else await memory.forget("")
    after = await memory.recall(story.SECRET_QUESTION, limit=TOP)
    files = await _files_with(story.SECRET, home)
    return Forgotten(before=before, receipt=receipt, after=after, files=files)


_SEARCH = """
import pathlib, sys
for path in sorted(pathlib.Path(sys.argv[1]).rglob("*")):
    if path.is_file() and bytes.fromhex(sys.argv[2]) in path.read_bytes():
        print(path.name)
"""


async def _files_with(text: str, folder: Path) -> tuple[str, ...]:
    """The names of the files below the folder that hold the text.

    Another process reads them: to open a database beside SQLite lets go of the locks that this one has.
    """
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-I", "-c", _SEARCH, str(folder), text.encode().hex()),
        stdout=asyncio.subprocess.PIPE,
    )
    found, _ = await process.communicate()
    if process.returncode != 0:
        raise StoreUnavailable(f"the files in {folder} cannot be searched")
    return tuple(found.decode().splitlines())


async def reopen(home: Path) -> Reopened:
    """Append to a thread, and read it from another process."""
    thread_id, speaker, text = story.LAST_WORDS
    thread = await open_thread(thread_id, story.NAMESPACE, home=home)
    await thread.append(text, metadata={"speaker": speaker})
    show = ["show", thread_id, "--namespace", story.NAMESPACE]
    printed, as_json = await asyncio.gather(
        _second_process(home, [*show, "--limit", str(TOP)]), _second_process(home, [*show, "--json"])
    )
    expected: dict[str, Json] = {
        "thread": thread_id,
        "namespace": story.NAMESPACE,
        "length": len(thread),
        "turns": [turn_to_dict(turn) for turn in thread.messages()],
    }
    return Reopened(
        thread=thread_id,
        length=len(thread),
        command=" ".join(["retentive", *show, "--limit", str(TOP)]),
        printed=printed.rstrip(),
        is_equal=as_json.strip() == to_json(expected),
    )


async def _second_process(home: Path, args: Sequence[str]) -> str:
    env = {**os.environ, "RETENTIVE_HOME": str(home), "COLUMNS": "76", "NO_COLOR": "1"}
    env.pop("FORCE_COLOR", None)
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        "-m",
        "retentive.cli",
        *args,
        env=env,
        stdin=asyncio.subprocess.DEVNULL,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
    )
    printed, _ = await process.communicate()
    return printed.decode("utf-8", "replace").replace("\r\n", "\n")


async def ask_as_another(store: MemoryStore, questions: Sequence[story.Question]) -> int:
    """Ask all of it as another tenant of the same store; gives how many hits that finds in all."""
    async with Memory(story.OTHER_NAMESPACE, store=store, clock=lambda: story.NOW) as other:
        return sum([len(await other.recall(question.ask)) for question in questions])
