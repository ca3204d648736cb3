"""The model that `retentive chat` talks to: any of pydantic-ai's, one behind a base URL, or a scripted one.

Imports pydantic-ai; only `chat` imports this, and late.
"""

import os
import re
from collections.abc import AsyncIterator, Sequence
from typing import Final

from pydantic_ai.exceptions import UserError
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, UserPromptPart
from pydantic_ai.models import Model, infer_model
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from retentive.errors import InvalidInput
from retentive.ranking.render import CLOSING, parse

MAX_REPEATED: Final = 3


def scripted() -> Model:
    """A model that repeats what memory gave it, and keeps what it is told where it has tools for that."""
    return FunctionModel(_whole, stream_function=_pieces, model_name="scripted")


def model_of(name: str, base_url: str | None) -> Model:
    """The model of that name; with a base URL, the one that an OpenAI-compatible service has there.

    Raises:
        InvalidInput: there is no such model or provider, or its package or its key is missing.
    """
    try:
        return infer_model(name) if base_url is None else _behind(name, base_url)
    except (UserError, ImportError, ValueError) as error:
        raise InvalidInput(f"the model {name!r} cannot be used: {error}") from error


def _behind(name: str, base_url: str) -> Model:
    from pydantic_ai.models.openai import OpenAIChatModel
    from pydantic_ai.providers.openai import OpenAIProvider

    key = os.environ.get("OPENAI_API_KEY") or "none"  # servers of one's own ask for none
    provider = OpenAIProvider(base_url=base_url, api_key=key)
    return OpenAIChatModel(name.removeprefix("openai:"), provider=provider)


def _whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    call = _call(messages, info)
    return ModelResponse(parts=[call or TextPart(_reply(messages))])


async def _pieces(
    messages: list[ModelMessage], info: AgentInfo
) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
    call = _call(messages, info)
    if call is not None:
        yield {0: DeltaToolCall(name=call.tool_name, json_args=call.args_as_json_str())}
        return
    for word in re.findall(r"\S+\s*", _reply(messages)):
        yield word


def _call(messages: Sequence[ModelMessage], info: AgentInfo) -> ToolCallPart | None:
    """Look things up first, then keep what was said if it was no question; with tools alone."""
    text, answers = _asked(messages)
    said = text.rpartition(CLOSING)[2].strip()
    calls = [ToolCallPart("search_memory", {"query": said})]
    if not said.endswith("?"):
        calls.append(ToolCallPart("remember", {"content": said}))
    has_tools = any(tool.name == "search_memory" for tool in info.function_tools)
    return calls[len(answers)] if has_tools and len(answers) < len(calls) else None


def _reply(messages: Sequence[ModelMessage]) -> str:
    text, answers = _asked(messages)
    found = [*parse(text), *(one for answer in answers for one in parse(answer))]
    if not found:
        return "I know of nothing that bears on this. (I am scripted, no real model.)"
    return "This may bear on it: " + " / ".join(found[:MAX_REPEATED]) + " (I am scripted, no real model.)"


def _asked(messages: Sequence[ModelMessage]) -> tuple[str, list[str]]:
    """What the user said last, with the block before it, and what tools have answered since."""
    parts = [part for message in messages for part in message.parts]
    place = max(at for at, part in enumerate(parts) if isinstance(part, UserPromptPart))
    after = [part for part in parts[place:] if part.part_kind in {"tool-return", "retry-prompt"}]
    return str(getattr(parts[place], "content", "")), [str(getattr(part, "content", "")) for part in after]
