"""A conversation is a value, and every shape of it is one that the API takes."""

import builtins
import json
from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic_ai.messages import ModelMessagesTypeAdapter, ModelRequest, ModelResponse

from retentive.conversation import OPENING, TOKENS_PER_TURN, Conversation
from retentive.errors import InvalidInput, RetentiveError
from retentive.tokens import estimate_tokens
from retentive.types import Turn

NOON = datetime(2026, 3, 8, 12, tzinfo=UTC)


def conversation(*turns: str) -> Conversation:
    """Turns given as "role: content"."""
    parts = [turn.split(": ", 1) for turn in turns]
    return Conversation(
        Turn(seq=n, id=f"t{n}", role=role, content=content, at=NOON)
        for n, (role, content) in enumerate(parts, 1)
    )


TALK = conversation("system: Be kind.", "user: Hi", "assistant: Hello!", "tool: 42", "user: Thanks")
texts = st.lists(
    st.text(st.characters(codec="utf-8", exclude_characters="\x00"), min_size=1, max_size=60), max_size=8
)


def test_it_is_a_sequence_equal_to_others_of_the_same_turns() -> None:
    assert len(TALK) == 5
    assert TALK[0].content == "Be kind."
    assert TALK[-1].content == "Thanks"
    assert isinstance(TALK[1:3], Conversation)
    assert [turn.content for turn in TALK[1:3]] == ["Hi", "Hello!"]
    assert list(TALK) == TALK
    assert tuple(TALK) == TALK
    assert TALK[1:3] != TALK
    assert TALK != "Hi"
    assert Conversation() == []
    assert not Conversation()
    assert TALK[1] in TALK
    with pytest.raises(IndexError):
        TALK[5]


def test_it_cannot_be_changed_or_hashed() -> None:
    for verb in ("clear", "extend", "pop", "__setitem__", "__delitem__"):
        assert not hasattr(TALK, verb)
    with pytest.raises(AttributeError):
        TALK[0].content = "x"  # type: ignore[misc]  # pyright: ignore[reportAttributeAccessIssue]
    with pytest.raises(TypeError):
        hash(TALK)


def test_it_does_not_keep_the_list_it_was_made_of() -> None:
    turns = list(TALK)
    made = Conversation(turns)
    turns.clear()
    assert made == TALK


def test_filter_keeps_order_and_takes_a_role_a_predicate_or_both() -> None:
    assert [turn.content for turn in TALK.filter(role="user")] == ["Hi", "Thanks"]
    assert [turn.content for turn in TALK.filter(lambda turn: turn.seq > 2)] == ["Hello!", "42", "Thanks"]
    assert [turn.content for turn in TALK.filter(lambda turn: turn.seq > 2, role="user")] == ["Thanks"]
    assert TALK.filter() == TALK
    assert TALK.filter(role="nobody") == []


def test_last_is_the_latest_of_a_role_or_of_all() -> None:
    assert TALK.last() is TALK[4]
    assert TALK.last("assistant") is TALK[2]
    assert TALK.last("nobody") is None
    assert Conversation().last() is None


def test_a_fork_is_equal_and_goes_its_own_way() -> None:
    fork = TALK.fork()
    assert fork == TALK
    assert fork is not TALK
    longer = fork.append("And now?")
    assert (len(longer), len(fork), len(TALK)) == (6, 5, 5)
    assert longer[:5] == TALK


def test_append_gives_a_new_conversation_with_one_turn_more() -> None:
    metadata: dict[str, Any] = {"tags": ["a"]}
    longer = TALK.append("Yes", role="assistant", metadata=metadata, at=NOON)
    metadata["tags"].append("b")
    assert (longer[5].seq, longer[5].role, longer[5].content, longer[5].at) == (6, "assistant", "Yes", NOON)
    assert longer[5].metadata == {"tags": ["a"]}
    assert Conversation().append("x")[0].seq == 1
    assert Conversation().append("x")[0].at.utcoffset() is not None


@pytest.mark.parametrize(
    "arguments",
    [{"content": " "}, {"content": "x", "role": "me"}, {"content": "x", "at": datetime(2026, 1, 1)}],  # noqa: DTZ001
    ids=["blank", "role", "naive"],
)
def test_append_refuses_what_a_thread_refuses(arguments: Any) -> None:
    with pytest.raises(InvalidInput):
        TALK.append(**arguments)


def test_a_window_by_turns_is_the_latest_ones() -> None:
    assert TALK.window(2) == TALK[3:]
    assert TALK.window(0) == []
    assert TALK.window(99) == TALK
    assert TALK.window() == TALK


