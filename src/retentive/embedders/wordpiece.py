"""Uncased WordPiece: the pieces that a BERT vocabulary cuts a text into.

Gives what the reference tokeniser gives (compared with it in the tests), in plain Python: it starts in
milliseconds, has no threads that a fork could break, and takes any string, lone surrogates included.
Method: Wu et al. 2016, "Google's Neural Machine Translation System", and the BERT release's basic tokeniser.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence

UNKNOWN = "[UNK]"
LONGEST_WORD = 100  # in characters; longer ones are unknown, as in the reference

_CONTINUES = "##"
_BLANKS = "\t\n\r"
_DROPPED = frozenset({"Cc", "Cf", "Cs", "Co"})
_IDEOGRAPHS = (
    (0x4E00, 0x9FFF),
    (0x3400, 0x4DBF),
    (0x20000, 0x2A6DF),
    (0x2A700, 0x2B73F),
    (0x2B740, 0x2B81F),
    (0x2B920, 0x2CEAF),
    (0xF900, 0xFAFF),
    (0x2F800, 0x2FA1F),
)
_ASCII_WORDS = re.compile(r"[a-z0-9]+|[^a-z0-9\s]")
_ASCII_LOWER = {
    code: None if (code < 0x20 and chr(code) not in _BLANKS) or code == 0x7F else chr(code).lower()
    for code in range(0x80)
}


class _PerCharacter(dict[int, str]):
    """A table for `str.translate` that works each character out once; at most one entry a code point."""

    def __init__(self, rule: Callable[[str], str]) -> None:
        self._rule = rule

    def __missing__(self, code: int) -> str:
        text = self[code] = self._rule(chr(code))
        return text


def _clean(char: str) -> str:
    """Without controls, formats, surrogates and private use; any space a blank; an ideograph its own word."""
    if char in _BLANKS:
        return " "
    if char == "\ufffd" or unicodedata.category(char) in _DROPPED:
        return ""
    if char.isspace():
        return " "
    if any(low <= ord(char) <= high for low, high in _IDEOGRAPHS):
        return f" {char} "
    return char


def _fold(char: str) -> str:
    """Without accents, in lower case; punctuation its own word. `char` is already decomposed."""
    category = unicodedata.category(char)
    if category == "Mn":
        return ""
    if category[0] == "P" or (char.isascii() and not char.isalnum() and not char.isspace()):
        return f" {char} "
    return char.lower()


_CLEAN = _PerCharacter(_clean)
_FOLD = _PerCharacter(_fold)


def split_words(text: str) -> list[str]:
    """The words and punctuation marks of `text`, lower-case, without accents, in order."""
    if text.isascii():
        return _ASCII_WORDS.findall(text.translate(_ASCII_LOWER))
    return unicodedata.normalize("NFD", text.translate(_CLEAN)).translate(_FOLD).split()


class WordPiece:
    """A vocabulary, and the greedy longest match that cuts words with it. Never changes once made."""

    def __init__(self, vocabulary: Sequence[str]) -> None:
        """Take the pieces in the order of their numbers, "##" before those that continue a word."""
        starts = {piece: at for at, piece in enumerate(vocabulary) if not piece.startswith(_CONTINUES)}
        self._starts: Mapping[str, int] = starts
        self._continues: Mapping[str, int] = {
            piece.removeprefix(_CONTINUES): at
            for at, piece in enumerate(vocabulary)
            if piece.startswith(_CONTINUES)
        }
        self._longest = max(map(len, vocabulary), default=0)
        self._unknown = (starts[UNKNOWN],)

    def ids(self, text: str) -> list[int]:
        """The numbers of the pieces of `text`, in order; a word that cannot be cut is one unknown piece."""
        starts, found = self._starts, list[int]()
        if text.isalnum() and text.isascii() and (whole := starts.get(text)) is not None:
            return [whole]  # as below: a word of the vocabulary, alone
        for word in split_words(text):
            whole = starts.get(word)
            if whole is None:
                found.extend(self._cut(word))
            else:
                found.append(whole)
        return found

    def _cut(self, word: str) -> Sequence[int]:
        """The pieces of one word, or the unknown piece if some part of it has none."""
        if len(word) > LONGEST_WORD:
            return self._unknown
        pieces: list[int] = []
        table, begin = self._starts, 0
        while begin < len(word):
            for end in range(min(len(word), begin + self._longest), begin, -1):
                piece = table.get(word[begin:end])
                if piece is not None:
                    break
            else:
                return self._unknown
            pieces.append(piece)
            table, begin = self._continues, end
        return pieces
