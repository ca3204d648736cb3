"""What a model has said in a run so far, also what pydantic-ai had no time to keep."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from pydantic_ai.messages import (
    AgentStreamEvent,
    ModelMessage,
    ModelResponse,
    ModelResponsePart,
    PartDeltaEvent,
    PartStartEvent,
)

from retentive.agent.transcript import of_run, produced_text


@dataclass(slots=True)
class Heard:
    """The run's own messages, and the parts of an answer that is being streamed.

    A task that is cancelled several times is torn off before the streamed answer is among its messages.
    """

    _live: Sequence[ModelMessage] = ()
    _output_tools: frozenset[str] = frozenset()
    _parts: dict[int, ModelResponsePart] = field(default_factory=dict[int, ModelResponsePart])
    _answers: int = 0

    def ask(self, live: Sequence[ModelMessage], output_tools: Iterable[str]) -> None:
        """A request begins. `live` is the run's own list, which grows with it."""
        self._live = live
        self._output_tools = frozenset(output_tools)
        self._parts.clear()
        self._answers = _answers(live)

    def take(self, event: AgentStreamEvent) -> None:
        """Take in a piece of the answer."""
        if isinstance(event, PartStartEvent):
            self._parts[event.index] = event.part
        elif isinstance(event, PartDeltaEvent) and event.index in self._parts:
            self._parts[event.index] = event.delta.apply(self._parts[event.index])

    def messages(self, run_id: str) -> list[ModelMessage]:
        """The messages of the run, in order."""
        return of_run(self._live, run_id)

    def text(self, run_id: str) -> str:
        """What was said, with as much of a structured answer as had come; empty if nothing."""
        messages = self.messages(run_id)
        if self._parts and _answers(self._live) == self._answers:
            messages.append(ModelResponse(parts=[self._parts[index] for index in sorted(self._parts)]))
        return produced_text(messages, self._output_tools)


def _answers(messages: Iterable[ModelMessage]) -> int:
    return sum(isinstance(message, ModelResponse) for message in messages)
