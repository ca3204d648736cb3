"""The form in which a model answers. Imports pydantic; only `llm` imports this, and late.

Loose on purpose: one odd value in one statement must not cost the others. What can be used is decided after.
"""

from typing import Annotated, Any, cast

from pydantic import BaseModel, BeforeValidator, Field, WithJsonSchema
from pydantic_ai import NativeOutput, PromptedOutput, ToolOutput

from retentive.extraction.base import EXTRACTED_KINDS, Decision

_NAME = "keep"
_ABOUT = "Everything worth keeping, the most important first. An empty list when nothing is."


def _one_of(names: list[str]) -> WithJsonSchema:
    return WithJsonSchema({"type": "string", "enum": names})


def _number(value: object) -> float:
    try:
        return float(value)  # pyright: ignore[reportArgumentType]
    except (TypeError, ValueError):
        return 0.5


def _numbers(value: object) -> list[int]:
    values = cast("list[Any]", value) if isinstance(value, list) else [value]
    return [one for one in values if type(one) is int]


def _text(value: object) -> str | None:
    return value if isinstance(value, str) else None


class Said(BaseModel):
    """One statement worth keeping."""

    content: str = Field(
        description="The statement: one sentence, clear by itself, in the conversation's language."
    )
    kind: Annotated[str, _one_of([str(kind) for kind in EXTRACTED_KINDS])] = Field(
        default="semantic",
        description="semantic: a fact, preference or constraint. episodic: something that happened or was "
        "decided. procedural: how something is to be done.",
    )
    importance: Annotated[
        float, BeforeValidator(_number), WithJsonSchema({"type": "number", "minimum": 0, "maximum": 1})
    ] = Field(default=0.5, description="0 (trivia) to 1 (must never be forgotten).")
    subject: Annotated[str | None, BeforeValidator(_text)] = Field(
        default=None, description="Whom or what it is about, in a few words."
    )
    turns: Annotated[
        list[int],
        BeforeValidator(_numbers),
        WithJsonSchema({"type": "array", "items": {"type": "integer"}}),
    ] = Field(description="The numbers of the turns it comes from.")
    decision: Annotated[str, _one_of([str(one) for one in Decision])] = Field(
        default="new",
        description="new; restates a known memory that says the same; supersedes one that it makes untrue.",
    )
    memory: Annotated[str | None, BeforeValidator(_text)] = Field(
        default=None, description="The handle of that known memory, such as m1."
    )


class Answer(BaseModel):
    """What the model found."""

    statements: list[Said] = Field(description=_ABOUT)


def output_type(mode: str | None) -> Any:
    """How pydantic-ai is to ask for it; None is by the model's own preference."""
    if mode is None:
        return Answer
    if mode == "tool":
        return ToolOutput(Answer, name=_NAME, description=_ABOUT)
    if mode == "native":
        return NativeOutput(Answer, name=_NAME, description=_ABOUT)
    return PromptedOutput(Answer, name=_NAME, description=_ABOUT)
