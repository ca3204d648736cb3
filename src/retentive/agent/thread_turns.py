"""The turns that a run writes to its thread: the user's before the model is asked, the assistant's after."""

import threading
from collections import OrderedDict
from collections.abc import Mapping
from typing import Any, Final

from retentive import sync
from retentive.agent.report import RunReport, RunState
from retentive.agent.transcript import storable
from retentive.conversation import Conversation
from retentive.errors import Conflict, ReadOnly, RedactionError, StoreError
from retentive.guards import OFF
from retentive.memory import Memory
from retentive.stores.base import ThreadStore
from retentive.threads import Thread, open_thread
from retentive.types import Turn

MAX_UNWRITTEN: Final = 100
"""How many answers that could not be written are kept in memory, over all threads."""


class Unwritten:
    """Answers whose thread could not be written; tried again before the thread's next run."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._turns: OrderedDict[str, tuple[str, Mapping[str, Any]]] = OrderedDict()

    def keep(self, thread: Thread, turn: Mapping[str, Any]) -> None:
        """Keep the turn; of more than `MAX_UNWRITTEN` the oldest is let go of."""
        with self._lock:
            self._turns[str(turn["metadata"]["run"])] = (thread.url, turn)
            while len(self._turns) > MAX_UNWRITTEN:
                self._turns.popitem(last=False)

    async def write(self, thread: Thread) -> None:
        """Append what is kept for this thread, in order; an error leaves it kept.

        Raises:
            StoreError: it still cannot be written.
        """
        with self._lock:
            mine = {run: turn for run, (url, turn) in self._turns.items() if url == thread.url}
        if not mine:
            return
        there = [turn.metadata.get("run") for turn in thread.messages().filter(role="assistant")]
        await thread.append_many([turn for run, turn in mine.items() if run not in there])
        with self._lock:
            for run in mine:
                self._turns.pop(run, None)


class ThreadTurns:
    """One run's turns in one thread. The thread is held for the run by `threads.lease` meanwhile."""

    def __init__(self, thread: Thread, report: RunReport, user_id: str | None, unwritten: Unwritten) -> None:
        self.thread = thread
        self._report = report
        self._user_id = user_id
        self._unwritten = unwritten
        self._since = 0

    async def open(self) -> Conversation:
        """What was said in the thread before this run.

        Raises:
            ReadOnly: the thread was opened `read_only`.
            Conflict: a run for another user has spoken in it.
            StoreError: it cannot be read, or an earlier answer still cannot be written.
        """
        if self.thread.read_only:
            raise ReadOnly(f"thread {self.thread.id!r} was opened read_only; a run writes its turns to it")
        await self.thread.refresh()
        check_owner(self.thread, self._user_id)
        await self._unwritten.write(self.thread)
        said = self.thread.messages()
        self._since = said[-1].seq if said else 0
        return said

    @property
    def since(self) -> int:
        """The number of the last turn before this run; 0 if there was none."""
        return self._since

    async def ask(self, text: str) -> None:
        """Append the user's turn; it is durable when this returns.

        Raises:
            InvalidInput, RedactionError, StoreError: it was not appended, and the run must not begin.
        """
        await self.thread.append(text, metadata=self._metadata())

    async def answer(self, text: str) -> None:
        """Append what the assistant said; what a run left unfinished says so in `metadata["state"]`.

        Raises:
            Conflict: the thread was deleted meanwhile.
            StoreError, RedactionError: it cannot be written now; it is kept, and written before the
                thread's next run.
        """
        more: dict[str, Any] = {}
        if self._report.state is not RunState.COMPLETE:
            more["state"] = self._report.state.value
        if self._report.recalled:
            more["recalled"] = self._report.recalled_ids
        turn = {"content": storable(text), "role": "assistant", "metadata": self._metadata() | more}
        try:
            await self.thread.append_many([turn])
        except (StoreError, RedactionError):
            self._unwritten.keep(self.thread, turn)
            raise

    def numbers(self) -> tuple[int, ...]:
        """The numbers of this run's turns in the thread."""
        return tuple(turn.seq for turn in self.thread.messages() if self._is_mine(turn))

    def _is_mine(self, turn: Turn) -> bool:
        return turn.seq > self._since and turn.metadata.get("run") == self._report.run_id

    def _metadata(self) -> dict[str, Any]:
        owner = {} if self._user_id is None else {"user_id": self._user_id}
        return {"run": self._report.run_id, **owner}


def check_owner(thread: Thread, user_id: str | None) -> None:
    """Nothing, if every turn that a run wrote to the thread was for this user.

    Raises:
        Conflict: a turn was for another user. The message does not name that one.
    """
    for turn in thread.messages():
        if "run" in turn.metadata and turn.metadata.get("user_id") != user_id:
            raise Conflict(
                f"thread {thread.id!r} holds the conversation of another user_id than this run's; nothing of "
                "it was read or sent. Use a thread for each user, or pass the user_id it was begun with"
            )


async def thread_of(
    given: Thread | sync.Thread | str,
    namespace: str,
    store: ThreadStore | None,
    memory: Memory | None = None,
) -> Thread:
    """The thread itself, or the one of that id in the namespace. `store` None is the default place.

    One that is opened here is sealed and encrypted as the memory is, and takes out of its turns what the
    memory's redactor takes out of memories.
    """
    if isinstance(given, str) and memory is not None:
        return await open_thread(
            given,
            namespace,
            store=store,
            integrity=memory.guards.integrity or OFF,
            encryption=memory.guards.encryption or OFF,
            redactor=memory.redactor,
        )
    if isinstance(given, str):
        return await open_thread(given, namespace, store=store)
    return given.asynchronous if isinstance(given, sync.Thread) else given
