"""A run's own working memory: there while the run lasts, for its tools and for the model, forgotten after."""

from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Final

from pydantic_ai.exceptions import ModelRetry

from retentive.agent.report import RunReport
from retentive.errors import InvalidInput, RetentiveError
from retentive.memory import Memory
from retentive.memory.working import WorkingMemory

MAX_NOTES_SHOWN: Final = 50
NO_NOTES: Final = "There are no notes yet."

_current: "ContextVar[Scratch | None]" = ContextVar("retentive_scratch", default=None)


class Scratch:
    """The working memory of one run, begun when it is first asked for."""

    def __init__(self, memory: Memory, report: RunReport, user_id: str | None) -> None:
        self._memory = memory
        self._report = report
        self._user_id = user_id
        self._working: WorkingMemory | None = None

    @property
    def working(self) -> WorkingMemory:
        """The memory itself."""
        if self._working is None:
            self._working = self._memory.working(self._report.run_id, user_id=self._user_id)
        return self._working

    async def end(self) -> None:
        """Forget what the run noted down.

        Raises:
            StoreError: some of it may stay until it expires.
        """
        if self._working is not None:
            await self._working.end()


@contextmanager
def scratch_of(scratch: Scratch | None) -> Generator[None, None, None]:
    """Have `working_memory()` give this one in the block, and in tasks begun in it."""
    token = _current.set(scratch)
    try:
        yield
    finally:
        _current.reset(token)


def working_memory() -> WorkingMemory:
    """The working memory of the run that this is called in: for the tools of an agent with a Memory.

    What it remembers is forgotten when the run ends, however that ends. Other runs do not recall it.

    Raises:
        InvalidInput: no run of such an agent is going on here.
    """
    scratch = _current.get()
    if scratch is None:
        raise InvalidInput(
            "working_memory() is for the tools of an agent: call it inside a run of one that has a Memory, "
            "with mode 'auto' or 'llm'; elsewhere use memory.working(run_id)"
        )
    return scratch.working


class NoteTools:
    """Two tools by which a model keeps notes for as long as its run lasts."""

    def __init__(self, scratch: Callable[[], Scratch]) -> None:
        self._scratch = scratch

    async def take_note(self, content: str) -> str:
        """Note something down for this task only, such as how far you are. It is forgotten when you are done.

        Args:
            content: What to keep in mind, as a sentence that stands alone.
        """
        return await _said(self._noted(content))

    async def read_notes(self) -> str:
        """Read the notes that you took during this task, oldest first."""
        return await _said(self._read())

    async def _noted(self, content: str) -> str:
        await self._scratch().working.remember(content)
        return "Noted."

    async def _read(self) -> str:
        items = await self._scratch().working.items()
        return "\n".join(f"- {item.content}" for item in items[-MAX_NOTES_SHOWN:]) or NO_NOTES


async def _said(doing: Awaitable[str]) -> str:
    try:
        return await doing
    except InvalidInput as error:
        raise ModelRetry(str(error)) from error
    except RetentiveError:
        return "The notes cannot be kept right now."
