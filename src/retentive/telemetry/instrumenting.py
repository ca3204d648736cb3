"""Spans by the OpenTelemetry conventions for GenAI memory, around the calls of a Memory."""

import os
from collections.abc import Callable, Generator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Final
from urllib.parse import urlsplit

from retentive._version import __version__
from retentive.errors import InvalidInput
from retentive.events import current_trace
from retentive.memory import Memory
from retentive.memory.watching import Call
from retentive.recall import Recall
from retentive.sync import Memory as SyncMemory
from retentive.telemetry import outcomes

if TYPE_CHECKING:
    from opentelemetry.trace import Span, Tracer, TracerProvider
    from opentelemetry.util.types import AttributeValue

CONTENT_VARIABLE: Final = "OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT"
PROVIDER: Final = "retentive"
_CAPTURES: Final = ("true", "1", "span_only", "span_and_event")


def instrument(
    memory: Memory | SyncMemory,
    *,
    tracer_provider: "TracerProvider | None" = None,
    capture_content: bool | None = None,
) -> Callable[[], None]:
    """Have each call of the Memory that finds, writes or removes memories make a span, failed ones too.

    The span is open while the call runs, below the span that is current then: the run of an agent, say.
    What the call itself does, such as asking an embedder, is below it. Names and attributes are those of the
    GenAI memory conventions; `telemetry.outcomes.OPERATIONS` says which verb is which operation. Gives a
    function that ends it. Instrumenting a Memory twice makes two spans a call.

    Args:
        memory: the Memory, asynchronous or blocking.
        tracer_provider: makes the tracer; None is OpenTelemetry's global one.
        capture_content: whether spans hold queries, contents and the messages of errors. None is what the
            variable OTEL_INSTRUMENTATION_GENAI_CAPTURE_MESSAGE_CONTENT says, and else no.

    Raises:
        InvalidInput: OpenTelemetry is not installed.
    """
    try:
        from opentelemetry import trace
    except ImportError as error:
        raise InvalidInput(f"spans need opentelemetry: pip install 'retentive[otel]' ({error})") from error

    if capture_content is None:
        capture_content = os.environ.get(CONTENT_VARIABLE, "").strip().lower() in _CAPTURES
    tracer = trace.get_tracer("retentive", __version__, tracer_provider)
    plain = memory.asynchronous if isinstance(memory, SyncMemory) else memory
    return plain._watch(_Spans(tracer, capture_content))  # pyright: ignore[reportPrivateUsage]


@dataclass(frozen=True, slots=True, eq=False)
class _Spans:
    """Opens a span for a call."""

    tracer: "Tracer"
    capture_content: bool

    def __call__(self, call: Call) -> AbstractContextManager[Callable[[object], None]]:
        operation = outcomes.OPERATIONS.get(call.verb)
        return nullcontext(_ignore) if operation is None else self._span(call, operation)

    @contextmanager
    def _span(self, call: Call, operation: str) -> Generator[Callable[[object], None], None, None]:
        from opentelemetry.trace import SpanKind, Status, StatusCode

        attributes = _known_before(call, operation)
        if self.capture_content and (text := outcomes.query_text(call.arguments)) is not None:
            attributes["gen_ai.memory.query.text"] = text
        with self.tracer.start_as_current_span(
            operation,
            kind=SpanKind.CLIENT if "server.address" in attributes else SpanKind.INTERNAL,
            attributes=attributes,
            record_exception=False,
            set_status_on_exception=False,
        ) as span:
            try:
                yield lambda result: self._finish(span, operation, result)
            except BaseException as error:
                span.set_attribute("error.type", _name(error))
                span.set_status(Status(StatusCode.ERROR, str(error) if self.capture_content else None))
                raise

    def _finish(self, span: "Span", operation: str, result: object) -> None:
        """Say what is known only afterwards."""
        if not span.is_recording():
            return
        records = outcomes.records_of(result)
        if operation == outcomes.UPSERT and len(records) == 1:
            span.set_attribute("gen_ai.memory.record.id", records[0].id)
        span.set_attribute("gen_ai.memory.record.count", outcomes.count_of(result, records))
        if isinstance(result, Recall) and result.degraded:
            span.set_attribute("retentive.degraded", sorted(result.degraded))
        if self.capture_content and (text := outcomes.records_text(records)) is not None:
            span.set_attribute("gen_ai.memory.records", text)


def _known_before(call: Call, operation: str) -> "dict[str, AttributeValue]":
    """What a sampler may decide by, too."""
    place = urlsplit(call.store)
    trace = current_trace()
    known: dict[str, Any] = {
        "gen_ai.operation.name": operation,
        "gen_ai.provider.name": PROVIDER,
        "gen_ai.memory.store.id": call.memory,
        "gen_ai.memory.record.id": outcomes.named_record(call.arguments),
        "gen_ai.conversation.id": trace.conversation if trace else None,
        "server.address": place.hostname,
        "server.port": place.port if place.hostname else None,
        "retentive.verb": call.verb,
        "retentive.run.id": trace.run if trace else None,
    }
    return {name: value for name, value in known.items() if value is not None}


def _name(error: BaseException) -> str:
    kind = type(error)
    return kind.__qualname__ if kind.__module__ == "builtins" else f"{kind.__module__}.{kind.__qualname__}"


def _ignore(_: object) -> None:
    return
