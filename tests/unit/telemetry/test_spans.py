"""Each call that finds, writes or removes memories is a span, by the GenAI memory conventions."""

import asyncio
import inspect
import json
import sys
from collections.abc import Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from datetime import timedelta
from io import BytesIO
from typing import Any

import pytest
from opentelemetry.sdk.trace import ReadableSpan, TracerProvider
from opentelemetry.sdk.trace.export import SimpleSpanProcessor
from opentelemetry.sdk.trace.export.in_memory_span_exporter import InMemorySpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF
from opentelemetry.trace import SpanKind, StatusCode
from pydantic_ai import Agent
from pydantic_ai.messages import ModelMessage, ModelResponse, TextPart
from pydantic_ai.models.function import AgentInfo, FunctionModel
from pydantic_ai.models.instrumented import InstrumentationSettings

from retentive import InvalidInput, Memory, NotFound, open_thread, sync
from retentive.agent import MemoryCapability
from retentive.embedders.base import EmbedKind, Vectors
from retentive.events import Trace, traced
from retentive.life.batch import Batch
from retentive.memory.watching import Call
from retentive.stores.in_memory import InMemoryStore
from retentive.stores.in_memory_threads import InMemoryThreadStore
from retentive.telemetry import instrument
from retentive.telemetry.instrumenting import CONTENT_VARIABLE
from retentive.telemetry.outcomes import MAX_CHARS, MAX_RECORDS, OPERATIONS
from retentive.testing.embedders import HashingEmbedder

WITHOUT_A_SPAN = {
    *("close", "count", "export", "notes", "reembed", "scopes", "verify_forgotten"),
    # These are made of other verbs, which have spans.
    *("context", "facts_about", "procedures_for", "record_episode", "remember_fact", "remember_procedure"),
    "similar_episodes",
}


class Traced:
    """A tracer whose finished spans can be looked at."""

    def __init__(self) -> None:
        self.exporter = InMemorySpanExporter()
        self.provider = TracerProvider()
        self.provider.add_span_processor(SimpleSpanProcessor(self.exporter))
        self.tracer = self.provider.get_tracer("test")

    def spans(self) -> Sequence[ReadableSpan]:
        return self.exporter.get_finished_spans()

    def told(self) -> list[dict[str, Any]]:
        return self.told_by(self.spans())

    def told_by(self, spans: Sequence[ReadableSpan]) -> list[dict[str, Any]]:
        return [dict(span.attributes or {}) for span in spans]

    def last(self) -> dict[str, Any]:
        return self.told()[-1]


@pytest.fixture
def otel() -> Iterator[Traced]:
    traced = Traced()
    yield traced
    traced.provider.shutdown()


@pytest.fixture
def memory(otel: Traced) -> Memory:
    memory = Memory("support", store="memory://", name="agents")
    instrument(memory, tracer_provider=otel.provider)
    return memory


def test_every_verb_is_an_operation_or_named_as_one_without_a_span() -> None:
    verbs = {name for name, _ in inspect.getmembers(Memory, inspect.iscoroutinefunction) if name[0] != "_"}
    assert verbs == OPERATIONS.keys() | WITHOUT_A_SPAN
    assert not OPERATIONS.keys() & WITHOUT_A_SPAN


async def test_a_span_has_the_names_of_the_convention(memory: Memory, otel: Traced) -> None:
    item = await memory.remember("tea at five", user_id="ann")
    await memory.recall("tea", user_id="ann")
    written, read = otel.spans()
    assert (written.name, read.name) == ("upsert_memory", "search_memory")
    assert written.kind is read.kind is SpanKind.INTERNAL
    assert written.attributes == {
        "gen_ai.operation.name": "upsert_memory",
        "gen_ai.provider.name": "retentive",
        "gen_ai.memory.store.id": "agents",
        "gen_ai.memory.record.id": item.id,
        "gen_ai.memory.record.count": 1,
        "retentive.verb": "remember",
    }
    assert read.attributes == {
        "gen_ai.operation.name": "search_memory",
        "gen_ai.provider.name": "retentive",
        "gen_ai.memory.store.id": "agents",
        "gen_ai.memory.record.count": 1,
        "retentive.verb": "recall",
    }
    assert written.status.status_code is read.status.status_code is StatusCode.UNSET
    assert written.instrumentation_scope is not None
    assert written.instrumentation_scope.name == "retentive"


