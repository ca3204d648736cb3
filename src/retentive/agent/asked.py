"""What the user says to a run, wherever it stands in what the run was given. Pure."""

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic_ai.messages import ModelMessage, ModelRequest, UserContent, UserPromptPart

from retentive import checks
from retentive.agent.transcript import JOIN, prompt_text
from retentive.types import Scope


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the user says, which may be nothing.

    `run` is the run that was asked this before, where this one goes on with messages that end in it;
    `has_history` is whether messages were passed that stand before it.
    """

    text: str
    run: str | None = None
    has_history: bool = False


def asked_of(prompt: str | Sequence[UserContent] | None, messages: Sequence[ModelMessage]) -> Asked:
    """What a run is asked: its prompt, or without one the user's words at the end of its message history."""
    last = messages[-1] if messages else None
    if prompt is None and isinstance(last, ModelRequest):
        said = [prompt_text(part.content) for part in last.parts if isinstance(part, UserPromptPart)]
        if said:
            return Asked(text=JOIN.join(said), run=last.run_id, has_history=len(messages) > 1)
    return Asked(text=prompt_text(prompt), has_history=bool(messages))


def check_asked(text: str, user_id: str | None) -> None:
    """Nothing, if a run may begin with this: the same in every mode, with a thread or without.

    Raises:
        InvalidInput: the text is longer than a turn may be, or holds what no store can keep; or `user_id` is
            no name of a user.
    """
    Scope("default", user_id)
    if text.strip():
        checks.check_text("prompt", text)
