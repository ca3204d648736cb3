"""What the strictest provider takes: for tests of what is sent to a model. Needs pydantic-ai."""

from collections.abc import Sequence

from pydantic_ai.messages import (
    ModelMessage,
    ModelRequestPart,
    ModelResponsePart,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)


class RefusedByProvider(Exception):
    """The request is not a valid conversation; the message says where."""


def roles(messages: Sequence[ModelMessage]) -> list[str]:
    """What a provider sees, in order: system, user, assistant, call:<id>, return:<id>.

    Raises:
        RefusedByProvider: a part of another kind.
    """
    return [_role(part) for message in messages for part in message.parts]


def _role(part: ModelRequestPart | ModelResponsePart) -> str:
    match part:
        case SystemPromptPart():
            return "system"
        case TextPart():
            return "assistant"
        case ToolCallPart():
            return f"call:{part.tool_call_id}"
        case ToolReturnPart():
            return f"return:{part.tool_call_id}"
        case UserPromptPart():
            return "user"
        case _ if part.part_kind == "retry-prompt":
            return f"return:{part.tool_call_id}" if part.tool_name else "user"
        case _:
            raise RefusedByProvider(f"unknown part {part!r}")


def check_strictly(messages: Sequence[ModelMessage]) -> None:
    """Nothing, if a provider of the strictest kind takes the messages as a request.

    The user speaks first, users and assistants take turns, every call has one answer before anybody speaks
    again and every answer its call, and the end is the user or an answer.

    Raises:
        RefusedByProvider: one of these does not hold.
    """
    open_calls: list[str] = []
    last = "assistant"
    spoken = False
    for role in roles(messages):
        if role == "system":
            continue
        if role.startswith("call:"):
            open_calls.append(role.removeprefix("call:"))
            last = "assistant"
        elif role.startswith("return:"):
            if role.removeprefix("return:") not in open_calls:
                raise RefusedByProvider(f"{role} without its call")
            open_calls.remove(role.removeprefix("return:"))
            last = "return"
        else:
            if open_calls:
                raise RefusedByProvider(f"{open_calls} without an answer")
            if role == last == "user" or (role == "assistant" and not spoken):
                raise RefusedByProvider(f"{role} after {last}")
            last, spoken = role, True
    if last == "assistant" or open_calls:
        raise RefusedByProvider("the request does not end with the user")
