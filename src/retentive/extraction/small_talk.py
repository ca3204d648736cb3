"""Small talk: turns that are polite and carry nothing to keep. A pure rule, by whole sentences.

A turn is small talk only if each of its sentences is a known phrase, or made of known words alone (both in
`small_talk.txt`). In doubt it is not: to keep a greeting costs little, to lose a fact costs more.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Final

from retentive.text import fold
from retentive.types import Turn

LONGEST_CHARS: Final = 300

_SENTENCE_ENDS = re.compile("[.!?,;:\u2026\u3002\uff01\uff1f\u3001\uff0c\n]+")
_QUESTION = re.compile("[?\uff1f]")
_NOT_WORDS = re.compile(r"[^\w]+")


def is_small_talk(text: str) -> bool:
    """Whether the text is a greeting, thanks, a bare assent or the like, and nothing else. "" is.

    Example:
        >>> is_small_talk("Thanks a lot!"), is_small_talk("Thanks, my flight is at 9.")
        (True, False)
    """
    return len(text) <= LONGEST_CHARS and all(_is_idle(words) for words in _sentences(text))


def is_assent(text: str) -> bool:
    """Whether the text is a bare yes or no: idle by itself, but an answer where it follows a question."""
    assents = _idle().assents
    return is_small_talk(text) and any(word in assents for words in _sentences(text) for word in words)


def nothing_to_keep(turns: Sequence[Turn], before: Sequence[Turn] = ()) -> bool:
    """Whether the turns are small talk alone. An assent to what the assistant asked is not.

    `before` are the turns ahead of them. Without turns there is nothing to keep.
    """
    previous = before[-1] if before else None
    for turn in turns:
        if not is_small_talk(turn.content) or (_is_asking(previous) and is_assent(turn.content)):
            return False
        previous = turn
    return True


def _is_asking(turn: Turn | None) -> bool:
    """Whether the assistant put a question that is more than courtesy."""
    if turn is None or turn.role != "assistant" or is_small_talk(turn.content):
        return False
    return _QUESTION.search(turn.content) is not None


@dataclass(frozen=True, slots=True)
class _Idle:
    assents: frozenset[str]
    courtesies: frozenset[str]
    fillers: frozenset[str]
    phrases: frozenset[str]


@cache
def _idle() -> _Idle:
    text = files("retentive.extraction").joinpath("small_talk.txt").read_text(encoding="utf-8")
    sections = dict[str, list[str]]()
    for line in text.splitlines():
        if line.startswith("["):
            sections[line.strip("[]")] = []
        elif not line.startswith("#"):
            list(sections.values())[-1].append(fold(line))
    words = {name: frozenset(" ".join(lines).split()) for name, lines in sections.items()}
    phrases = frozenset(sections["phrases"])
    return _Idle(words["assents"], words["courtesies"], words["fillers"], phrases)


def _sentences(text: str) -> list[list[str]]:
    """The words of each sentence, folded."""
    found = (_NOT_WORDS.sub(" ", sentence).split() for sentence in _SENTENCE_ENDS.split(fold(text)))
    return [words for words in found if words]


def _is_idle(words: Sequence[str]) -> bool:
    known = _idle()
    if " ".join(words) in known.phrases:
        return True
    idle = [word for word in words if word in known.courtesies or word in known.assents]
    return bool(idle) and all(word in idle or word in known.fillers for word in words)
