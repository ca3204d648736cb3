"""Between a thread's turns and a model's messages: what is sent ahead, and what a run leaves behind.

Pure. A thread keeps what was said, word for word; tool calls and their answers are never in it, so whatever
part of it is sent is a valid conversation.
"""

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from typing import Any, Final

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextContent,
    TextPart,
    ToolCallPart,
    UserContent,
    UserPromptPart,
)
from pydantic_ai.tools import DeferredToolRequests
from pydantic_core import to_json

from retentive.checks import MAX_TEXT_CHARS
from retentive.conversation import OPENING, Conversation
from retentive.tokens import truncate
from retentive.types import Turn

JOIN: Final = "\n\n"
_REPLACED: Final = str.maketrans({"\x00": "\ufffd"})


def prompt_text(prompt: str | Sequence[UserContent] | None) -> str:
    """What the user wrote; pictures, sounds and files are named by kind in square brackets. May be empty."""
    if prompt is None or isinstance(prompt, str):
        return prompt or ""
    return "\n".join(_content_text(part) for part in prompt)


def _content_text(part: UserContent) -> str:
    if isinstance(part, str):
        return part
    if isinstance(part, TextContent):
        return part.content
    kind = str(getattr(part, "kind", type(part).__name__))
    return "" if kind == "cache-point" else f"[{kind.removesuffix('-url')}]"


def answer_text(output: object, messages: Iterable[ModelMessage]) -> str:
    """What the assistant answered: the output if it is text, else the output as JSON.

    A run that ended with tool calls for somebody else to make has only the text beside them, if any.
    """
    if isinstance(output, str):
        return output
    if output is None or isinstance(output, DeferredToolRequests):
        return produced_text(messages)
    return to_json(output, fallback=repr).decode()


def produced_text(messages: Iterable[ModelMessage], output_tools: Collection[str] = ()) -> str:
    """All text that the model has written in these messages so far, in order; empty if none.

    An answer of a fixed form is a call of one of `output_tools`: of the last response its arguments are given
    too, as JSON that may be cut off anywhere.
    """
    responses = [message for message in messages if isinstance(message, ModelResponse)]
    texts = ["".join(part.content for part in r.parts if isinstance(part, TextPart)) for r in responses]
    calls = [part for r in responses[-1:] for part in r.parts if isinstance(part, ToolCallPart)]
    given = [call for call in calls if call.tool_name in output_tools and call.args]
    texts += [call.args if isinstance(call.args, str) else call.args_as_json_str() for call in given]
    return JOIN.join(text for text in texts if text.strip())


def storable(text: str) -> str:
    """The text as a store can keep it: what a model wrote must not be lost for one bad character.

    U+0000 and halves of surrogate pairs become U+FFFD; what is longer than a turn may be is cut.
    """
    clean = text.translate(_REPLACED).encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    return truncate(clean, MAX_TEXT_CHARS)


def history(conversation: Conversation) -> list[ModelMessage]:
    """The turns as messages in which user and assistant take turns, the user first.

    Consecutive turns of one side become one message of that side, joined by a blank line: after a run without
    an answer the user speaks twice. A conversation that begins with the assistant gets `OPENING` before it.
    Tool turns are the user's, and say so.
    """
    messages: list[ModelMessage] = []
    for turn in conversation:
        if turn.role == "assistant":
            _add_answer(messages, turn)
        else:
            _add_request(messages, turn)
    if messages and isinstance(messages[0], ModelResponse):
        messages.insert(0, ModelRequest(parts=[UserPromptPart(OPENING, timestamp=messages[0].timestamp)]))
    return messages


def _add_answer(messages: list[ModelMessage], turn: Turn) -> None:
    last = messages[-1] if messages else None
    if isinstance(last, ModelResponse):
        said = f"{produced_text([last])}{JOIN}{turn.content}"
        messages[-1] = ModelResponse(parts=[TextPart(said)], timestamp=turn.at)
        return
    if last is not None and _users(last) is None:  # system turns alone ask nothing
        messages[-1] = _with_parts(last, [*last.parts, UserPromptPart(OPENING, timestamp=turn.at)])
    messages.append(ModelResponse(parts=[TextPart(turn.content)], timestamp=turn.at))


