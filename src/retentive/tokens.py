"""How long a text is for a model, and how to shorten it without cutting a character in two."""

import re
import unicodedata
from collections.abc import Callable
from functools import cache
from typing import TypeAlias

from retentive.checks import check_limit

TokenCounter: TypeAlias = Callable[[str], int]
"""How many tokens a model makes of a text; 0 for the empty one."""

_MAX_CHARS = 1 << 40
_WORDY = re.compile(r"[A-Za-z\s]+")
_ASCII_SIGNS = re.compile(r"[!-@\[-`{-~]")
_LETTERS = re.compile(r"[^\W\d_]")

_ZERO_WIDTH_JOINER = "\u200d"
_HANGUL_VOWEL_OR_FINAL = range(0x1160, 0x1200)
_SKIN_TONES = range(0x1F3FB, 0x1F400)
_FLAG_LETTERS = range(0x1F1E6, 0x1F200)
_THAI_AND_LAO_AM = "\u0e33\u0eb3"
_TAGS = range(0xE0020, 0xE0080)
_HIGH_SURROGATES = range(0xD800, 0xDC00)
_LOW_SURROGATES = range(0xDC00, 0xE000)


def estimate_tokens(text: str) -> int:
    """About how many tokens a current model makes of the text, rather too many than too few; 0 for "".

    A quarter for each Latin letter and white space, a half for each ASCII digit and sign, one for each Han,
    Kana or Hangul character, a half for each other letter, one and a half for all else (emoji, marks);
    the sum is rounded up.
    """
    wordy = sum(len(run) for run in _WORDY.findall(text))
    signs = len(_ASCII_SIGNS.findall(text))
    if wordy + signs == len(text):
        return -(-(wordy + 2 * signs) // 4)
    ideographs = len(_ideographs().findall(text))
    letters = len(_LETTERS.findall(text)) - ideographs - len(re.findall("[A-Za-z]", text))
    others = len(text) - wordy - signs - ideographs - letters
    return -(-(wordy + 2 * signs + 4 * ideographs + 2 * letters + 6 * others) // 4)


@cache
def _ideographs() -> re.Pattern[str]:
    """Made when first needed: wide ranges of characters take milliseconds, which an import should not."""
    return re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af\uf900-\ufaff\U00020000-\U0003ffff]")


def truncate_to_tokens(text: str, max_tokens: int, count: TokenCounter = estimate_tokens) -> str:
    """The longest beginning, by halving, that counts at most `max_tokens` and ends between two characters.

    Raises:
        InvalidInput: `max_tokens` is not a whole number from 0.
    """
    check_limit("max_tokens", max_tokens, maximum=_MAX_CHARS)
    if count(text) <= max_tokens:
        return text
    fits, too_long = 0, len(text)
    while too_long - fits > 1:
        middle = (fits + too_long) // 2
        fits, too_long = (middle, too_long) if count(text[:middle]) <= max_tokens else (fits, middle)
    return truncate(text, fits)


def truncate(text: str, max_chars: int) -> str:
    """The longest beginning of at most `max_chars` code points that ends between two whole characters.

    A base with its combining marks, an emoji sequence (joined, skin tone, flag), a Hangul syllable in parts,
    CR LF and a surrogate pair are one character each; one that does not fit is left out, so the result may be
    shorter, even empty.

    Raises:
        InvalidInput: `max_chars` is not a whole number from 0.
    """
    cut = check_limit("max_chars", max_chars, maximum=_MAX_CHARS)
    if cut >= len(text):
        return text
    while cut > 0 and _is_inside(text, cut):
        cut -= 1
    return text[:cut]


def _is_inside(text: str, cut: int) -> bool:
    """Whether the code points on both sides of the cut are parts of one character."""
    before, after = text[cut - 1], text[cut]
    if before.isascii() and after.isascii():
        return before == "\r" and after == "\n"
    code = ord(after)
    if code in _FLAG_LETTERS:
        return _flag_letters_before(text, cut) % 2 == 1
    if ord(before) in _HIGH_SURROGATES:
        return code in _LOW_SURROGATES
    return _extends(after, code) or before == _ZERO_WIDTH_JOINER


def _extends(char: str, code: int) -> bool:
    joins = char == _ZERO_WIDTH_JOINER or unicodedata.category(char) in ("Mn", "Me", "Mc")
    joins = joins or char in _THAI_AND_LAO_AM
    return joins or code in _HANGUL_VOWEL_OR_FINAL or code in _SKIN_TONES or code in _TAGS


def _flag_letters_before(text: str, cut: int) -> int:
    start = cut
    while start > 0 and ord(text[start - 1]) in _FLAG_LETTERS:
        start -= 1
    return cut - start