async def test_each_verb_tells_its_operation_its_record_and_how_many(memory: Memory, otel: Traced) -> None:
    def last() -> tuple[Any, ...]:
        told = otel.last()
        names = ("retentive.verb", "gen_ai.operation.name", "gen_ai.memory.record.id")
        return *(told.get(name) for name in names), told.get("gen_ai.memory.record.count")

    one = await memory.remember("tea at five")
    await memory.remember_many(["a walk at six", "supper at eight"])
    assert last() == ("remember_many", "upsert_memory", None, 2)
    await memory.get(one.id)
    assert last() == ("get", "search_memory", one.id, 1)
    await memory.get("nothing")
    assert last() == ("get", "search_memory", "nothing", 0)
    await memory.list()
    assert last() == ("list", "search_memory", None, 3)
    await memory.search("walk", limit=1)
    assert last() == ("search", "search_memory", None, 1)
    await memory.update(one.id, importance=0.9)
    assert last() == ("update", "update_memory", one.id, 1)
    newer = await memory.supersede(one.id, "tea at half past five")
    assert last() == ("supersede", "update_memory", one.id, 1)
    await memory.history(newer.id)
    assert last() == ("history", "search_memory", newer.id, 2)
    await memory.conflicts()
    assert last()[:2] == ("conflicts", "search_memory")
    await memory.apply(Batch(notes={"n": b"x"}))
    assert last() == ("apply", "upsert_memory", None, 0)
    await memory.forget(newer.id)
    assert last() == ("forget", "delete_memory", newer.id, 2)
    await memory.clear(user_id=None)
    assert last() == ("clear", "delete_memory", None, 2)


async def test_an_import_tells_how_many_it_took(memory: Memory, otel: Traced) -> None:
    file = BytesIO()
    async with Memory(store="memory://") as other:
        await other.remember_many(["tea at five", "a walk at six"])
        await other.export(file)
    file.seek(0)
    await memory.import_(file)
    assert otel.last()["retentive.verb"] == "import_"
    assert otel.last()["gen_ai.memory.record.count"] == 2


async def test_verbs_made_of_others_make_the_spans_of_those(memory: Memory, otel: Traced) -> None:
    await memory.remember_fact("Ann drinks tea.", subject="Ann")
    await memory.context("What does Ann drink?")
    await memory.count()
    assert [told["retentive.verb"] for told in otel.told()][:1] == ["remember"]
    assert {told["gen_ai.operation.name"] for told in otel.told()[1:]} <= {"search_memory"}


async def test_a_call_is_below_the_current_span_and_what_it_does_below_it(otel: Traced) -> None:
    class Asking(HashingEmbedder):
        async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:
            with otel.tracer.start_as_current_span("embeddings"):
                return await super().embed(texts, kind)

    memory = Memory(store="memory://", embedder=Asking())
    instrument(memory, tracer_provider=otel.provider)
    with otel.tracer.start_as_current_span("outer") as outer:
        await asyncio.create_task(recalled(memory))
    by_name = {span.name: span for span in otel.spans()}
    call, asked = by_name["upsert_memory"], by_name["embeddings"]
    assert call.parent is not None
    assert call.parent.span_id == outer.get_span_context().span_id
    assert asked.parent is not None
    assert call.context is not None
    assert asked.parent.span_id == call.context.span_id
    assert call.start_time is not None
    assert asked.start_time is not None
    assert call.end_time is not None
    assert asked.end_time is not None
    assert call.start_time <= asked.start_time <= asked.end_time <= call.end_time


async def recalled(memory: Memory) -> None:
    await memory.remember("tea at five")


async def test_a_failed_call_is_a_span_that_names_the_error(memory: Memory, otel: Traced) -> None:
    with pytest.raises(NotFound):
        await memory.update("nothing", importance=1)
    with pytest.raises(InvalidInput):
        await memory.recall("tea", limit=-1)
    for span, kind in zip(otel.spans(), ("NotFound", "InvalidInput"), strict=True):
        told = dict(span.attributes or {})
        assert told["error.type"] == f"retentive.errors.{kind}"
        assert "gen_ai.memory.record.count" not in told
        assert (span.status.status_code, span.status.description) == (StatusCode.ERROR, None)
        assert span.events == ()


