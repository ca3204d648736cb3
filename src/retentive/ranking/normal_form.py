"""The one shape a statement is compared in: spelling alone is evened out, what may carry a fact stays.

NFKC is too coarse for that (it turns m² into m2 and ½ into 1/2), so only those characters are rewritten whose
compatibility form is another shape of the same character.
"""

import re
import unicodedata
from collections.abc import Iterator
from typing import Final


def _fold_table() -> dict[int, str]:
    """Return the characters that may be rewritten: those whose compatibility form is only another shape."""
    shapes = {"<wide>", "<narrow>", "<small>", "<initial>", "<medial>", "<final>", "<isolated>"}
    table = {ord(mark): "'" for mark in "\u2018\u2019\u201a\u201b\u02bc"}
    table |= {ord(mark): '"' for mark in "\u201c\u201d\u201e\u201f"}
    table |= {ord(dash): "-" for dash in "\u2010\u2011\u2012\u2013\u2212"}
    table |= {ord(mark): "" for mark in "\u200b\ufeff\xad\u200e\u200f\u061c\u2060"}
    table |= {0xB5: "\u03bc", 0x2026: "..."}
    for code in (*range(0xFB00, 0xFB07), *range(0xFB13, 0xFB18)):
        table[code] = unicodedata.normalize("NFKC", chr(code))
    for code in (*range(0xFB50, 0xFE00), *range(0xFE50, 0xFF00), *range(0xFF00, 0xFFF0)):
        if unicodedata.decomposition(chr(code)).partition(" ")[0] in shapes and code not in table:
            table[code] = unicodedata.normalize("NFKC", chr(code))
    return table


_FOLD: Final = _fold_table()
_FOLDABLE: Final = re.compile(f"[{re.escape(''.join(map(chr, _FOLD)))}]")
_FINAL: Final = ".。।\u06d4"
DIGIT: Final = re.compile(r"[\d¼-¾⅐-⅞⁰-⁹₀-₉²³¹]")
_NUMBERED: Final = re.compile(r"[\d¼-¾⁰-⁹²³¹]\S*(?: ([^\W\d_]{1,5})(?![^\W\d_]))?")
_GLUED_UNIT: Final = re.compile(r"(?<=\d)(?!(?i:am|pm|st|nd|rd|th)\b)[^\W\d_]{1,3}(?![^\W\d_])")
_HALF_DAYS: Final = frozenset({"am", "pm", "a.m.", "p.m.", "a.m", "p.m"})
_SHOUTED_SPACES: Final = 2
# A capital and then small letters to the end of the word, at the start of the text or of a sentence in it.
_SENTENCE_START: Final = re.compile(
    r"(?:^|(?<=[.!?] ))[\"'(]?[^\W\d_](?=[^\W\d_A-Z]*(?:'[a-z]+)?(?:[\s,.:;!?)\"']|$))"
)
_CASED_WORD: Final = re.compile(r"[^\s,;:!?\"'()]+")
_CODE_MARK: Final = re.compile(r"[\^$*+\\|\[\]{}()/=<>@#%&~]")
_CODE_CASE: Final = re.compile(r"[a-z][A-Z]")


def clean(content: str) -> str:
    """Return the text in one shape with its case: single spaces, plain quotes, NFC, no final full stop."""
    text = " ".join(content.split())
    if not text.isascii():
        if _FOLDABLE.search(text):
            text = " ".join(text.translate(_FOLD).split())
        if not unicodedata.is_normalized("NFC", text):
            text = unicodedata.normalize("NFC", text)
    if text and text[-1] in _FINAL:
        return _without_final_marks(text)
    return text


def _without_final_marks(text: str) -> str:
    kept = text.rstrip(_FINAL)
    if not kept or _CODE_MARK.search(kept, kept.rfind(" ") + 1):
        return text
    return (
        kept[:-1] if kept[-1] == " " and "." not in text[len(kept) :] else text if kept[-1] == " " else kept
    )


def keyed(text: str) -> str:
    """Return a clean text as it is told apart: in its case, but for capitals that only begin a sentence.

    Case may be all that differs between two names, codes, paths or passwords. A text all in capitals is
    taken for a shouted one.
    """
    if text.isupper() and text.count(" ") >= _SHOUTED_SPACES:
        return text.lower()
    return _SENTENCE_START.sub(lambda match: match[0].lower(), text)


def ends_as_code(text: str) -> bool:
    """Return whether the last word of a clean text ends in "!" or holds signs that no plain word has."""
    return text.endswith("!") or _CODE_MARK.search(text, text.rfind(" ") + 1) is not None


def written_forms(text: str) -> dict[str, set[str]]:
    """Return the forms in which each word of a clean text is written, by the word in lower case.

    A capital that begins a sentence says nothing: such a word is there without a form of its own.
    """
    forms: dict[str, set[str]] = {}
    begins = {match.start() for match in _SENTENCE_START.finditer(text)}
    for match in _CASED_WORD.finditer(text):
        if match[0].lower() in _HALF_DAYS:
            continue
        known = forms.setdefault(match[0].lower(), set())
        if match.start() not in begins:
            known.add(match[0])
    return forms


def fold_case(text: str) -> str:
    """Return a clean text in lower case, but for units behind a number (mW / MW) and codes such as aGk3X.

    Lower case rather than full folding, which would merge "Maße" and "Masse".
    """
    folded = text.lower()
    if folded == text:
        return folded
    pieces: list[str] = []
    at = 0
    for start, end in _cased_spans(text):
        if start >= at:
            pieces += (text[at:start].lower(), text[start:end])
            at = end
    return "".join((*pieces, text[at:].lower())) if pieces else folded


def _cased_spans(text: str) -> Iterator[tuple[int, int]]:
    """Yield where letter case carries a fact: codes with case inside, and units behind a number."""
    for match in _NUMBERED.finditer(text):
        start = text.rfind(" ", 0, match.start()) + 1
        end = match.end() if match[1] is None else match.start(1) - 1
        whole = text[start : match.end()]
        if whole == whole.lower():
            continue
        token = text[start:end]
        if _CODE_CASE.search(token) or _GLUED_UNIT.search(token):
            yield start, end
        if match[1] is not None and _is_unit(match[1]) and DIGIT.match(token[-1]):
            yield match.span(1)


def _is_unit(letters: str) -> bool:
    if len(letters) <= 3:
        return letters.lower() not in {"am", "pm"}
    return letters[1:] != letters[1:].lower() and not letters.isupper()
