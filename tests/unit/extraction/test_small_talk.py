"""What a rule may drop without asking anybody."""

from datetime import UTC, datetime

import pytest

from retentive.extraction.small_talk import LONGEST_CHARS, is_assent, is_small_talk, nothing_to_keep
from retentive.types import Turn


def turns(*said: str) -> list[Turn]:
    """Turns of which the user speaks every other one, beginning with the last."""
    return [
        Turn(
            seq=seq,
            id=str(seq),
            role="user" if (len(said) - seq) % 2 == 0 else "assistant",
            content=text,
            at=datetime(2026, 1, 1, tzinfo=UTC),
        )
        for seq, text in enumerate(said, start=1)
    ]


@pytest.mark.parametrize(
    "text",
    [
        "", "  ", "thanks", "Thanks a lot!", "thank you so much", "Hi there", "hello everyone", "OK.",
        "ok, thanks!",
        "Good morning :)", "Bye bye", "👍", "!!!", "How are you?", "Hi! How are you?", "got it", "I see.",
        "That's great", "No problem", "You\u2019re welcome!",
        "You're welcome! Let me know if there's anything else.",
        "How can I help you today?", "Danke", "Guten Morgen", "谢谢\uff01", "こんにちは",
        "Merci beaucoup", "¡Gracias!",
        "THANK YOU", "haha lol",
    ],
)  # fmt: skip
def test_greetings_thanks_and_bare_assents_are_small_talk(text: str) -> None:
    assert is_small_talk(text)


@pytest.mark.parametrize(
    "text",
    [
        "Thanks, my flight is at 9.", "I am vegan", "No, 5", "I'm in Nice", "ok, book it", "Hello, I'm Ada",
        "Good, then Tuesday", "thanks to Bob",
        "my name is Hi", "42", "yes but not on Mondays", "Morning shift",
        "Ciao Bella 12", "no milk", "cheers from Oslo", "Great Dane", "What's my order status?", "我吃素",
    ],
)  # fmt: skip
def test_a_fact_beside_the_courtesy_is_not_small_talk(text: str) -> None:
    assert not is_small_talk(text)


def test_a_long_text_is_never_small_talk() -> None:
    assert not is_small_talk("thanks " * LONGEST_CHARS)


def test_a_bare_yes_or_no_is_an_assent_and_thanks_are_not() -> None:
    assert is_assent("Yes please")
    assert is_assent("no")
    assert not is_assent("thanks")
    assert not is_assent("yes, on Monday")


def test_an_assent_to_what_the_assistant_asked_is_to_be_kept() -> None:
    assert not nothing_to_keep(turns("Shall I book the 9:15 to Oslo?", "yes"))
    asked, answered = turns("Shall I book the 9:15 to Oslo?", "yes")
    assert not nothing_to_keep([answered], [asked])


def test_an_assent_to_a_courtesy_or_to_a_statement_is_not() -> None:
    assert nothing_to_keep(turns("Is there anything else?", "no")) is True
    stated, answered = turns("I booked it.", "ok")
    assert nothing_to_keep([answered], [stated])


def test_turns_with_one_that_says_something_are_to_be_kept() -> None:
    assert not nothing_to_keep(turns("hi", "Hello!", "I moved to Oslo"))
    assert nothing_to_keep(turns("hi", "Hello!", "thanks"))
    assert nothing_to_keep([])
