"""A text that says a memory again is known for it, however it is set; one that says something else is not."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retentive.ranking.echo import echoes, says_words_of

FACT = "User prefers email over phone."


def without(text: str, *contents: str) -> str:
    for start, end, number in reversed(echoes(text, contents)):
        text = f"{text[:start]}[{number}]{text[end:]}"
    return text


@pytest.mark.parametrize(
    ("said", "left"),
    [
        ("You said: User prefers email over phone.", "You said: [0]"),
        ("You said: user prefers email over phone", "You said: [0]"),
        ("User prefers email  over\nphone.", "[0]"),
        ("**User prefers email over phone**", "**[0]**"),
        ("The _user_ prefers: email over phone!", "The _[0]!"),
        ("You prefer email over phone.", "[0]"),
        ("I know, he prefers email over phone, so yes.", "I know, [0], so yes."),
        ("USER PREFERS EMAIL OVER PHONE.", "[0]"),
        ("prefers email over phone", "[0]"),
    ],
)
def test_an_echo_is_known_however_it_is_set(said: str, left: str) -> None:
    assert without(said, FACT) == left


@pytest.mark.parametrize(
    "said",
    [
        "User prefers phone over email.",
        "User no longer likes email over phone.",
        "User prefers email, not over phone.",
        "Email over phone it is.",
        "",
    ],
)
def test_other_words_are_no_echo(said: str) -> None:
    assert echoes(said, [FACT]) == []


def test_a_number_more_or_less_is_no_echo() -> None:
    assert echoes("Your alarm code is 4712.", ["The user's alarm code is 4711."]) == []
    assert echoes("Your alarm code is not 4711.", ["The user's alarm code is 4711."]) == []
    assert without("Sure: the user's alarm code is 4711", "The user's alarm code is 4711.") == "Sure: [0]"
    assert without("Your alarm code: 4711!", "The user's alarm code is 4711.") == "[0]!"


def test_a_name_alone_is_no_echo_of_who_has_it() -> None:
    assert echoes("Ada Lovelace wrote notes.", ["I am Ada Lovelace."]) == []
    assert echoes("yes, yes", ["Yes."]) == []


def test_of_two_that_overlap_the_longer_is_taken() -> None:
    both = ["Ada rows on Sunday", "Ada rows on Sunday at the harbour club"]
    assert (
        without("So: Ada rows on Sunday at the harbour club. Ada rows on Sunday.", *both) == "So: [1]. [0]."
    )


def test_scripts_without_spaces_are_found_as_they_stand() -> None:
    fact = "利用者は電話よりも電子メールを好む"
    assert without(f"はい{fact}です", fact) == "はい[0]です"


@given(st.text(max_size=80), st.lists(st.text(max_size=40), max_size=4))
def test_places_are_in_order_inside_the_text_and_apart(text: str, contents: list[str]) -> None:
    found = echoes(text, contents)
    assert found == sorted(found)
    edges = [edge for start, end, _ in found for edge in (start, end)]
    assert edges == sorted(edges)
    assert all(0 <= start < end <= len(text) for start, end, _ in found)


def test_words_in_another_order_are_said_all_the_same() -> None:
    assert says_words_of("It is 4711, the code of your alarm.", "The user's alarm code is 4711.")
    assert not says_words_of("Your alarm has a code.", "The user's alarm code is 4711.")
    assert not says_words_of("Anything at all.", "It is.")