async def test_a_cancelled_call_is_a_span_that_says_so(otel: Traced) -> None:
    begun = asyncio.Event()

    class Hanging(InMemoryStore):
        async def scan(self, scope: Any, since: int) -> Any:
            begun.set()
            await asyncio.Event().wait()

    memory = Memory(store=Hanging())
    instrument(memory, tracer_provider=otel.provider)
    call = asyncio.create_task(memory.recall("tea"))
    await begun.wait()
    call.cancel()
    with pytest.raises(asyncio.CancelledError):
        await call
    assert otel.last()["error.type"] == "asyncio.exceptions.CancelledError"


async def test_no_text_leaves_unless_asked_for(memory: Memory, otel: Traced) -> None:
    item = await memory.remember("zebra crossing", tags=["zebra"], metadata={"m": "zebra"}, user_id="zebra")
    await memory.recall("zebra", user_id="zebra")
    await memory.update(item.id, content="zebra stripes", user_id="zebra")
    with pytest.raises(InvalidInput):
        await memory.remember("tea", kind="zebra")
    assert len(otel.spans()) == 4
    assert "zebra" not in "".join(span.to_json() for span in otel.spans())


@pytest.mark.parametrize("said", ["true", "TRUE", "1", "SPAN_ONLY", "span_and_event"])
async def test_the_environment_opts_in(said: str, otel: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONTENT_VARIABLE, said)
    await shows_content(otel, None)


