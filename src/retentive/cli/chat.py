"""The command `chat`: talk to a model that remembers."""

import contextlib
import sys
from typing import TYPE_CHECKING, Annotated, Any, Final

import typer
from rich.console import Console

from retentive.cli.chat_talk import Talk
from retentive.cli.command import Answer, Where
from retentive.cli.output import console, visible
from retentive.clock import new_id
from retentive.errors import InvalidInput
from retentive.memory import Memory
from retentive.threads import Thread, open_thread

if TYPE_CHECKING:
    from pydantic_ai.models import Model

    from retentive.agent import MemoryCapability

SCRIPTED: Final = "scripted"
ABOUT_SCRIPTED: Final = (
    "This is no real model: it repeats what memory finds. Tell it something, leave with /quit, start it "
    "again and ask."
)
MODES: Final = ("auto", "llm", "off")
_INSTRUCTIONS: Final = "You are a helpful assistant in a terminal. Answer in plain text, briefly."


async def chat(
    where: Where,
    model: Annotated[
        str | None,
        typer.Option(
            help="As pydantic-ai names it, provider:model; or scripted, which is no real model and needs no "
            "key. Else RETENTIVE_MODEL.",
            metavar="MODEL",
            envvar="RETENTIVE_MODEL",
        ),
    ] = None,
    base_url: Annotated[
        str | None,
        typer.Option(
            help="An OpenAI-compatible service that has the model; its key, if it wants one, is in "
            "OPENAI_API_KEY.",
            metavar="URL",
        ),
    ] = None,
    thread: Annotated[
        str | None,
        typer.Option(help="The thread to go on with; without it a new one.", metavar="THREAD"),
    ] = None,
    mode: Annotated[
        str,
        typer.Option(
            help="auto recalls before each answer and extracts after it, llm lets the model look up and "
            "keep, off leaves memory alone.",
            metavar="MODE",
        ),
    ] = "auto",
) -> Answer:
    """Chat with a model that remembers. Shows beside each answer what was recalled for it."""
    if model is None:
        raise InvalidInput("name a model: --model provider:model, or --model scripted to try it with no key")
    if mode not in MODES:
        raise InvalidInput(f"mode must be one of {', '.join(MODES)}, not {mode!r}")
    asked = _model(model, base_url)
    out = console(sys.stdout)
    async with where.memory() as (memory, _):
        opened = await open_thread(thread or f"chat-{new_id()}", where.namespace)
        capability = _capability(where, memory, opened, mode, scripted=model == SCRIPTED)
        with contextlib.suppress(BrokenPipeError):  # the frame finds that out again, and knows what to do
            _greet(out, f"{model}, mode {mode}, {where.described()}", scripted=model == SCRIPTED)
            async with _agent(asked, capability) as agent:
                await Talk(agent, capability, memory, out).go_on()
    return Answer(data={"thread": opened.id, "turns": len(opened)}, show=lambda out: _farewell(out, opened))


def _model(name: str, base_url: str | None) -> "Model":
    try:
        from retentive.cli.chat_model import model_of, scripted
    except ImportError as error:
        raise InvalidInput("chat needs pydantic-ai: pip install 'retentive[agents,openai]'") from error
    return scripted() if name == SCRIPTED else model_of(name, base_url)


def _capability(
    where: Where, memory: Memory, thread: Thread, mode: Any, *, scripted: bool
) -> "MemoryCapability":
    from retentive.agent import MemoryCapability
    from retentive.extraction import VerbatimExtractor

    return MemoryCapability(
        memory,
        mode=mode,
        thread=thread,
        user_id=where.user,
        extractor=VerbatimExtractor() if scripted else "model",
        tools=("remember", "forget") if mode == "llm" else (),
    )


def _agent(model: "Model", capability: "MemoryCapability") -> Any:
    from pydantic_ai import Agent

    return Agent(model, instructions=_INSTRUCTIONS, capabilities=[capability])


def _greet(out: Console, what: str, *, scripted: bool) -> None:
    out.print(visible(f"{what}. /help lists what you can type."), style="dim", soft_wrap=True)
    if scripted:
        out.print(ABOUT_SCRIPTED, style="yellow", soft_wrap=True)


def _farewell(out: Console, thread: Thread) -> None:
    if len(thread):
        told = f"{len(thread)} turns in thread {visible(thread.id)}; --thread goes on with it"
        out.print(told, style="dim", soft_wrap=True)
