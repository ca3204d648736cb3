"""Shortening never cuts a character; the estimate follows its formula."""

import unicodedata
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retentive.errors import InvalidInput
from retentive.tokens import estimate_tokens, truncate

CHARACTERS = [
    "x",
    " ",
    "日",
    "🦀",
    "e\u0301",
    "👩‍👩‍👧‍👦",
    "👍🏽",
    "❤\ufe0f",
    "🇯🇵",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "1\ufe0f\u20e3",
    "각",
    "\u1100\u1161\u11a8",
    "ก\u0e33",
    "क्षि",
    "\r\n",
]


@given(st.lists(st.sampled_from(CHARACTERS), max_size=12), st.integers(min_value=0, max_value=60))
def test_a_cut_never_falls_inside_a_character(characters: list[str], max_chars: int) -> None:
    text = "".join(characters)
    cut = truncate(text, max_chars)
    assert text.startswith(cut)
    assert len(cut) <= max_chars
    ends = {len("".join(characters[:n])) for n in range(len(characters) + 1)}
    if "क्षि" not in characters:  # one character by some rules, two by others; both ends are good
        assert len(cut) == max(end for end in ends if end <= max_chars)


@pytest.mark.parametrize("character", CHARACTERS, ids=range(len(CHARACTERS)))
def test_each_character_is_kept_or_left_out_whole(character: str) -> None:
    text = f"x{character}{character}y"
    ends = {0, 1, 1 + len(character), 1 + 2 * len(character), len(text)}
    for max_chars in range(len(text) + 1):
        cut = truncate(text, max_chars)
        assert len(cut) == max(end for end in ends if end <= max_chars) or character == "क्षि"


@given(st.text(), st.integers(min_value=0, max_value=30))
def test_a_cut_is_a_beginning_that_encodes(text: str, max_chars: int) -> None:
    cut = truncate(text, max_chars)
    assert text.startswith(cut)
    assert len(cut) <= max_chars
    rest = text[len(cut) :]
    if cut and rest:
        assert not unicodedata.combining(rest[0])
        assert cut[-1] != "\u200d"


def test_a_surrogate_pair_is_not_cut() -> None:
    assert truncate("ab\ud83e\udd80", 3) == "ab"
    assert truncate("ab\ud83e\udd80", 4) == "ab\ud83e\udd80"


def test_a_text_that_fits_is_itself() -> None:
    text = "exactly"
    assert truncate(text, 7) is text
    assert truncate("", 0) == ""


def test_one_character_that_does_not_fit_leaves_nothing() -> None:
    assert truncate("e" + "\u0301" * 50, 10) == ""


@pytest.mark.parametrize("bad", [-1, 2.0, "3", True, None])
def test_a_limit_that_is_no_whole_number_from_0_is_refused(bad: Any) -> None:
    with pytest.raises(InvalidInput):
        truncate("x", bad)


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("abcd", 1),
        ("abcde", 2),
        ("The quick brown fox.", 6),
        ("2026-11-30", 5),
        ("日本語", 3),
        ("Привет", 3),
        ("hello 日本", 4),
        ("🦀", 2),
        ("🦀🦀", 3),
        ("한국어", 3),
    ],
)
def test_the_estimate_follows_its_formula(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


@given(st.text(), st.text())
def test_the_estimate_grows_with_the_text(one: str, two: str) -> None:
    both = estimate_tokens(one + two)
    assert (
        max(estimate_tokens(one), estimate_tokens(two)) <= both <= estimate_tokens(one) + estimate_tokens(two)
    )
