"""What is kept of a run as one episodic memory: what the user asked, and what came of it. Pure."""

import re
from typing import Final

from retentive.agent.report import RunReport, RunState
from retentive.drafts import NewMemory
from retentive.ranking.echo import echoes
from retentive.ranking.render import CLOSING, OPENING
from retentive.recall import Recall
from retentive.tokens import truncate
from retentive.types import MemoryKind, Origin, Source

MAX_SIDE_CHARS: Final = 4_000
"""How much of each side is kept in the memory; a thread keeps all."""

_BLOCK = re.compile(re.escape(OPENING) + ".*?" + re.escape(CLOSING), re.DOTALL)


def exchange(report: RunReport, asked: str, answered: str, source: Source | None) -> NewMemory:
    """The memory of one exchange.

    What the assistant only repeated of what was recalled is replaced by a reference to it: it is kept once,
    and forgotten once. The origin is the assistant, the less trusted of the two. `success` is whether the run
    came to its end; a run that did not says so in `metadata["state"]`.
    """
    said = truncate(without_echo(answered, report.recalled), MAX_SIDE_CHARS)
    answer = said if said.strip() else f"(no answer: the run was {report.state.value})"
    if report.state is not RunState.COMPLETE and said.strip():
        answer += f" (not finished: the run was {report.state.value})"
    return NewMemory(
        content=f"User: {truncate(asked, MAX_SIDE_CHARS)}\nAssistant: {answer}",
        kind=MemoryKind.EPISODIC,
        metadata={"run": report.run_id, "state": report.state.value, "recalled": report.recalled_ids},
        source=source,
        origin=Origin.ASSISTANT,
        success=report.state is RunState.COMPLETE,
        key=f"exchange:{report.run_id}",
    )


def without_echo(text: str, recalled: Recall) -> str:
    """The text, with each recalled memory that it says again replaced by `[memory <id>]`; see `echoes`."""
    text = _BLOCK.sub("[recalled memories]", text)
    hits = list(recalled)
    for start, end, number in reversed(echoes(text, [hit.content for hit in hits])):
        text = f"{text[:start]}[memory {hits[number].id}]{text[end:]}"
    return text