def _add_request(messages: list[ModelMessage], turn: Turn) -> None:
    last = messages.pop() if messages and isinstance(messages[-1], ModelRequest) else None
    request = last or ModelRequest(parts=[], timestamp=turn.at)
    parts: list[Any] = list(request.parts)
    said = f"[tool result]\n{turn.content}" if turn.role == "tool" else turn.content
    place = _users(request)
    if turn.role == "system":
        parts.append(SystemPromptPart(turn.content, timestamp=turn.at))
    elif place is None:
        parts.append(UserPromptPart(said, timestamp=turn.at))
    else:
        before = parts[place]
        parts[place] = UserPromptPart(f"{before.content}{JOIN}{said}", timestamp=before.timestamp)
    messages.append(_with_parts(request, parts))


def _users(message: ModelMessage) -> int | None:
    """The place of the part in which the user speaks; None if there is none."""
    return next((n for n, part in enumerate(message.parts) if isinstance(part, UserPromptPart)), None)


def of_run(messages: Iterable[ModelMessage], run_id: str | None) -> list[ModelMessage]:
    """The messages of one run, without those that it was given."""
    return [message for message in messages if message.run_id == run_id]


def with_context(
    messages: Sequence[ModelMessage], run_id: str | None, ahead: Sequence[ModelMessage], block: str
) -> list[ModelMessage]:
    """One request's messages with the thread's turns ahead and the block before the user's words.

    Both go to the same places in every request of the run, so each request begins as the one before did. The
    block is the beginning of the run's own user message: never of a system message, and no message of its
    own, which would be a second user message in a row. System parts stay in front of the turns.

    Where others have rewritten the messages, so that none is the run's own, it is the last in which the user
    speaks; where they have cut off the user's words, the block stands alone before what is left.
    """
    if not (ahead or block):
        return list(messages)
    own = next((n for n, message in enumerate(messages) if message.run_id == run_id), None)
    place = own if own is not None and isinstance(messages[own], ModelRequest) else _asking(messages[:own])
    if place is None:
        place = own or 0
        before, first = _joined(list(ahead), ModelRequest(parts=[UserPromptPart(block or OPENING)]))
        return [*messages[:place], *before, first, *messages[place:]]
    before, first = _joined(list(ahead), _told(messages[place], block))
    return [*messages[:place], *before, first, *messages[place + 1 :]]


def _asking(messages: Sequence[ModelMessage]) -> int | None:
    """The place of the last message in which the user speaks; None if there is none."""
    return next((n for n in reversed(range(len(messages))) if _users(messages[n]) is not None), None)


def _told(request: ModelMessage, block: str) -> ModelRequest:
    """The request with the block before what the user says, or at its end if the user says nothing."""
    place = _users(request)
    parts: list[Any] = list(request.parts)
    if block and place is None:
        parts.append(UserPromptPart(block))
    elif block and place is not None:
        parts[place] = _preceded(parts[place], block)
    return _with_parts(request, parts)


def _joined(ahead: list[ModelMessage], request: ModelRequest) -> tuple[list[ModelMessage], ModelRequest]:
    """The turns ahead and the run's own request, put together so that both sides still take turns."""
    system = [part for part in request.parts if isinstance(part, SystemPromptPart)]
    own: list[Any] = [part for part in request.parts if not isinstance(part, SystemPromptPart)]
    if ahead and isinstance(ahead[-1], ModelRequest):
        own = _after(ahead.pop(), own)
    if not ahead:
        return ahead, _with_parts(request, [*system, *own])
    return [_with_parts(ahead[0], [*system, *ahead[0].parts]), *ahead[1:]], _with_parts(request, own)


def _after(unanswered: ModelMessage, own: list[Any]) -> list[Any]:
    """The parts of a request that goes on where one without an answer ended; the user speaks once in them."""
    earlier: list[Any] = list(unanswered.parts)
    place, said = (
        _users(unanswered),
        next((n for n, p in enumerate(own) if isinstance(p, UserPromptPart)), None),
    )
    if place is None or said is None:
        return [*earlier, *own]
    own[said] = _preceded(own[said], earlier.pop(place).content)
    return [*earlier, *own]


def _preceded(part: UserPromptPart, text: str) -> UserPromptPart:
    """The user's part with a text before it."""
    said = part.content
    content = f"{text}{JOIN}{said}" if isinstance(said, str) else [text, *said]
    return UserPromptPart(content, timestamp=part.timestamp)


def _with_parts(message: ModelMessage, parts: Sequence[Any]) -> ModelRequest:
    assert isinstance(message, ModelRequest)
    return replace(message, parts=list(parts))
