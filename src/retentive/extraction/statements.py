"""What of an extractor's answer can be used: pure, and the same for every extractor.

Nothing in a conversation can change these rules, whatever it makes a model say: the kind is one of three, the
origin follows from who spoke the turns, a memory gives way only to an equal or more trusted origin.
"""

import math
import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from retentive import checks
from retentive.drafts import NewMemory
from retentive.errors import InvalidInput
from retentive.extraction.base import EXTRACTED_KINDS, Decision, Excerpt, Statement
from retentive.extraction.limits import ExtractionLimits
from retentive.ranking.dedupe import same_fact
from retentive.text import fold
from retentive.trust import lowest, trust
from retentive.types import MemoryItem, MemoryKind, Origin, Source, Turn

_ORIGINS = {"user": Origin.USER, "assistant": Origin.ASSISTANT}
_MAX_SUBJECT_CHARS = 200
_WORD = re.compile("\\w+(?:['\u2019.:-]\\w+)*")
_NEGATIONS = frozenset(
    ["no", "not", "never", "none", "nothing", "nobody", "neither", "nor", "without", "cannot", "nicht", "nie"]
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Settled:
    """What an answer comes to: memories to write and whose place they take, and what is not written.

    `supersedes` leads from the place of a memory in `new` to the id it supersedes. `restated` are the ids of
    known memories that were said again, `refused` why a statement cannot be used, one text each.
    """

    new: tuple[NewMemory, ...] = ()
    supersedes: tuple[tuple[int, str], ...] = ()
    restated: tuple[str, ...] = ()
    refused: tuple[str, ...] = ()

    @property
    def is_unusable(self) -> bool:
        """Whether there was an answer, and nothing of it can be used."""
        return bool(self.refused) and not self.new and not self.restated


def settle(
    statements: Sequence[Statement],
    excerpt: Excerpt,
    limits: ExtractionLimits,
    *,
    thread: str | None = None,
    run_id: str | None = None,
) -> Settled:
    """What the statements come to, in their order."""
    new: list[NewMemory] = []
    supersedes: dict[int, str] = {}
    restated: list[str] = []
    refused: list[str] = []
    for number, statement in enumerate(statements, start=1):
        if number > limits.statements:
            refused.append(f"{len(statements) - limits.statements} statements over the limit")
            break
        try:
            checked = _checked(statement, excerpt, limits)
        except InvalidInput as error:
            refused.append(f"statement {number}: {error}")
            continue
        turns = [turn for turn in excerpt.turns if turn.seq in checked.turns]
        checked = _decided(checked, origin_of(turns), excerpt.known, supersedes.values())
        if checked.decision is Decision.RESTATES and checked.target is not None:
            restated.append(checked.target)
            continue
        if checked.decision is Decision.SUPERSEDES and checked.target is not None:
            supersedes[len(new)] = checked.target
        new.append(_draft(checked, turns, thread, run_id))
    return Settled(
        new=tuple(new),
        supersedes=tuple(supersedes.items()),
        restated=tuple(dict.fromkeys(restated)),
        refused=tuple(refused),
    )


def origin_of(turns: Sequence[Turn]) -> Origin:
    """Who said what the turns say together: the user only if they are all the user's."""
    return lowest(_ORIGINS.get(turn.role, Origin.TOOL) for turn in turns)


def _checked(statement: Statement, excerpt: Excerpt, limits: ExtractionLimits) -> Statement:
    """The statement with what can be mended mended.

    Raises:
        InvalidInput: it cannot be used.
    """
    there = {turn.seq: turn for turn in excerpt.turns}
    turns = tuple(sorted({turn for turn in statement.turns if turn in there}))
    if not turns:
        raise InvalidInput("it names no turn of the excerpt")
    longest = max([limits.statement_chars, *(len(there[turn].content) for turn in turns)])
    content = checks.check_text("content", statement.content, max_chars=longest)
    if statement.kind not in EXTRACTED_KINDS:
        raise InvalidInput(f"kind {str(statement.kind)[:20]!r} is not one of {', '.join(EXTRACTED_KINDS)}")
    subject = statement.subject
    return replace(
        statement,
        content=content,
        kind=MemoryKind(statement.kind),
        importance=_importance(statement.importance),
        subject=_label(subject) if isinstance(subject, str) else None,
        turns=turns,
        tags=checks.check_tags(statement.tags),
    )


def _importance(value: object) -> float:
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not math.isfinite(value):
        return 0.5
    return min(1.0, max(0.0, float(value)))


def _label(text: str) -> str | None:
    """The text on one line, if there is any and it is short; else None: a subject is not worth a refusal."""
    line = " ".join(text.split())
    try:
        return checks.check_label("subject", line, max_chars=_MAX_SUBJECT_CHARS)
    except InvalidInput:
        return None


def _decided(
    statement: Statement, origin: Origin, known: Sequence[MemoryItem], taken: Collection[str]
) -> Statement:
    """The statement with a decision that holds: the extractor's word where it may have it."""
    trusted = [old for old in known if trust(old.origin) >= trust(origin)]
    same = next((old for old in trusted if same_fact(old.content, statement.content)), None)
    if same is not None:
        return replace(statement, decision=Decision.RESTATES, target=same.id)
    target = next((old for old in known if old.id == statement.target), None)
    if target is not None:
        restates = statement.decision == Decision.RESTATES and target in trusted
        if restates and not adds_fact(statement.content, target.content):
            return replace(statement, decision=Decision.RESTATES)
        may = trust(origin) >= trust(target.origin) and target.id not in taken
        if statement.decision == Decision.SUPERSEDES and may:
            return replace(statement, decision=Decision.SUPERSEDES)
    return replace(statement, decision=Decision.NEW, target=None)


def adds_fact(text: str, known: str) -> bool:
    """Whether a text that is said to restate the known one has a number, name or negation that that lacks.

    A model that is wrong about a restatement would lose a fact; storing it once more loses nothing.
    """
    mine, theirs = _WORD.findall(text), set(map(fold, _WORD.findall(known)))
    numbers_and_names = {
        fold(word)
        for place, word in enumerate(mine)
        if any(char.isdigit() for char in word) or (place and word[:1].isupper() and word != "I")
    }
    return not numbers_and_names <= theirs or _is_negated(set(map(fold, mine))) != _is_negated(theirs)


def _is_negated(words: Collection[str]) -> bool:
    return any(word in _NEGATIONS or word.endswith(("n't", "n\u2019t")) for word in words)


def _draft(statement: Statement, turns: Sequence[Turn], thread: str | None, run_id: str | None) -> NewMemory:
    metadata: dict[str, object] = {"subject": statement.subject} if statement.subject else {}
    if run_id is not None:
        metadata["run_id"] = run_id
    return NewMemory(
        content=statement.content,
        kind=statement.kind,
        importance=statement.importance,
        tags=statement.tags,
        metadata=metadata,
        occurred_at=turns[-1].at,
        source=Source(thread=thread, turns=tuple(turn.seq for turn in turns)),
        origin=origin_of(turns),
    )
