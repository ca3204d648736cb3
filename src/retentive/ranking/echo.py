"""Whether a text says again what a memory says, however it is spelled and set. Pure."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from retentive.text import fold, stem, words

MIN_ECHO_CHARS: Final = 12
"""Shorter memories are not looked for: "yes" is no echo."""

_WORD: Final = re.compile(r"[^\W_]+")
_PERSON: Final = "person"
_PERSONS: Final = frozenset(
    [
        *("user", "i", "me", "my", "mine", "you", "your", "yours", "they", "them", "their", "theirs"),
        *("he", "him", "his", "she", "her", "hers"),
    ]
)
_LEFT_OUT: Final = frozenset(["a", "an", "the", "am", "is", "are", "s", "m", "re"])
_LEAST_WITHOUT_PERSON: Final = 3


@dataclass(frozen=True, slots=True)
class _Place:
    word: str
    start: int
    end: int


def echoes(text: str, contents: Sequence[str]) -> list[tuple[int, int, int]]:
    """Where the text says a content again: begin, end, and the number of the content; in order, none overlap.

    Compared are the stems of the words one after the other: case, marks, markdown and white space do not
    count, nor do articles and "is"; "the user", "you" and "I" are one. Of two that overlap the longer content
    is taken.
    """
    places = _places(text)
    found: list[tuple[int, int, int]] = []
    for number in sorted(range(len(contents)), key=lambda one: len(contents[one]), reverse=True):
        content = contents[number].strip()
        if len(content) < MIN_ECHO_CHARS:
            continue
        for start, end in (*_exactly(text, content), *_by_words(text, places, content)):
            if all(end <= begun or start >= ended for begun, ended, _ in found):
                found.append((start, end, number))
    return sorted(found)


def says_words_of(text: str, content: str) -> bool:
    """Whether all words of the content that carry a meaning stand in the text, in whatever order."""
    wanted = {word.stem for word in words(content)} - {"user"}
    return bool(wanted) and wanted <= {word.stem for word in words(text)}


def _exactly(text: str, content: str) -> list[tuple[int, int]]:
    return [match.span() for match in re.finditer(re.escape(content), text, re.IGNORECASE)]


def _by_words(text: str, places: Sequence[_Place], content: str) -> list[tuple[int, int]]:
    inside = _places(content)
    wanted = [place.word for place in inside]
    if not wanted:
        return []
    wants_person = wanted[0] != _PERSON or len(wanted) <= _LEAST_WITHOUT_PERSON
    head, tail = content[: inside[0].start].lower(), content[inside[-1].end :]
    wanted = wanted if wants_person else wanted[1:]
    found: list[tuple[int, int]] = []
    for first, place in enumerate(places):
        run = places[first : first + len(wanted)]
        if place.word == wanted[0] and [one.word for one in run] == wanted:
            before = places[first - 1] if first else place
            start = before.start if before.word == _PERSON and not wants_person else place.start
            start -= len(head) if text[:start].lower().endswith(head) else 0
            end = run[-1].end
            end += len(tail) if text.startswith(tail, end) else 0
            found.append((start, end))
    return found


def _places(text: str) -> list[_Place]:
    found: list[_Place] = []
    for match in _WORD.finditer(text):
        folded = fold(match[0])
        if folded not in _LEFT_OUT:
            word = _PERSON if folded in _PERSONS else stem(folded)
            found.append(_Place(word, *match.span()))
    return found
