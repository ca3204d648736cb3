"""Names are plain, and as file names they stay apart on every file system."""
# ruff: noqa: RUF001

import unicodedata
from pathlib import PurePosixPath, PureWindowsPath
from typing import Any

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st

from retentive.errors import InvalidInput
from retentive.names import MAX_FILE_NAME_BYTES, MAX_NAME_CHARS, check_name, check_user, file_name, name_of

some_text = st.text(st.characters(codec="utf-8"), min_size=1, max_size=12)
confusable = st.text(
    "aAàÀá\u0300\u0301iIıİsSßẞſkK\u212aσςΣµμ%.-_ 2²e5日ﬁǅǆ\u00e9\u0345ŉ", min_size=1, max_size=4
)
anything = some_text | confusable


@given(anything)
def test_the_name_comes_back_from_its_file_name(name: str) -> None:
    assert name_of(file_name(name)) == name


@given(anything)
def test_a_file_name_is_its_own_folding_so_that_distinct_names_stay_apart(name: str) -> None:
    file = file_name(name)
    assert unicodedata.normalize("NFC", file.casefold()) == file


@given(anything, anything)
def test_distinct_names_have_file_names_that_no_file_system_takes_for_one(one: str, two: str) -> None:
    assume(one != two)
    for fold in (str.casefold, str.upper, str.lower):
        for form in ("NFC", "NFD"):
            folded_one, folded_two = (
                unicodedata.normalize(form, fold(unicodedata.normalize(form, file_name(name))))
                for name in (one, two)
            )
            assert folded_one != folded_two


@given(anything)
def test_a_file_name_is_one_plain_part_of_a_path_everywhere(name: str) -> None:
    file = file_name(name) + ".jsonl"
    assert not set(file) & set('/\\:*?"<>|\x00\r\n')
    assert PurePosixPath(file).name == PureWindowsPath(file).name == file
    assert PureWindowsPath(file).drive == ""
    assert file_name(name) not in {".", ".."}


@given(anything)
def test_a_name_that_is_accepted_fits_every_file_system(name: str) -> None:
    try:
        check_name("name", name)
    except InvalidInput:
        return
    assert len(file_name(name).encode()) <= MAX_FILE_NAME_BYTES


@pytest.mark.parametrize(
    ("name", "file"),
    [
        ("ticket-981", "ticket-981"),
        ("tenant:acme", "tenant%3aacme"),
        ("User", "%55ser"),
        ("日本", "日本"),
        ("straße", "stra%c3%9fe"),
        ("a.b", "a%2eb"),
        ("%2e", "%252e"),
        ("ı", "%c4%b1"),
        ("été", "été"),
    ],
)
def test_plain_names_stay_readable(name: str, file: str) -> None:
    assert file_name(name) == file


@pytest.mark.parametrize(
    "name",
    [
        "a",
        "ticket-981",
        "tenant:acme",
        "~root",
        "C:evil",
        "%2e%2e%2fevil",
        "日本",
        "a b",
        "...",
        "100%",
        "a*?",
    ],
)
def test_ordinary_names_are_accepted(name: str) -> None:
    assert check_name("name", name) == name


@pytest.mark.parametrize(
    "name",
    [
        "",
        " ",
        " a",
        "a ",
        "a\n",
        "\u3000a",
        ".",
        "..",
        "a/b",
        "../../evil",
        "/var/evil",
        "a\\b",
        "a\x00b",
        "a\x1bb",
        "a\u202eb",
        "a\u2028b",
        "half \ud83e",
        "con",
        "NUL",
        "Com1.txt",
        "lpt9 .x",
        "com²",
        "x" * 129,
        "🦀" * 20,
        None,
        5,
        b"a",
        ["a"],
    ],
    ids=range(28),
)
def test_names_that_are_not_plain_are_refused_with_a_reason(name: Any) -> None:
    with pytest.raises(InvalidInput, match="thread id"):
        check_name("thread id", name)


def test_a_user_may_be_called_anything_printable_since_it_becomes_no_path() -> None:
    for user in ("a/b", "..", "con", "auth0|42", "🦀" * MAX_NAME_CHARS):
        assert check_user("user", user) == user
    for bad in ("", " a", "a\x00", "x" * 129, None, 4):
        with pytest.raises(InvalidInput):
            check_user("user", bad)
