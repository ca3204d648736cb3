# ruff: noqa: RUF001, SIM905 (look-alike characters are what is tested)
from hypothesis import given
from hypothesis import strategies as st

from retentive.ranking.dedupe import same_fact, text_key, why_different
from retentive.ranking.fact_words import DROPPABLE

NAMES = ("Ann", "Bob", "Nora", "Noah", "Li", "Zoë", "Олег", "Marta")
SUBJECTS = ("the printer", "our office", "a neighbour", "that gate", "the alarm", "my sister's car")
VERBS = ("is near", "was sold to", "belongs to", "likes", "doesn't know", "will call", "really needs")
ANTONYMS = (
    ("on", "off"), ("open", "closed"), ("allow", "forbid"), ("like", "dislike"), ("love", "hate"),
    ("increase", "decrease"), ("left", "right"), ("up", "down"), ("buy", "sell"), ("accept", "reject"),
    ("true", "false"), ("enabled", "disabled"), ("hot", "cold"), ("before", "after"), ("more", "less"),
    ("over", "under"), ("all", "some"), ("always", "never"), ("may", "must"), ("is", "was"), ("he", "she"),
    ("the first", "the last"), ("with", "without"), ("early", "late"), ("single", "married"),
)  # fmt: skip
HARMLESS_HINTS = (
    "a an the please really not no never ' , . ; : ! ? - is it's likes nuts 5 5mg mW MW 不 。 ｶﾞ ² ’".split()
)

anything = st.text(st.characters(), max_size=60)
hinted = st.lists(st.sampled_from(HARMLESS_HINTS) | st.text(st.characters(), max_size=4), max_size=12).map(
    " ".join
)
texts = anything | hinted | hinted.map(lambda text: text.replace(" ", ""))
words = st.text("abcdefghijklmnopqrstuvwxyzäöéñабвгд", min_size=1, max_size=8)
sentences = st.tuples(
    st.sampled_from(SUBJECTS),
    st.sampled_from(VERBS),
    st.sampled_from(NAMES),
    st.lists(words, min_size=1, max_size=6).map(" ".join),
).map(" ".join)


@given(texts)
def test_any_text_states_the_same_fact_as_itself(text: str) -> None:
    assert same_fact(text, text)


@given(texts, texts)
def test_the_order_of_the_two_texts_does_not_matter(a: str, b: str) -> None:
    assert same_fact(a, b) == same_fact(b, a)


@given(texts, texts)
def test_a_reason_is_given_exactly_where_the_facts_differ(a: str, b: str) -> None:
    reason = why_different(a, b)
    assert (reason is None) == same_fact(a, b)
    assert reason is None or len(reason) < 300


@given(texts, texts)
def test_equal_keys_mean_the_same_fact(a: str, b: str) -> None:
    assert len(text_key(a)) == 16
    if text_key(a) == text_key(b):
        assert same_fact(a, b)


@given(texts, st.sampled_from(["", " ", "\n\t", "\u3000"]), st.sampled_from(["", " ", "\n"]))
def test_white_space_around_and_between_changes_neither_key_nor_fact(
    text: str, before: str, after: str
) -> None:
    spaced = before + text.replace(" ", "  ").replace("\n", "\r\n") + after
    assert text_key(spaced) == text_key(text)
    assert same_fact(spaced, text)


@given(st.lists(words, min_size=3, max_size=12).map(lambda some: " ".join(some).lower()))
def test_a_capital_at_the_start_and_shouting_change_neither_key_nor_fact(text: str) -> None:
    for variant in (text.upper(), text[:1].upper() + text[1:]):
        assert text_key(variant) == text_key(text)
        assert same_fact(variant, text)


@given(st.lists(words, min_size=2, max_size=12).map(lambda some: " ".join(some).lower()), st.data())
def test_a_capital_inside_a_sentence_is_another_fact(text: str, data: st.DataObject) -> None:
    parts = text.split(" ")
    at = data.draw(st.integers(1, len(parts) - 1))
    name = " ".join([*parts[:at], parts[at].capitalize(), *parts[at + 1 :]])
    if name != text and parts.count(parts[at]) == 1:
        assert text_key(name) != text_key(text)
        assert not same_fact(name, text)


@given(sentences, st.integers(0, 10**6), st.data())
def test_one_changed_digit_is_another_fact(sentence: str, number: int, data: st.DataObject) -> None:
    digits = str(number)
    at = data.draw(st.integers(0, len(digits) - 1))
    digit = data.draw(st.sampled_from([digit for digit in "0123456789" if digit != digits[at]]))
    template = data.draw(
        st.sampled_from(["{} {}", "{} at {}.", "{} for {}mg", "{}, v{}", "{} (no. {})", "{} №{}、"])
    )
    changed = digits[:at] + digit + digits[at + 1 :]
    assert not same_fact(template.format(sentence, digits), template.format(sentence, changed))


@given(sentences, st.sampled_from(["not", "never", "no", "nicht", "ne", "не", "لا", "नहीं", "안"]), st.data())
def test_an_inserted_negation_is_another_fact(sentence: str, negation: str, data: st.DataObject) -> None:
    parts = sentence.split(" ")
    at = data.draw(st.integers(0, len(parts)))
    assert not same_fact(sentence, " ".join((*parts[:at], negation, *parts[at:])))


@given(st.sampled_from("不没别未"), st.text("他今天明后开会吃肉门去北京", min_size=1, max_size=10), st.data())
def test_an_inserted_negation_in_chinese_is_another_fact(
    negation: str, text: str, data: st.DataObject
) -> None:
    at = data.draw(st.integers(0, len(text)))
    assert not same_fact(text, text[:at] + negation + text[at:])


@given(
    st.permutations(NAMES),
    st.sampled_from(["{} owes {}", "{} and {} came first and second", "{}, then {}, sang"]),
)
def test_two_swapped_names_are_another_fact(names: list[str], template: str) -> None:
    assert not same_fact(template.format(names[0], names[1]), template.format(names[1], names[0]))


@given(sentences, st.sampled_from(ANTONYMS), st.data())
def test_an_antonym_is_another_fact(sentence: str, pair: tuple[str, str], data: st.DataObject) -> None:
    parts = sentence.split(" ")
    at = data.draw(st.integers(0, len(parts)))
    one, other = (" ".join((*parts[:at], word, *parts[at:])) for word in pair)
    assert not same_fact(one, other)


@given(sentences, words, st.data())
def test_a_word_more_is_another_fact(sentence: str, word: str, data: st.DataObject) -> None:
    parts = sentence.split(" ")
    at = data.draw(st.integers(0, len(parts)))
    if word not in DROPPABLE:
        assert not same_fact(sentence, " ".join((*parts[:at], word, *parts[at:])))
