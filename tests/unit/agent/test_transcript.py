"""Turns as messages: valid for the strictest provider, and nothing else changed."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel
from pydantic_ai import DeferredToolRequests
from pydantic_ai.messages import (
    BinaryContent,
    ImageUrl,
    ModelMessage,
    ModelRequest,
    ModelResponse,
    SystemPromptPart,
    TextPart,
    ToolCallPart,
    ToolReturnPart,
    UserPromptPart,
)

from retentive import Conversation
from retentive.agent.transcript import (
    answer_text,
    history,
    produced_text,
    prompt_text,
    storable,
    with_context,
)
from retentive.testing.strict_requests import RefusedByProvider, check_strictly, roles

ROLES = st.sampled_from(["user", "user", "assistant", "assistant", "tool"])


def talk(*roles_: str) -> Conversation:
    conversation = Conversation()
    for number, role in enumerate(roles_, 1):
        conversation = conversation.append(f"{role}-{number}", role=role)
    return conversation


def own_request(text: str = "now", *, system: bool = True) -> ModelRequest:
    first = [SystemPromptPart("be brief")] if system else []
    return ModelRequest(parts=[*first, UserPromptPart(text)], run_id="run")


@given(st.lists(ROLES, max_size=12), st.booleans(), st.booleans())
def test_any_conversation_is_sent_as_a_valid_one_with_every_turn_in_it(
    said: list[str], system: bool, recalled: bool
) -> None:
    conversation = talk(*said)
    block = "[block]" if recalled else ""
    messages = with_context([own_request(system=system)], "run", history(conversation), block)
    check_strictly(messages)
    text = "\n".join(str(getattr(part, "content", "")) for m in messages for part in m.parts)
    places = [text.index(turn.content) for turn in conversation]
    assert places == sorted(places)
    assert text.rstrip().endswith("now")
    assert ("[block]" in text) == recalled
    assert text.count("be brief") == (1 if system else 0)


def test_turns_of_one_side_in_a_row_become_one_message() -> None:
    messages = history(talk("user", "user", "assistant", "assistant", "user"))
    assert [type(message) for message in messages] == [ModelRequest, ModelResponse, ModelRequest]
    assert [m.parts[0].content for m in messages] == [  # type: ignore[union-attr]
        "user-1\n\nuser-2",
        "assistant-3\n\nassistant-4",
        "user-5",
    ]


def test_system_turns_are_not_the_users() -> None:
    assert roles(history(talk("system", "assistant", "user"))) == ["system", "user", "assistant", "user"]
    assert roles(history(talk("user", "system", "assistant"))) == ["user", "system", "assistant"]
    assert roles(history(talk("user", "system", "user"))) == ["user", "system"]


def test_the_block_and_the_turns_are_in_the_same_place_in_every_request_of_a_run() -> None:
    ahead = history(talk("user", "assistant"))
    own = own_request()
    first = with_context([own], "run", ahead, "[block]")
    more = [own, ModelResponse(parts=[TextPart("x")], run_id="run"), own_request("later", system=False)]
    second = with_context(more, "run", ahead, "[block]")
    assert second[: len(first)] == first
    assert str(second).count("[block]") == 1


def test_nothing_of_it_changes_the_messages_it_was_given() -> None:
    given_ = [own_request()]
    before = repr(given_)
    ahead = history(talk("user", "assistant", "user"))
    was = repr(ahead)
    with_context(given_, "run", ahead, "[block]")
    assert (repr(given_), repr(ahead)) == (before, was)


def test_where_the_users_words_were_cut_off_the_block_stands_alone() -> None:
    cut: list[ModelMessage] = [ModelRequest(parts=[], run_id="run")]
    (request,) = with_context(cut, "run", [], "[block]")
    assert [part.content for part in request.parts if isinstance(part, UserPromptPart)] == ["[block]"]
    answered: list[ModelMessage] = [ModelResponse(parts=[TextPart("x")], run_id="run")]
    first, second = with_context(answered, "run", [], "[block]")
    assert isinstance(first, ModelRequest)
    assert second == answered[0]


def test_where_no_message_is_the_runs_own_the_block_is_in_the_last_words_of_the_user() -> None:
    (request,) = with_context([own_request()], "another run", [], "[block]")
    (part,) = [part for part in request.parts if isinstance(part, UserPromptPart)]
    assert str(part.content).startswith("[block]")


def test_what_the_user_wrote_is_kept_and_what_is_no_text_is_named() -> None:
    assert prompt_text(None) == ""
    assert prompt_text("hello") == "hello"
    picture = BinaryContent(b"x", media_type="image/png")
    assert prompt_text(["look", ImageUrl("http://a/b.png"), picture]) == "look\n[image]\n[binary]"


def test_an_answer_is_text_whatever_the_output_is() -> None:
    class City(BaseModel):
        name: str

    said = [ModelResponse(parts=[TextPart("Shall I?"), ToolCallPart("pay", {})])]
    assert answer_text("yes", said) == "yes"
    assert answer_text(City(name="Łódź"), said) == '{"name":"Łódź"}'
    assert answer_text([1, 2], said) == "[1,2]"
    assert answer_text(DeferredToolRequests(), said) == "Shall I?"
    assert answer_text(None, said) == "Shall I?"
    assert answer_text(object, []).startswith('"<class')


def test_what_was_produced_is_the_models_text_without_its_calls() -> None:
    messages: list[ModelMessage] = [
        own_request(),
        ModelResponse(parts=[TextPart("one"), ToolCallPart("t", {}), TextPart(" more")]),
        ModelResponse(parts=[TextPart("  ")]),
        ModelResponse(parts=[TextPart("two")]),
    ]
    assert produced_text(messages) == "one more\n\ntwo"
    assert produced_text([]) == ""


@pytest.mark.parametrize("text", ["a\x00b", "half \ud83d", "😀 whole", "\udc00\ud800", "x" * 1_000_001])
def test_what_a_model_wrote_can_always_be_stored(text: str) -> None:
    stored = Conversation().append(storable(text), role="assistant")[0].content
    assert stored[:6] == text[:6].replace("\x00", "\ufffd").replace("\ud83d", "\ufffd").replace(
        "\udc00", "\ufffd"
    ).replace("\ud800", "\ufffd")


@pytest.mark.parametrize(
    "bad",
    [
        [UserPromptPart("a"), UserPromptPart("b")],
        [ToolReturnPart("t", "x", tool_call_id="c1"), UserPromptPart("a")],
        [UserPromptPart("a"), TextPart("b")],
        [TextPart("b"), UserPromptPart("a")],
        [UserPromptPart("a"), ToolCallPart("t", {}, tool_call_id="c1"), UserPromptPart("b")],
        [UserPromptPart("a"), ToolCallPart("t", {}, tool_call_id="c1")],
    ],
)
def test_the_strict_check_refuses_what_a_provider_refuses(bad: list[Any]) -> None:
    messages: list[ModelMessage] = [
        ModelResponse(parts=[part]) if part.part_kind in {"text", "tool-call"} else ModelRequest(parts=[part])
        for part in bad
    ]
    with pytest.raises(RefusedByProvider):
        check_strictly(messages)