@pytest.mark.parametrize("said", ["", "false", "no_content", "event_only"])
async def test_other_words_do_not(said: str, otel: Traced, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(CONTENT_VARIABLE, said)
    with pytest.raises(KeyError):
        await shows_content(otel, None)


async def test_the_argument_comes_before_the_environment(
    otel: Traced, monkeypatch: pytest.MonkeyPatch
) -> None:
    await shows_content(otel, True)
    monkeypatch.setenv(CONTENT_VARIABLE, "true")
    with pytest.raises(KeyError):
        await shows_content(otel, False)


async def shows_content(otel: Traced, capture_content: bool | None) -> None:
    memory = Memory(store="memory://")
    instrument(memory, tracer_provider=otel.provider, capture_content=capture_content)
    item = await memory.remember("tea at five", tags=["daily"])
    hits = await memory.recall("when is tea?")
    written, read = otel.told()[-2:]
    shown = {"id": item.id, "content": "tea at five", "metadata": {"kind": "semantic", "tags": ["daily"]}}
    assert json.loads(written["gen_ai.memory.records"]) == [shown]
    assert json.loads(read["gen_ai.memory.records"]) == [shown | {"score": hits[0].score}]
    assert read["gen_ai.memory.query.text"] == "when is tea?"


async def test_captured_content_is_bounded(otel: Traced) -> None:
    memory = Memory(store="memory://")
    instrument(memory, tracer_provider=otel.provider, capture_content=True)
    await memory.remember_many([f"{number} " + "x" * MAX_CHARS for number in range(MAX_RECORDS + 1)])
    told = otel.last()
    shown = json.loads(told["gen_ai.memory.records"])
    assert (told["gen_ai.memory.record.count"], len(shown)) == (MAX_RECORDS + 1, MAX_RECORDS)
    assert {len(one["content"]) for one in shown} == {MAX_CHARS}
    await memory.search("y" * (MAX_CHARS + 1))
    assert len(otel.last()["gen_ai.memory.query.text"]) == MAX_CHARS


async def test_with_content_an_error_tells_its_message(otel: Traced) -> None:
    memory = Memory(store="memory://")
    instrument(memory, tracer_provider=otel.provider, capture_content=True)
    with pytest.raises(NotFound) as raised:
        await memory.update("nothing", importance=1)
    assert otel.spans()[0].status.description == str(raised.value)
    await memory.forget("nothing")
    assert "gen_ai.memory.records" not in otel.last()


async def test_a_degraded_recall_says_which_leg_was_missing(otel: Traced) -> None:
    class Slow(HashingEmbedder):
        async def embed(self, texts: Sequence[str], kind: EmbedKind) -> Vectors:
            if kind == "query":
                await asyncio.Event().wait()
            return await super().embed(texts, kind)

    memory = Memory(store="memory://", embedder=Slow())
    instrument(memory, tracer_provider=otel.provider)
    await memory.remember("tea at five")
    await memory.recall("tea", patience_s=0)
    assert otel.last()["retentive.degraded"] == ("vector",)


async def test_a_store_elsewhere_makes_the_span_a_clients(otel: Traced) -> None:
    class Elsewhere(InMemoryStore):
        @property
        def url(self) -> str:
            return "postgresql://db.example:5433/agents"

    memory = Memory(store=Elsewhere())
    instrument(memory, tracer_provider=otel.provider)
    await memory.remember("tea at five")
    assert otel.spans()[0].kind is SpanKind.CLIENT
    assert (otel.last()["server.address"], otel.last()["server.port"]) == ("db.example", 5433)


async def test_it_ends_when_told_and_no_other_does(memory: Memory, otel: Traced) -> None:
    ends = [instrument(memory, tracer_provider=otel.provider) for _ in range(2)]
    await memory.remember("one")
    assert len(otel.spans()) == 3
    for end in (*ends, ends[0]):
        end()
    await memory.remember("two")
    assert len(otel.spans()) == 4


async def test_an_unsampled_span_costs_no_reading_of_results(otel: Traced) -> None:
    memory = Memory(store="memory://")
    instrument(memory, tracer_provider=TracerProvider(sampler=ALWAYS_OFF), capture_content=True)
    assert (await memory.remember("tea at five")).content == "tea at five"
    assert otel.spans() == ()


def test_a_blocking_memory_is_below_the_span_of_its_caller(otel: Traced) -> None:
    with sync.Memory(store="memory://") as memory:
        instrument(memory, tracer_provider=otel.provider)
        with otel.tracer.start_as_current_span("outer") as outer:
            memory.remember("tea at five", ttl=timedelta(days=1))
    call = otel.spans()[0]
    assert call.name == "upsert_memory"
    assert call.parent is not None
    assert call.parent.span_id == outer.get_span_context().span_id


async def test_in_a_trace_the_span_names_run_and_conversation(memory: Memory, otel: Traced) -> None:
    with traced(Trace(run="run-1", conversation="ticket-9")):
        await memory.recall("tea")
    assert otel.last()["gen_ai.conversation.id"] == "ticket-9"
    assert otel.last()["retentive.run.id"] == "run-1"


def answered(messages: list[ModelMessage], info: AgentInfo) -> ModelResponse:
    return ModelResponse(parts=[TextPart("Tea.")])


async def test_an_agents_calls_are_below_its_run(memory: Memory, otel: Traced) -> None:
    await memory.remember("Ann drinks tea.", user_id="ann")
    otel.exporter.clear()
    thread = await open_thread("ticket-9", store=InMemoryThreadStore())
    capability = MemoryCapability(memory, thread=thread, user_id="ann", autosave=True, extractor=None)
    model = FunctionModel(answered)
    agent = Agent(model, name="helper", capabilities=[capability])
    agent.instrument = InstrumentationSettings(tracer_provider=otel.provider)
    result = await agent.run("What does Ann drink?")
    ours = [span for span in otel.spans() if "gen_ai.memory.store.id" in (span.attributes or {})]
    (run,) = [span for span in otel.spans() if span.parent is None]
    assert otel.told_by(ours)[0]["retentive.verb"] == "recall"
    assert run.name.endswith("helper")
    for span in ours:
        assert span.parent is not None
        assert run.context is not None
        assert span.context is not None
        assert span.context.trace_id == run.context.trace_id
        told = dict(span.attributes or {})
        assert told["gen_ai.conversation.id"] == "ticket-9"
        assert told["retentive.run.id"] == result.run_id
    assert {span.parent.span_id for span in ours if span.parent} == {run.context.span_id}  # pyright: ignore[reportOptionalMemberAccess]


async def test_watchers_see_the_arguments_by_name_and_open_in_order() -> None:
    order: list[str] = []
    memory = Memory(store="memory://")

    def watcher(name: str) -> Callable[[Call], Any]:
        @contextmanager
        def around(call: Call) -> Generator[Callable[[object], object]]:
            order.append(f"{name} begins {call.verb} {sorted(call.arguments)}")
            yield lambda result: order.append(f"{name} sees {type(result).__name__}")
            order.append(f"{name} ends")

        return around

    memory._watch(watcher("a"))  # pyright: ignore[reportPrivateUsage]
    memory._watch(watcher("b"))  # pyright: ignore[reportPrivateUsage]
    await memory.recall("tea", user_id="ann")
    assert order == [
        "a begins recall ['query', 'user_id']",
        "b begins recall ['query', 'user_id']",
        "a sees Recall",
        "b sees Recall",
        "b ends",
        "a ends",
    ]


async def test_without_opentelemetry_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "opentelemetry", None)
    with pytest.raises(InvalidInput, match=r"retentive\[otel\]"):
        instrument(Memory(store="memory://"))
