"""From text to the words that are compared: folded, cut, stopped, stemmed; the same for every language.

Scripts that put spaces between words are cut into words. Runs of Han, kana, Hangul, Thai, Lao, Khmer and
Myanmar are cut into every pair of neighbouring characters, since nothing shows where a word ends; of Han and
Hangul, where one character can be a word, a stored text also gives the single characters.
"""

import re
import threading
import unicodedata
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, cast

import Stemmer

STEM_CACHE_WORDS = 65_536
MAX_WORD_CHARS = 64

_STOPPED = """
    a an the of to in on at for and or is are was were be been being am do does did done doing what when
    where who whom whose which why how with by from as it its that this these those has have had having
    will would could should can may might about into than then there their they them he she his her hers
    him i you your yours my mine me we our ours us if not no so but just also very too much many any some
    s t ve re ll d m don didn isn wasn
"""
STOP_WORDS = frozenset(_STOPPED.split())


@dataclass(frozen=True, slots=True)
class Word:
    """A kept word as it stands in the folded text, and the stem under which it is counted."""

    surface: str
    stem: str


def words(text: str) -> list[Word]:
    """The kept words of a question, in order, repeats included; empty when it has none."""
    return [Word(surface, stem(surface)) for surface in surfaces(text)]


def surfaces(text: str, *, stored: bool = False) -> list[str]:
    """The kept words as they stand in the folded text, in order, repeats included.

    Args:
        text: Any text; the time taken grows with its length only.
        stored: Of a text that is to be found, also the single Han and Hangul characters, so that a question
            of one character finds it.
    """
    return [word for word in tokens(text, stored=stored) if word not in STOP_WORDS]


def tokens(text: str, *, stored: bool = False) -> list[str]:
    """Every word of the folded text, in order, stop words included. A contraction loses its tail."""
    folded = fold(text)
    if folded.isascii():
        return [_trim(raw) for raw in _ASCII_WORD.findall(folded)]
    found: list[str] = []
    for match in _any_word().finditer(folded):
        if match.lastgroup is None:
            found.append(_trim(match.group()))
        else:
            found.extend(_pieces(match.group(), single=stored and match.lastgroup != "pairs"))
    return found


def fold(text: str) -> str:
    """The text in the form in which words are compared.

    Compatibility forms are made one (NFKC) and case is dropped. Accents on Latin and Greek letters go, and
    Cyrillic stress marks, with io written as ie; short i and the marks of all other scripts carry meaning
    and stay.
    """
    if text.isascii():
        return text.lower()
    folded = unicodedata.normalize("NFKC", text).casefold()
    parted = unicodedata.normalize("NFD", folded)
    if _ACCENTED.search(parted):
        parted = _ACCENTED.sub(r"\1", parted)
    return unicodedata.normalize("NFC", parted).translate(_PLAIN_LETTERS)


def stem(surface: str) -> str:
    """The English stem of a folded word; words of other languages come back as they are, or nearly so."""
    found = _stem_of.get(surface)
    if found is None:
        with _stemmer_lock:
            found = _stemmer.stemWord(surface)
            if len(_stem_of) >= STEM_CACHE_WORDS:
                _stem_of.clear()
            _stem_of[surface] = found
    return found


def stems(surfaces: Sequence[str]) -> list[str]:
    """The stem of each folded word, in order."""
    found = list(map(_stem_of.get, surfaces))
    if None not in found:
        return cast("list[str]", found)
    return [known or stem(surface) for known, surface in zip(found, surfaces, strict=True)]


_stem_of: dict[
    str, str
] = {}  # dropped whole when full; a cache that ranks its entries costs several times as much

# A stemmer keeps its working memory inside and is not made for two threads at once.
_stemmer_lock = threading.Lock()
_stemmer = cast("Any", Stemmer).Stemmer("english", 0)

