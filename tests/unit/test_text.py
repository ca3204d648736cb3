"""Folding, cutting, stopping and stemming, in many languages."""

import unicodedata

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retentive.text import MAX_WORD_CHARS, STOP_WORDS, fold, stem, surfaces, tokens, words


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("The kettle leaks", ["kettle", "leaks"]),
        ("Don't ship on Fridays", ["ship", "fridays"]),
        ("Caroline's kettle", ["caroline", "kettle"]),
        ("Caroline\u2019s kettle", ["caroline", "kettle"]),
        ("O'Malley aime l'homme", ["malley", "aime", "homme"]),
        ("Samples use C++ and C#, not C", ["samples", "use", "c++", "c#", "c"]),
        (
            "Ticket KX-204 costs 5,000 or 1,234,567.50",
            ["ticket", "kx", "204", "costs", "5000", "1234567", "50"],
        ),
        ("2023,24 and 1,2345", ["2023", "24", "1", "2345"]),
        ("Config in etc/app\\conf.d", ["config", "etc", "app", "conf"]),
        ("snake_case text:kettle", ["snake", "case", "text", "kettle"]),
        ("- - - ( ^ * \u2026 \U0001f431", []),
        ("", []),
    ],
)
def test_words_numbers_and_codes_are_cut_sensibly(text: str, expected: list[str]) -> None:
    assert surfaces(text) == expected


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("caf\u00e9", "CAFE"),
        ("cafe\u0301", "caf\u00e9"),
        ("Stra\u00dfe", "STRASSE"),
        ("\u0386\u03bb\u03c6\u03b1", "\u03b1\u03bb\u03c6\u03b1"),
        ("\u0451\u043b\u043a\u0430", "\u0435\u043b\u043a\u0430"),
        ("\u0437\u0430\u0301\u043c\u043e\u043a", "\u0437\u0430\u043c\u043e\u043a"),
        ("\uff2b\uff38\uff12\uff10\uff14", "kx204"),
        ("\ufb01ne", "fine"),
        ("\u0130stanbul", "istanbul"),
        ("\u0142\u00f3d\u017a", "lodz"),
        ("\uff76\uff9e", "\u30ac"),
    ],
)
def test_accents_width_and_case_fold(one: str, other: str) -> None:
    assert fold(one) == fold(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("\u0439\u043e\u0434", "\u0438\u043e\u0434"),
        ("\u0915\u093f", "\u0915\u0940"),
        ("\u0e21\u0e32", "\u0e21\u0e49\u0e32"),
        ("\u304c", "\u304b"),
        ("\u0643\u064e\u062a\u0628", "\u0643\u064f\u062a\u0628"),
    ],
)
def test_marks_that_carry_meaning_stay(one: str, other: str) -> None:
    assert tokens(one) != tokens(other)


def test_words_of_scripts_with_marks_stay_whole() -> None:
    assert tokens("\u0928\u0939\u0940\u0902 \u091c\u093e\u0928\u093e") == [
        "\u0928\u0939\u0940\u0902",
        "\u091c\u093e\u0928\u093e",
    ]
    assert tokens("\u0ba4\u0bae\u0bbf\u0bb4\u0bcd") == ["\u0ba4\u0bae\u0bbf\u0bb4\u0bcd"]


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("京都で抹茶アイスを食べた", "京都"),
        ("京都で抹茶アイスを食べた", "抹茶アイス"),
        ("京都で抹茶アイスを食べた", "茶"),
        ("우리 강아지는 수영을 싫어한다", "수영"),
        ("비가 온다", "비"),
        ("他每周三去游泳馆", "游泳"),
        ("明天开会。", "会"),
        ("ฉันชอบกินปลา", "ปลา"),
        ("ຂ້ອຍມັກປາ", "ປາ"),
        ("ខ្ញុំចូលចិត្តត្រី", "ត្រី"),
        ("ကျွန်တော်ငါးကြိုက်တယ်", "ငါး"),
        ("Мой кот любит рыбу", "\u041a\u041e\u0422"),
        ("قطتي تحب السمك", "السمك"),
    ],
)
def test_part_of_a_text_without_spaces_is_found(stored: str, asked: str) -> None:
    assert surfaces(asked)
    assert set(surfaces(asked)) <= set(surfaces(stored, stored=True))


def test_a_run_is_cut_into_pairs_and_in_stored_text_also_into_han_and_hangul_characters() -> None:
    assert surfaces("抹茶アイ") == ["抹茶", "茶ア", "アイ"]
    assert surfaces("抹茶アイ", stored=True) == ["抹茶", "茶ア", "アイ", "抹", "茶"]
    assert surfaces("一", stored=True) == ["一"]
    assert surfaces("AI会議2024年") == ["ai", "会議", "2024", "年"]


def test_stems_join_inflections_and_leave_other_languages_alone() -> None:
    assert stem("walking") == stem("walked") == stem("walks")
    assert stem("京都") == "京都"
    assert [word.stem for word in words("Kettles leaked")] == ["kettl", "leak"]


def test_stop_words_are_no_words() -> None:
    assert surfaces(" ".join(STOP_WORDS)) == []


def test_a_very_long_word_is_cut() -> None:
    assert surfaces("x" * 1_000) == ["x" * MAX_WORD_CHARS]


@given(st.text())
def test_any_text_gives_words_that_fold_to_themselves(text: str) -> None:
    for word in surfaces(text, stored=True):
        assert word
        assert not word.isspace()
        assert "\x1f" not in word
        assert len(word.split()) == 1
    assert set(surfaces(text)) <= set(surfaces(text, stored=True)) | STOP_WORDS


@given(st.text(alphabet=st.characters(codec="utf-8", categories=["L", "N"]), max_size=40))
def test_the_form_of_unicode_does_not_matter(text: str) -> None:
    assert surfaces(unicodedata.normalize("NFD", text)) == surfaces(unicodedata.normalize("NFC", text))


@pytest.mark.parametrize("piece", ["a'", "1,000,", "'", "a\u0301", "京", "c+", "\u0e01\u0e49", "x "])
def test_a_very_long_text_does_not_blow_up(piece: str) -> None:
    assert len(tokens(piece * 100_000, stored=True)) <= 4 * 100_000
