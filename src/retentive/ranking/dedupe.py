"""Whether two nearly equal statements state the same fact.

A pure guard, tuned to one side: losing a different fact is worse than storing one twice. Each text is reduced
to its sequence of fact-carrying words, dropping only what a closed list (`fact_words`) calls harmless; two
texts are the same fact where the sequences are equal. A word nobody thought of therefore keeps texts apart.
"""

import re
from collections import Counter
from collections.abc import Iterable
from functools import cache
from hashlib import blake2b
from typing import Final

from retentive.ranking import fact_words as lists
from retentive.ranking.normal_form import DIGIT, clean, ends_as_code, fold_case, keyed, written_forms

NEAR_COSINE: Final = 0.85
"""The least cosine at which a pair is worth asking `same_fact` about.

It only saves work, as `same_fact` refuses what differs in a fact at any cosine. With the default embedder 35
of 40 English rewordings in the unit tests lie above it (27 above 0.9); the rest mostly add a whole phrase to
five words.
"""

LONGEST_COMPARED: Final = 4_000
"""In characters; longer texts are the same fact only in the same words: a document is not a statement."""


def text_key(content: str) -> bytes:
    """Return 16 bytes, equal exactly when two texts are one statement in the same words.

    Ignored: the capital that begins a sentence, capitals throughout, runs of white space and that around, a
    final full stop, the shape of quotes and hyphens, full and half width, ligatures, invisible marks,
    canonical composition. Kept: letter case inside (names, codes, passwords, mW / MW), every other mark,
    powers and fractions (m² / m2, 1½ / 11/2).
    """
    return blake2b(keyed(clean(content)).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def same_fact(a: str, b: str) -> bool:
    """Return True only if the texts differ in nothing that carries a fact. Symmetric; in doubt False."""
    return _compared(a, b) is None


def why_different(a: str, b: str) -> str | None:
    """Return a short reason why the texts state different facts, or None if they state the same.

    Only whether there is a reason is a promise; its wording is for people and logs.
    """
    facts = _compared(a, b)
    return None if facts is None else _reason(*facts)


def fact_key(content: str) -> bytes:
    """Return 16 bytes, equal for texts that may be the same fact: only those are worth asking `same_fact`.

    So a whole scope is searched for duplicates in one pass, without comparing pairs. Texts that are one
    statement in capitals throughout may have different keys.
    """
    text = clean(content)
    facts = [keyed(text)] if len(text) > LONGEST_COMPARED else _facts(text, fold_case(text))
    return blake2b("\0".join(facts).encode("utf-8", "surrogatepass"), digest_size=16).digest()


def _compared(a: str, b: str) -> tuple[list[str], list[str]] | None:
    """Return the facts of both texts where they differ, else None."""
    text_a, text_b = clean(a), clean(b)
    if keyed(text_a) == keyed(text_b):
        return None
    if max(len(text_a), len(text_b)) > LONGEST_COMPARED:
        return [text_a], [text_b]
    facts_a, facts_b = _facts(text_a, fold_case(text_a)), _facts(text_b, fold_case(text_b))
    if facts_a != facts_b:
        return facts_a, facts_b
    return _differing_forms(text_a, text_b)


def _differing_forms(a: str, b: str) -> tuple[list[str], list[str]] | None:
    """Return the word that the two texts write in different case inside a sentence, or end differently on."""
    ends = a[a.rfind(" ") + 1 :], b[b.rfind(" ") + 1 :]
    if ends_as_code(a) != ends_as_code(b) or (ends_as_code(a) and ends[0] != ends[1]):
        return [ends[0]], [ends[1]]
    forms_a, forms_b = written_forms(a), written_forms(b)
    for word in forms_a.keys() & forms_b.keys():
        mine, theirs = forms_a[word], forms_b[word]
        beginning = {word, word.capitalize()}  # what a word that begins a sentence may be elsewhere
        if mine and theirs and mine != theirs:
            return sorted(mine), sorted(theirs)
        if not (mine and theirs) and not (mine | theirs) <= beginning:
            return sorted(mine) or [word], sorted(theirs) or [word]
    return None


# One word, the mark behind it ("" or one of , : ; . ?), and whether it is capitalised inside a sentence.
# ":" is harmless, ";" is a comma that parts two facts. (A named tuple is twice as slow.)
_Word = tuple[str, str, bool]

_OPENING: Final = "\"'(«»¿¡"
_CLOSING: Final = "\"')»«.,;:!?،؛؟।。"
_QUOTED: Final = re.compile("[\"`«]|(?:^| )'")
_HARMLESS_MARKS: Final = frozenset({",", ":"})
_COLON: Final = frozenset({":"})
_NO_MARKS: Final[frozenset[str]] = frozenset()
# As facts, marks begin with a space, which no word does.
_MARK_FACTS: Final = {",": " ,", ";": " ,", ":": " :", ".": " .", "?": " ?"}
_END_MARKS: Final = frozenset({".", "?"})
_LONE_MARKS: Final = frozenset({",", ";", ":", "!", "«", "»", '"', "،", "؛"})
_GLUED: Final = re.compile(r"(\d[\d.,:]*)([a-zA-Zμ.]{2,3})")
_GREEK: Final = re.compile("[\u0370-\u03ff\u1f00-\u1fff]")


def _facts(text: str, folded: str) -> list[str]:
    """Return the fact-carrying words of a text in order, each hard mark as a word of its own."""
    if not folded.isascii() and _unspaced_script().search(folded):
        return [_unspaced(folded)]
    words = _words(text.split(" "), folded.split(" "))
    texts = _texts(words)
    # In a text with a quotation any word may be spoken of, so none is dropped.
    if not lists.ENGLISH.isdisjoint(texts) and not _QUOTED.search(text):
        words = _without_fillers(_without_asides(words)) or words
    # Behind a negation a colon, too, may decide how far it reaches. A comma always may part two things.
    harmless = _COLON if lists.NEGATIONS.isdisjoint(texts) else _NO_MARKS
    facts: list[str] = []
    for word, mark, _ in words:
        facts.append(word)
        if mark and mark not in harmless:
            facts.append(_MARK_FACTS[mark])
    if words[-1][1] != "?" and facts[-1] in _MARK_FACTS.values():
        facts.pop()
    return [fact for fact in facts if fact] or [folded]


def _words(raws: list[str], lows: list[str]) -> list[_Word]:
    words: list[_Word] = []
    start = True
    for index, (raw, low) in enumerate(zip(raws, lows, strict=True)):
        if low.isalnum() and low not in lists.EXPANSIONS and not "0" <= low < ":":
            words.append((low, "", raw != low and not start))
            start = False
            continue
        following = raws[index + 1] if index + 1 < len(raws) else ""
        core, mark = _split_marks(low)
        if not core and words:
            words[-1] = _with_mark(words[-1], mark, raw, following)
        else:
            named = raw != low and not start
            *parts, core = _expanded(core, following)
            words += [(part, "", named) for part in parts]
            words.append(_with_mark((core, "", named), mark, raw, following))
        start = mark in _END_MARKS
    return words


def _split_marks(chunk: str) -> tuple[str, str]:
    """Return the chunk without harmless marks at its edges, and the weightiest mark behind it."""
    if DIGIT.search(chunk):
        core = chunk.rstrip(".,;:?")
        lead = 0
    else:
        tail_cut = chunk.rstrip(_CLOSING)
        core = tail_cut.lstrip(_OPENING)
        lead = len(tail_cut) - len(core)
        if not any(map(str.isalnum, core)):
            if chunk in _LONE_MARKS:
                return "", ":" if chunk == ":" else ","
            return ("", "?") if chunk in {"?", "؟"} else (chunk, "")
    tail = chunk[lead + len(core) :]
    if "?" in tail or "؟" in tail or (";" in tail and _GREEK.match(core[-1:])):
        return core, "?"
    if core not in lists.ABBREVIATIONS and any(mark in tail for mark in ".!।。"):
        return core, "."
    if any(mark in tail for mark in ",;،؛"):
        return core, ","
    return core, ":" if ":" in tail else ""


def _with_mark(word: _Word, mark: str, raw: str, following: str) -> _Word:
    """Return the word with its mark, a light one made hard where it parts two names or two numbers."""
    text, before, named = word
    if before in _END_MARKS:
        return word
    alone = raw in _LONE_MARKS
    if mark in _HARMLESS_MARKS and (
        ((alone or raw[:1].isupper()) and following[:1].isupper())
        or (text[-1:].isdigit() and (alone or following[:1].isdigit()))
    ):
        mark = ";"
    return text, mark, named


def _expanded(core: str, following: str) -> tuple[str, ...]:
    if core in lists.EXPANSIONS:
        return lists.EXPANSIONS[core]
    if core in lists.IS_CONTRACTIONS and (following.lower() in lists.IS_BEFORE or following.endswith("ing")):
        return lists.IS_CONTRACTIONS[core]
    if core[:1].isdigit() and (glued := _GLUED.fullmatch(core)) and glued[2] in lists.SPACED_UNITS:
        return glued[1], glued[2].replace(".", "")
    return (core,)


def _without_asides(words: list[_Word]) -> list[_Word]:
    """Return the words without phrases of address at either end; at least three words stay."""
    shorter = _without_leading_aside(words)
    while shorter is not words:
        words, shorter = shorter, _without_leading_aside(shorter)
    for size in range(min(lists.LONGEST_ASIDE, len(words) - 3), 0, -1):
        set_off = words[-size - 1][1] not in {"", ":"} and words[-1][1] != "?"
        if set_off and _texts(words[-size:]) in lists.TRAILING_ASIDES and not _has_name(words[-size:]):
            return words[:-size]
    return words


def _without_leading_aside(words: list[_Word]) -> list[_Word]:
    if words[0][0] not in lists.ASIDE_STARTS:
        return words
    for size in range(min(lists.LONGEST_ASIDE, len(words) - 3), 0, -1):
        phrase = _texts(words[:size])
        if phrase not in lists.ASIDES or _has_name(words[:size]):
            continue
        text, mark, _ = words[size - 1]
        if text == "that" or mark not in {"", "?"} or phrase in lists.BARE_ASIDES:
            return words[size:]
    return words


def _texts(words: list[_Word]) -> tuple[str, ...]:
    return tuple([text for text, _, _ in words])


def _has_name(words: list[_Word]) -> bool:
    return any(named and text != "i" for text, _, named in words)


def _without_fillers(words: list[_Word]) -> list[_Word]:
    """Return the words without articles and fillers, bare nouns of general statements in the singular."""
    kept: list[_Word] = []
    before, previous = "", ""
    bare = verb = True
    for index, word in enumerate(words):
        text = word[0]
        if text in lists.DROPPABLE:
            following = words[index + 1][0] if index + 1 < len(words) else ""
            if _is_harmless(word, previous, following):
                continue
        if bare and verb and previous in lists.GENERIC_LAST:
            kept.append(_generic(word, before, previous))
        else:
            kept.append(word)
        before, previous, bare, verb = previous, text, text not in lists.ARTICLES, bare
    return kept


def _is_harmless(word: _Word, previous: str, following: str) -> bool:
    text, mark, named = word
    if named or mark or previous in lists.MENTIONS:
        return False
    if text == "please":
        return previous not in lists.PLEASE_STAYS_AFTER
    if not following:
        return False
    if text in lists.FILLERS:
        return previous not in lists.NEGATIONS
    return not _article_counts(text, previous, following)


def _article_counts(article: str, previous: str, following: str) -> bool:
    return (
        following in lists.ARTICLE_STAYS_BEFORE
        or previous in lists.ARTICLE_STAYS_AFTER
        or previous[-1:].isdigit()
        or following[:1].isdigit()
        or (previous in lists.PREPOSITIONS and following in lists.IDIOM_NOUNS)
        or (article == "a" and (following[-1:] == "s" or previous in lists.LETTERED))
    )


def _generic(word: _Word, before: str, previous: str) -> _Word:
    text, mark, named = word
    if previous not in lists.GENERIC_AFTER and (before, previous) not in lists.GENERIC_PHRASES:
        return word
    plural = len(text) > 3 and text[-1] == "s" and text[-2] not in "siu'" and text not in lists.PLURAL_CARRIES
    # The star tells "likes tea" from "likes the tea", whose article is gone by now.
    return f"{text[:-1] if plural and not named else text}*", mark, named


# --- scripts without spaces -------------------------------------------------

_NO_SPACE: Final = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_UNSPACED_NEGATION: Final = re.compile(
    "[不没沒无無未别別勿非否莫甭]|ない|なく|なかっ|ませ|いいえ|いや|ぬ|ず|ไม่|อย่า|มิ|ບໍ່|មិន|မ"
)
_NUMERAL: Final = "\\d一二三四五六七八九十百千万萬亿億零\u3007两兩半"
_FINAL_PARTICLE: Final = re.compile("(?:(?<=です|ます|した|ない|せん)[ねよ]|[啊呀]|(?:นะ)?(?:ครับ|ค่ะ)|นะคะ)$")


# Made when first needed: wide ranges of characters take milliseconds, which an import should not.
@cache
def _unspaced_script() -> re.Pattern[str]:
    return re.compile(f"[{_NO_SPACE}]")


@cache
def _unspaced_mark() -> re.Pattern[str]:
    return re.compile(
        f"(?<=[{_NO_SPACE}])(?<![{_NUMERAL}])[!\"'()「」『』《》 ]+(?![{_NUMERAL}])"
        f"|(?<![{_NUMERAL}]) (?=[{_NO_SPACE}])(?![{_NUMERAL}])"
    )


def _unspaced(folded: str) -> str:
    """Return the text without spaces and light marks, unless it negates: a mark may part the "no"."""
    text = folded if _UNSPACED_NEGATION.search(folded) else _unspaced_mark().sub("", folded)
    return _FINAL_PARTICLE.sub("", text) or text


# --- reasons ----------------------------------------------------------------


def _reason(facts_a: list[str], facts_b: list[str]) -> str:
    count_a, count_b = Counter(facts_a), Counter(facts_b)
    only_a, only_b = [*(count_a - count_b)], [*(count_b - count_a)]
    if not only_a and not only_b:
        return "order differs"
    if " ?" in only_a or " ?" in only_b:
        return "question / statement"
    numbers_a, numbers_b = _numbers(only_a), _numbers(only_b)
    if numbers_a or numbers_b:
        return f"numbers differ: {_shown(numbers_a)} / {_shown(numbers_b)}"
    if not lists.NEGATIONS.isdisjoint(only_a) or not lists.NEGATIONS.isdisjoint(only_b):
        return "negation"
    shown_a, shown_b = _shown(only_a), _shown(only_b)
    return "articles differ" if shown_a == shown_b else f"words differ: {shown_a} / {shown_b}"


def _numbers(words: Iterable[str]) -> list[str]:
    return [word for word in words if word in lists.NUMBER_WORDS or DIGIT.search(word)]


def _shown(words: list[str]) -> str:
    shown = [word[:-1] if len(word) > 1 and word[-1] == "*" else word.strip() for word in words if word]
    return " ".join(word[:40] for word in shown[:3]) or "(none)"
