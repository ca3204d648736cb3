"""The bundled conversation: seven people, six threads, three months, seven languages."""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.resources import files
from typing import Any

from retentive.drafts import NewMemory
from retentive.types import MemoryKind, Source

NAMESPACE = "flat"
OTHER_NAMESPACE = "neighbours"
NOW = datetime.fromisoformat("2026-04-06T12:00:00+02:00")
SECRET = "The alarm code of the cellar is 9302."
SECRET_QUESTION = "What is the alarm code of the cellar?"
LAST_WORDS = ("flat-kitchen", "Tomás", "The oven has stopped beeping. I think it found its family.")


@dataclass(frozen=True, slots=True, kw_only=True)
class Said:
    """One turn of the story; `number` counts from 1 in its thread."""

    thread: str
    number: int
    speaker: str
    at: datetime
    text: str

    def as_memory(self) -> NewMemory:
        """The memory of it: word for word, with who said it where and when."""
        return NewMemory(
            content=self.text,
            kind=MemoryKind.EPISODIC,
            occurred_at=self.at,
            source=Source(thread=self.thread, turns=(self.number,), speaker=self.speaker),
        )

    def as_turn(self) -> dict[str, Any]:
        """The turn of a thread."""
        return {
            "content": self.text,
            "role": "user",
            "metadata": {"speaker": self.speaker, "said_at": self.at.isoformat()},
        }


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What the demo asks, what it is an example of, and the turns that answer it."""

    ask: str
    kind: str
    thread: str
    turns: tuple[int, ...]


def turns() -> list[Said]:
    """The conversation, in order of time."""
    said: list[Said] = []
    numbers: Counter[str] = Counter()
    for row in _rows("turns.jsonl"):
        numbers[row["thread"]] += 1
        said.append(
            Said(
                thread=row["thread"],
                number=numbers[row["thread"]],
                speaker=row["speaker"],
                at=datetime.fromisoformat(row["at"]),
                text=row["text"],
            )
        )
    return said


def facts() -> list[NewMemory]:
    """Plain statements beside the conversation; some say again what others said."""
    return [
        NewMemory(content=row["text"], tags=row["tags"], importance=row.get("importance", 0.5))
        for row in _rows("facts.jsonl")
    ]


def questions() -> list[Question]:
    """The ten questions, in order."""
    return [
        Question(ask=row["ask"], kind=row["kind"], thread=row["thread"], turns=tuple(row["turns"]))
        for row in _rows("questions.jsonl")
    ]


def _rows(name: str) -> Sequence[dict[str, Any]]:
    text = (files("retentive.cli") / "demo_data" / name).read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]