@given(texts, st.integers(min_value=0, max_value=120), st.none() | st.integers(min_value=0, max_value=9))
def test_a_window_is_the_longest_end_that_fits_both_limits(
    contents: list[str], max_tokens: int, max_turns: int | None
) -> None:
    talk = conversation(*(f"user: {content}" for content in contents))

    def cost(part: Conversation) -> int:
        return sum(estimate_tokens(turn.content) + TOKENS_PER_TURN for turn in part)

    window = talk.window(max_turns=max_turns, max_tokens=max_tokens)
    assert list(window) == list(talk)[len(talk) - len(window) :]
    assert cost(window) <= max_tokens
    assert max_turns is None or len(window) <= max_turns
    if len(window) < len(talk) and len(window) != max_turns:
        assert cost(talk[len(talk) - len(window) - 1 :]) > max_tokens


def test_a_window_counts_tokens_as_it_is_told() -> None:
    talk = conversation("user: one", "assistant: four", "user: eleven")
    cost = len("eleven") + len("four") + 2 * TOKENS_PER_TURN
    assert talk.window(max_tokens=cost, count=len) == talk[1:]
    assert talk.window(max_tokens=cost - 1, count=len) == talk[2:]


@pytest.mark.parametrize("bad", [-1, 2.0, "3", True])
def test_a_window_that_is_no_whole_number_from_0_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidInput):
        TALK.window(bad)
    with pytest.raises(InvalidInput):
        TALK.window(max_tokens=bad)


def test_the_openai_shape_is_one_message_a_turn_and_never_an_unpaired_tool_role() -> None:
    assert TALK.to_openai() == [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": "Hi"},
        {"role": "assistant", "content": "Hello!"},
        {"role": "user", "content": "[tool result]\n42"},
        {"role": "user", "content": "Thanks"},
    ]
    assert Conversation().to_openai() == []


def test_the_anthropic_shape_has_the_system_text_apart_and_alternates() -> None:
    system, messages = TALK.to_anthropic()
    assert system == "Be kind."
    assert messages == [
        {"role": "user", "content": [{"type": "text", "text": "Hi"}]},
        {"role": "assistant", "content": [{"type": "text", "text": "Hello!"}]},
        {
            "role": "user",
            "content": [{"type": "text", "text": "[tool result]\n42"}, {"type": "text", "text": "Thanks"}],
        },
    ]
    assert Conversation().to_anthropic() == (None, [])
    assert conversation("system: a", "system: b").to_anthropic() == ("a\n\nb", [])


@given(st.lists(st.sampled_from(["user", "assistant", "system", "tool", "developer"]), max_size=12))
def test_the_anthropic_shape_always_begins_with_the_user_and_alternates(roles: list[str]) -> None:
    _, messages = conversation(*(f"{role}: x" for role in roles)).to_anthropic()
    assert all(message["role"] == ("user", "assistant")[n % 2] for n, message in enumerate(messages))
    spoken = [role for role in roles if role != "system"]
    blocks = sum(len(message["content"]) for message in messages)
    assert blocks == len(spoken) + (spoken[:1] == ["assistant"])


def test_a_conversation_that_begins_with_the_assistant_gets_an_opening() -> None:
    _, messages = conversation("assistant: Welcome").to_anthropic()
    assert messages[0] == {"role": "user", "content": [{"type": "text", "text": OPENING}]}


def test_the_pydantic_ai_shape_round_trips_and_carries_times() -> None:
    messages = TALK.to_pydantic_ai()
    assert [type(message) for message in messages] == [
        ModelRequest,
        ModelRequest,
        ModelResponse,
        ModelRequest,
        ModelRequest,
    ]
    assert [part.part_kind for message in messages for part in message.parts] == [
        "system-prompt",
        "user-prompt",
        "text",
        "user-prompt",
        "user-prompt",
    ]
    assert [message.timestamp for message in messages] == [NOON] * 5
    assert ModelMessagesTypeAdapter.validate_json(ModelMessagesTypeAdapter.dump_json(messages)) == messages


async def test_pydantic_ai_takes_it_as_history() -> None:
    from pydantic_ai import Agent
    from pydantic_ai.models.test import TestModel

    result = await Agent(TestModel()).run("And?", message_history=TALK.to_pydantic_ai())
    assert len(result.all_messages()) >= 5


def test_without_pydantic_ai_the_error_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    really = builtins.__import__

    def missing(name: str, *args: Any, **kwargs: Any) -> Any:
        if name.startswith("pydantic_ai"):
            raise ImportError(name)
        return really(name, *args, **kwargs)

    monkeypatch.setattr(builtins, "__import__", missing)
    with pytest.raises(RetentiveError, match=r"retentive\[agents\]"):
        TALK.to_pydantic_ai()


def test_every_shape_is_strict_utf_8_json() -> None:
    talk = conversation("user: 👩‍👩‍👧‍👦 e\u0301 \u2028", "assistant: 🦀")
    for shape in (talk.to_openai(), talk.to_anthropic()):
        assert json.loads(json.dumps(shape, ensure_ascii=False).encode().decode()) == json.loads(
            json.dumps(shape)
        )
