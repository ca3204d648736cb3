import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tokenizers import Tokenizer, models, normalizers, pre_tokenizers

from retentive.embedders.static import FOLDER
from retentive.embedders.wordpiece import UNKNOWN, WordPiece, split_words

VOCABULARY = (FOLDER / "vocab.txt").read_text(encoding="utf-8").splitlines()
OURS = WordPiece(VOCABULARY)


def reference() -> Tokenizer:
    known = {piece: at for at, piece in enumerate(VOCABULARY)}
    tokenizer = Tokenizer(models.WordPiece(known, unk_token=UNKNOWN, max_input_chars_per_word=100))
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    return tokenizer


REFERENCE = reference()


def newer_than_the_reference(char: str) -> bool:
    """Its tables are of an older Unicode: marks and signs that came later are unknown to it."""
    return not unicodedata.ucd_3_2_0.category(char).startswith(unicodedata.category(char))


text = st.text(
    st.characters(exclude_categories=["Cs"]).filter(lambda char: not newer_than_the_reference(char)),
    max_size=60,
)
ascii_text = st.text(st.characters(max_codepoint=0x7F), max_size=200)


def same_as_reference(value: str) -> bool:
    return OURS.ids(value) == REFERENCE.encode(value, add_special_tokens=False).ids


@given(text)
def test_pieces_are_those_of_the_reference_for_any_text(value: str):
    assert same_as_reference(value)


@given(ascii_text)
def test_pieces_are_those_of_the_reference_for_any_ascii(value: str):
    assert same_as_reference(value)


@given(ascii_text)
def test_ascii_is_split_as_any_other_text(value: str):
    assert split_words(value) == split_words(value + " \N{CRAB}")[:-1]


@pytest.mark.parametrize(
    "value",
    [
        "Don't e-mail bob@example.com; it's $5.00 (or 3€)!",
        "Çà et là, naïveté. ΟΔΥΣΣΕΥΣ İstanbul ẞ straße",
        "我住在北京。 東京タワー 서울",
        "tab\tnew\nline\r\x0b\x0c\x1c\x85\u2028end\u200b\ufeff\u00ad\ufffd",
        "unbelievableness [MASK] [unused1] ##ing a_b",
        "x" * 100 + " " + "x" * 101,
        "नमस्ते สวัสดี مرحبا שלום",
    ],
)
def test_pieces_are_those_of_the_reference_for_hard_texts(value: str):
    assert same_as_reference(value)


@given(st.text(st.characters(categories=["Cs"]), min_size=1))
def test_lone_surrogates_are_dropped(value: str):
    assert split_words("a" + value + "b") == ["ab"]


def test_a_word_is_cut_greedily_and_is_one_unknown_if_some_part_has_no_piece():
    tiny = WordPiece([UNKNOWN, "un", "##do", "##ne", "d", "##n"])
    assert tiny.ids("undone") == [1, 2, 3]
    assert tiny.ids("d undon") == [4, 1, 2, 5]
    assert tiny.ids("undod d") == [0, 4]
