"""The model that an example asks: the one you name, else a scripted one that needs no key and no network.

Name one on the command line or in RETENTIVE_MODEL, as pydantic-ai does: "openai:gpt-5-mini", say.
"""

import json
import os
import re
import sys
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart, ToolCallPart, ToolReturnPart
from pydantic_ai.models import Model
from pydantic_ai.models.function import AgentInfo, DeltaToolCall, FunctionModel

from retentive.ranking.render import CLOSING, parse

_CONVERSATION = re.compile("<conversation>\n(.*)\n</conversation>", re.DOTALL)


@dataclass
class Request:
    """What a request comes to: the user's words, the memories before them, what tools have answered."""

    said: str
    recalled: Sequence[str]
    answered: Sequence[str]


Answer = Callable[[Request], str | ToolCallPart]


def model_or(answer: Answer, keep: Callable[[str], str | None] = lambda _: None) -> Model | str:
    """The model that was named, or one that answers so; `keep` is what it finds worth keeping of a turn."""
    named = next(iter(sys.argv[1:]), "") or os.environ.get("RETENTIVE_MODEL")
    if named:
        return named

    def whole(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
        if info.output_tools:  # it is asked for memories, not for an answer
            return ModelResponse(parts=[ToolCallPart(info.output_tools[0].name, _kept(messages, keep))])
        told = answer(_request(messages))
        return ModelResponse(parts=[TextPart(told) if isinstance(told, str) else told])

    async def pieces(
        messages: list[ModelMessage], _: AgentInfo
    ) -> AsyncIterator[str | dict[int, DeltaToolCall]]:
        for word in re.findall(r"\S+\s*", str(answer(_request(messages)))):
            yield word

    return FunctionModel(whole, stream_function=pieces, model_name="scripted")


def _request(messages: Sequence[ModelMessage]) -> Request:
    parts = [part for message in messages for part in message.parts]
    last = max(place for place, part in enumerate(parts) if part.part_kind == "user-prompt")
    text = str(getattr(parts[last], "content", ""))
    answered = [str(part.content) for part in parts[last:] if isinstance(part, ToolReturnPart)]
    return Request(text.rpartition(CLOSING)[2].strip(), parse(text), answered)


def _kept(messages: Sequence[ModelMessage], keep: Callable[[str], str | None]) -> dict[str, object]:
    found = _CONVERSATION.search(_request(messages).said)
    turns = [json.loads(line) for line in found[1].splitlines()] if found else []
    mine = [(turn["turn"], keep(turn["text"])) for turn in turns if turn["who"] == "user"]
    return {"statements": [{"content": text, "turns": [number]} for number, text in mine if text]}
