"""A conversation in the terminal: lines in, answers streamed out, and beside each what memory did for it."""

import asyncio
import signal
import sys
import threading
from collections.abc import Awaitable, Callable, Generator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, Final

from rich.console import Console

from retentive.cli.output import one_line, print_items, visible
from retentive.clock import new_id
from retentive.errors import InvalidInput, RetentiveError
from retentive.memory import Memory

if TYPE_CHECKING:
    from pydantic_ai import Agent

    from retentive.agent import MemoryCapability, RunReport

PROMPT: Final = "you> "
HELP: Final = """\
/memories      what is remembered of you, with ids
/forget ID     forget one for good
/quit          leave; so do Ctrl-D, and Ctrl-C while nothing is being answered
Ctrl-C         stop an answer; the thread keeps what had come"""
MAX_LISTED: Final = 20


class Talk:
    """One conversation: reads a line, answers it or does what it says, until there are no more."""

    def __init__(
        self, agent: "Agent[Any, Any]", capability: "MemoryCapability", memory: Memory, out: Console
    ) -> None:
        self._agent = agent
        self._capability = capability
        self._memory = memory
        self._user_id = capability.user_id
        self._out = out
        self._line_is_open = False
        self._commands: dict[str, Callable[[str], Awaitable[None]]] = {
            "/help": self._help,
            "/memories": self._memories,
            "/forget": self._forget,
        }

    async def go_on(self) -> None:
        """Until /quit, the end of the input, or Ctrl-C at the prompt.

        Raises:
            RetentiveError: the thread or the store cannot be used any more.
        """
        while (line := _read_line()) is not None and line != "/quit":
            try:
                await self._do(line)
            except InvalidInput as error:
                self._say(str(error), "red")

    async def _do(self, line: str) -> None:
        if line.startswith("/"):
            name, _, rest = line.partition(" ")
            await self._commands.get(name, self._unknown)(rest.strip())
        elif line:
            await self._answer(line)

    async def _answer(self, line: str) -> None:
        """Stream the answer; what goes wrong with the model is said, and the conversation goes on."""
        run_id = new_id()
        task = asyncio.ensure_future(self._stream(line, run_id))
        try:
            with _ctrl_c_cancels(task):
                await task
        except asyncio.CancelledError:
            self._say("(stopped; the thread keeps what had come)", "yellow")
        except (RetentiveError, BrokenPipeError):
            raise
        except Exception as error:  # noqa: BLE001 - whatever the model's client makes of a service that fails
            self._say(f"the model failed: {type(error).__name__}: {error}", "red")
        self._end_line()
        report = self._capability.report(run_id)
        if report is not None:
            self._beside(report)

    async def _stream(self, line: str, run_id: str) -> None:
        from pydantic_ai.messages import FunctionToolCallEvent

        async with self._agent.run_stream_events(line, run_id=run_id) as events:
            async for event in events:
                if isinstance(event, FunctionToolCallEvent):
                    self._say(f"  [{event.part.tool_name}]", "dim")
                elif text := _text_of(event):
                    self._out.file.write(visible(text))
                    self._out.file.flush()
                    self._line_is_open = True

    def _beside(self, report: "RunReport") -> None:
        for hit in report.recalled:
            self._say(f"  recalled    {one_line(hit.content)}  ({hit.score:.2f}, {hit.id})", "cyan")
        for leg, why in report.recalled.degraded.items():
            self._say(f"  degraded    {leg}: {why}", "yellow")
        for item in report.remembered:
            self._say(f"  remembered  {one_line(item.content)}  ({item.id})", "green")
        for failure in report.failures:
            self._say(f"  failed      {failure}", "yellow")

    def _end_line(self) -> None:
        if self._line_is_open:
            self._out.print()
            self._line_is_open = False

    def _say(self, text: str, style: str) -> None:
        self._end_line()
        self._out.print(visible(text), style=style, soft_wrap=True)

    async def _help(self, _: str) -> None:
        self._say(HELP, "dim")

    async def _memories(self, _: str) -> None:
        items = (await self._memory.list(user_id=self._user_id, limit=MAX_LISTED)).items
        print_items(self._out, items)
        if not items:
            self._say("nothing is remembered", "dim")

    async def _forget(self, memory_id: str) -> None:
        if not memory_id:
            raise InvalidInput("name what to forget: /forget ID; /memories shows the ids")
        receipt = await self._memory.forget(memory_id, user_id=self._user_id)
        self._say("forgotten" if receipt else f"there is no memory {memory_id}", "dim")

    async def _unknown(self, _: str) -> None:
        self._say("there is no such command; /help lists them", "red")


def _read_line() -> str | None:
    """What the user types next, trimmed; None at the end of the input or at Ctrl-C.

    It blocks the event loop on purpose: nothing goes on between two answers, and Ctrl-C ends it at once.
    """
    try:
        return input(PROMPT if sys.stdin.isatty() else "").strip()
    except (EOFError, KeyboardInterrupt):
        sys.stdout.write("\n")
        return None


def _text_of(event: Any) -> str:
    """The text that an event of a stream brings; "" for other events."""
    if event.event_kind == "part_start" and event.part.part_kind == "text":
        return event.part.content
    if event.event_kind == "part_delta" and event.delta.part_delta_kind == "text":
        return event.delta.content_delta
    return ""


@contextmanager
def _ctrl_c_cancels(task: "asyncio.Task[None]") -> Generator[None]:
    """Have Ctrl-C cancel the task, on every platform, instead of ending the command."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    loop = asyncio.get_running_loop()

    def cancel(*_: object) -> None:
        loop.call_soon_threadsafe(task.cancel)

    before = signal.signal(signal.SIGINT, cancel)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
