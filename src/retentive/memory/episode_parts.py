"""What episodes, facts and procedures are made of: their words, steps, tags and order. Pure."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Final

from retentive import checks
from retentive.errors import InvalidInput
from retentive.recall import Recall
from retentive.types import MemoryHit, MemoryItem

MAX_STEPS: Final = 1_000
_OUTCOME: Final = {True: "succeeded", False: "failed", None: "open"}


def outcome_word(success: bool | None) -> str:
    """How an outcome is told in words.

    Raises:
        InvalidInput: it is not True, False or None.
    """
    if success is not None and not isinstance(success, bool):  # pyright: ignore[reportUnnecessaryIsInstance]
        raise InvalidInput(f"success must be True, False or None, not {success!r}")
    return _OUTCOME[success]


def check_steps(steps: object) -> list[str]:
    """The steps, each some text.

    Raises:
        InvalidInput: a lone text, more than `MAX_STEPS`, or a step that cannot be kept.
    """
    if isinstance(steps, str) or not isinstance(steps, Sequence):
        raise InvalidInput('steps must be a list of texts, for example steps=["build", "test"]')
    if len(steps) > MAX_STEPS:  # pyright: ignore[reportUnknownArgumentType]
        raise InvalidInput(f"{len(steps)} steps; the limit is {MAX_STEPS:,}")  # pyright: ignore[reportUnknownArgumentType]
    return [checks.check_text(f"step {number}", step) for number, step in enumerate(steps, start=1)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType]


def numbered(steps: Sequence[str]) -> list[str]:
    """A line a step, counted from 1."""
    return [f"{number}. {step}" for number, step in enumerate(steps, start=1)]


def with_parts(metadata: Mapping[str, object] | None, name: str, parts: object) -> dict[str, object]:
    """The metadata with the parts under a name.

    Raises:
        InvalidInput: the name is taken.
    """
    if metadata is not None and name in metadata:
        raise InvalidInput(f"metadata has {name!r} already, which is kept for the parts; use another name")
    return {**(metadata or {}), name: parts}


def label_tag(field: str, prefix: str, value: str) -> str:
    """The tag that stands for a name.

    Raises:
        InvalidInput: the name cannot be a tag.
    """
    checks.check_label(field, value, max_chars=checks.MAX_TAG_CHARS - len(prefix))
    tag = as_tag(prefix, value)
    if tag is None:
        raise InvalidInput(f"{field} {value!r} is too long as a tag; shorten it")
    return tag


def as_tag(prefix: str, value: str) -> str | None:
    """The tag that stands for a name, whatever its case and spaces; None if there can be no such tag."""
    tag = prefix + " ".join(value.casefold().split())
    return tag if len(tag) <= checks.MAX_TAG_CHARS and tag.isprintable() and tag != prefix else None


def subjects_first(found: Recall, subjects: Sequence[MemoryItem], limit: int) -> Recall:
    """The hits, those of the subject raised above all others, and with those that no word had found."""
    scored = {hit.id: hit for hit in found}
    scores = [0.0, *(hit.score for hit in found)]
    above = 1.0 + max(scores) - min(scores)
    for item in subjects:
        hit = scored.get(item.id) or MemoryHit(item=item, score=0.0, rank=1, why={})
        scored[item.id] = replace(hit, score=hit.score + above, why={**hit.why, "subject": above})
    newest_first = sorted(scored.values(), key=lambda hit: hit.id, reverse=True)
    best = sorted(newest_first, key=lambda hit: hit.score, reverse=True)[:limit]
    hits = [replace(hit, rank=rank) for rank, hit in enumerate(best, start=1)]
    return Recall(hits, query=found.query, degraded=found.degraded)