# Marks that are parts of words, by their Unicode blocks.
_MARKS = (
    "\u0300-\u036f\u0483-\u0487\u0591-\u05bd\u05c1\u05c2\u05c4\u05c5\u0610-\u061a\u064b-\u065f\u0670\u06d6-\u06dc"
    "\u06df-\u06e4\u06e7\u06e8\u06ea-\u06ed\u0711\u0730-\u074a\u07a6-\u07b0\u07eb-\u07f3\u0816-\u082d\u08d3-\u08e1"
    "\u08e3-\u0963\u0981-\u09e3\u0a01-\u0a51\u0a70-\u0a83\u0abc-\u0ae3\u0b01-\u0b63\u0b82-\u0bd7\u0c00-\u0c63"
    "\u0c81-\u0ce3\u0d00-\u0d63\u0d82-\u0df3\u0f18\u0f19\u0f35\u0f37\u0f39\u0f71-\u0f84\u0f86-\u0fbc\u135d-\u135f"
    "\u1dc0-\u1dff\u20d0-\u20f0\ua8e0-\ua8f1\ufe20-\ufe2f"
)
_HAN_KANA = (
    "\u3005-\u3007\u3041-\u3096\u3099\u309a\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_HANGUL = "\u1100-\u11ff\u3131-\u318e\uac00-\ud7ff"
_SOUTH_EAST = (
    "\u0e01-\u0e3a\u0e40-\u0e4e\u0e80-\u0eff\u1000-\u1049\u1050-\u109f\u1780-\u17d3\u17d7\u17dc\u17dd"
)
_UNSPACED = _HAN_KANA + _HANGUL + _SOUTH_EAST

_NUMBER = r"[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])"
_CODE = r"[a-z](?:\+\+|\#(?!\w))"
_LETTERS = rf"(?:[^\W_{_UNSPACED}]|[{_MARKS}])+"
_ASCII_WORD = re.compile(rf"{_CODE}|{_NUMBER}|[a-z0-9]+(?:'[a-z0-9]+)?")
_ACCENTED = re.compile(
    "([a-z\u00df-\u024f\u1e00-\u1eff\u0370-\u03ff\u1f00-\u1fff])[\u0300-\u036f]+"
    "|(?<=[\u0400-\u052f])[\u0300\u0301]+|(?<=\u0435)\u0308"
)
_PLAIN_LETTERS = str.maketrans(
    {"ø": "o", "ł": "l", "đ": "d", "\u0131": "i", "æ": "ae", "œ": "oe", "þ": "th", "ð": "d"}
)
_SHORT_HEAD, _LONG_TAIL = 2, 3


@cache
def _any_word() -> re.Pattern[str]:
    """Made when first needed: wide ranges of characters take milliseconds, which an import should not."""
    return re.compile(
        rf"(?P<han>[{_HAN_KANA}]+)|(?P<hangul>[{_HANGUL}]+)|(?P<pairs>[{_SOUTH_EAST}]+)"
        rf"|{_CODE}|{_NUMBER}|{_LETTERS}(?:['\u2019]{_LETTERS})?"
    )


def _trim(raw: str) -> str:
    """The word of a match: "don't" is don, "o'malley" and "l'homme" are malley and homme, "5,000" is 5000."""
    if "," in raw:
        return raw.replace(",", "")
    if "'" in raw or "\u2019" in raw:
        head, _, tail = raw.replace("\u2019", "'").partition("'")
        raw = tail if len(head) <= _SHORT_HEAD and len(tail) >= _LONG_TAIL else head
    return raw[:MAX_WORD_CHARS]


def _pieces(run: str, *, single: bool) -> list[str]:
    """The pairs of neighbouring characters of a run; the character itself when it is alone."""
    if len(run) == 1:
        return [run]
    pairs = [run[place : place + 2] for place in range(len(run) - 1)]
    return pairs + [char for char in run if not "\u3040" <= char <= "\u30ff"] if single else pairs
