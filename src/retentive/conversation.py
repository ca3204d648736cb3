"""A conversation as a value: turns in order, immutable, with the shapes that model APIs take."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from datetime import datetime
from typing import TYPE_CHECKING, Any, Final, overload

from retentive.checks import check_limit, check_metadata, check_text, check_time
from retentive.clock import new_id, utc_now
from retentive.errors import InvalidInput, RetentiveError
from retentive.frozen import frozen
from retentive.tokens import TokenCounter, estimate_tokens
from retentive.types import Turn

if TYPE_CHECKING:
    from pydantic_ai.messages import ModelMessage

ROLES: Final = ("user", "assistant", "system", "tool")
MAX_TURNS: Final = 1_000_000_000
TOKENS_PER_TURN: Final = 4
OPENING: Final = "..."
"""What stands in for the user's first words where an API wants some and the conversation begins without."""


class Conversation(Sequence[Turn]):
    """Turns in order. Nothing changes it: every method gives a new value or a part of this one.

    Equal to another conversation, a list or a tuple of the same turns.
    """

    __slots__ = ("_turns",)

    def __init__(self, turns: Iterable[Turn] = ()) -> None:
        self._turns = tuple(turns)

    @overload
    def __getitem__(self, index: int) -> Turn: ...
    @overload
    def __getitem__(self, index: slice) -> "Conversation": ...
    def __getitem__(self, index: int | slice) -> "Turn | Conversation":
        return Conversation(self._turns[index]) if isinstance(index, slice) else self._turns[index]

    def __len__(self) -> int:
        return len(self._turns)

    def __iter__(self) -> Iterator[Turn]:
        return iter(self._turns)

    def __eq__(self, other: object) -> bool:
        if isinstance(other, Conversation):
            return self._turns == other._turns
        if isinstance(other, (list, tuple)):
            return self._turns == tuple(other)  # pyright: ignore[reportUnknownArgumentType]
        return NotImplemented

    __hash__ = None  # type: ignore[assignment]

    def __repr__(self) -> str:
        last = self.last()
        end = f", last {last.role}: {last.content[:40]!r}" if last else ""
        return f"<Conversation of {len(self)} turns{end}>"

    def filter(
        self, predicate: Callable[[Turn], object] | None = None, *, role: str | None = None
    ) -> "Conversation":
        """The turns for which `predicate` is true and whose role is `role`; None asks for nothing."""
        return Conversation(
            turn
            for turn in self._turns
            if (role is None or turn.role == role) and (predicate is None or predicate(turn))
        )

    def last(self, role: str | None = None) -> Turn | None:
        """The latest turn, or the latest of that role; None if there is none."""
        return next((turn for turn in reversed(self._turns) if role is None or turn.role == role), None)

    def fork(self) -> "Conversation":
        """An equal conversation to go on with in another direction; this one stays as it is."""
        return Conversation(self._turns)

    def append(
        self,
        content: str,
        role: str = "user",
        metadata: Mapping[str, Any] | None = None,
        *,
        at: datetime | None = None,
    ) -> "Conversation":
        """This conversation with one turn more, numbered after the last. Nothing is stored.

        `at` is now unless given.

        Raises:
            InvalidInput: content, role, metadata or time is not what `Thread.append` would take.
        """
        turn = Turn(
            seq=self._turns[-1].seq + 1 if self._turns else 1,
            id=new_id(),
            role=check_role(role),
            content=check_text("content", content),
            at=utc_now() if at is None else check_time("at", at),
            metadata=frozen(check_metadata("metadata", metadata)),
        )
        return Conversation((*self._turns, turn))

    def window(
        self,
        max_turns: int | None = None,
        max_tokens: int | None = None,
        *,
        count: TokenCounter = estimate_tokens,
    ) -> "Conversation":
        """The latest turns that fit both limits, whole and in order, without leaving one out between.

        A turn counts what `count` makes of its content and `TOKENS_PER_TURN` for what surrounds it. None is
        no limit; empty if the latest turn alone does not fit.

        Raises:
            InvalidInput: a limit is not a whole number from 0.
        """
        start = 0
        if max_turns is not None:
            start = max(0, len(self) - check_limit("max_turns", max_turns, maximum=MAX_TURNS))
        if max_tokens is not None:
            limit = check_limit("max_tokens", max_tokens, maximum=MAX_TURNS)
            start = max(start, self._first_within(limit, count))
        return self[start:]

    def _first_within(self, tokens: int, count: TokenCounter) -> int:
        for index in range(len(self) - 1, -1, -1):
            tokens -= count(self._turns[index].content) + TOKENS_PER_TURN
            if tokens < 0:
                return index + 1
        return 0

    def to_openai(self) -> list[dict[str, Any]]:
        """Messages for a chat completions API: `{"role", "content"}` each, one a turn.

        Tool turns become user messages that say so: the API takes the tool role only right after the call
        that it answers, which a window or a filter may have left out.
        """
        return [{"role": _said_by(turn), "content": _said(turn)} for turn in self._turns]

    def to_anthropic(self) -> tuple[str | None, list[dict[str, Any]]]:
        """The system text (None if there is none) and messages for the Anthropic API.

        System turns are taken out and joined by a blank line. The others alternate between user and
        assistant, the first is the user's (`OPENING` if need be), and content is a list of text blocks, one
        a turn. Tool turns are the user's, as in `to_openai`.
        """
        system = [turn.content for turn in self._turns if turn.role == "system"]
        messages: list[dict[str, Any]] = []
        for turn in self._turns:
            role = _said_by(turn)
            if role == "system" or not turn.content.strip():
                continue
            if not messages and role == "assistant":
                messages.append({"role": "user", "content": [_text_block(OPENING)]})
            if not messages or messages[-1]["role"] != role:
                messages.append({"role": role, "content": []})
            messages[-1]["content"].append(_text_block(_said(turn)))
        return "\n\n".join(system) or None, messages

    def to_pydantic_ai(self) -> "list[ModelMessage]":
        """Messages for pydantic-ai's `message_history`, one a turn, with the turn's time.

        Tool turns are the user's, as in `to_openai`.

        Raises:
            RetentiveError: pydantic-ai is not installed.
        """
        try:
            from pydantic_ai import messages as m
        except ImportError as error:
            raise RetentiveError(
                "to_pydantic_ai() needs pydantic-ai: pip install 'retentive[agents]'"
            ) from error

        def message(turn: Turn) -> "ModelMessage":
            role = _said_by(turn)
            if role == "assistant":
                return m.ModelResponse(parts=[m.TextPart(turn.content)], timestamp=turn.at)
            part = m.SystemPromptPart if role == "system" else m.UserPromptPart
            return m.ModelRequest(parts=[part(_said(turn), timestamp=turn.at)], timestamp=turn.at)

        return [message(turn) for turn in self._turns]


def check_role(value: object) -> str:
    """The role, if it is one of `ROLES`.

    Raises:
        InvalidInput: anything else.
    """
    if not isinstance(value, str) or value not in ROLES:
        raise InvalidInput(f"role must be one of {', '.join(ROLES)}, not {value!r}")
    return value


def _said_by(turn: Turn) -> str:
    return turn.role if turn.role in ("assistant", "system") else "user"


def _said(turn: Turn) -> str:
    return f"[tool result]\n{turn.content}" if turn.role == "tool" else turn.content


def _text_block(text: str) -> dict[str, str]:
    return {"type": "text", "text": text}
