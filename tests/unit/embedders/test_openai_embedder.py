"""The OpenAI embedder, over real sockets, against a service that goes wrong in every way we know."""

import asyncio
from collections.abc import AsyncIterator, Iterator
from typing import Any

import numpy as np
import pytest
import pytest_asyncio

from retentive import Event, Memory
from retentive.embedders.base import embed_checked, fingerprint, resolve
from retentive.embedders.openai import MAX_BATCH_CHARS, OpenAIEmbedder, split_dimensions
from retentive.errors import EmbedderError, EmbedderUnavailable, InvalidInput
from retentive.testing.embedders import HashingEmbedder
from retentive.testing.openai_answers import doubled, missing, not_finite, null, reordered, shortened
from retentive.testing.openai_server import Answer, Gate, OpenAIServer

KEY = "sk-secret-4711"
AGAIN_S = 0.001


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(key=KEY) as server:
        yield server


@pytest_asyncio.fixture
async def embedder(server: OpenAIServer) -> AsyncIterator[OpenAIEmbedder]:
    embedder = make(server)
    yield embedder
    await embedder.close()


def make(server: OpenAIServer, **options: Any) -> OpenAIEmbedder:
    defaults: dict[str, Any] = {"base_url": server.base_url, "api_key": KEY, "dimensions": 64, "retries": 0}
    return OpenAIEmbedder("some-model", **(defaults | options))


DOWN: dict[str, Answer] = {
    "429": Answer(status=429),
    "500": Answer(status=500),
    "503": Answer(status=503),
    "connection reset": Answer(reset=True),
    "answer cut short": Answer(cut_after=40),
}
NONSENSE: dict[str, Answer] = {
    "400": Answer(status=400),
    "bad JSON": Answer(body=b'{"data": ['),
    "empty answer": Answer(body=b""),
    "no data": Answer(body=b'{"object": "list", "data": []}'),
    "JSON that is no answer": Answer(body=b'{"error": "none"}'),
    "one missing": Answer(rows=missing),
    "one twice": Answer(rows=doubled),
    "wrong dimension": Answer(rows=shortened),
    "NaN": Answer(rows=not_finite),
    "null": Answer(rows=null),
}


async def test_each_text_gets_its_own_vector(server: OpenAIServer, embedder: OpenAIEmbedder) -> None:
    server.embed(Answer(rows=reordered))
    texts = ["one kettle", "two pots", "three pans"]
    rows = await embed_checked(embedder, texts, "document")
    assert np.allclose(rows, await embed_checked(HashingEmbedder(64), texts, "document"), atol=1e-6)


@pytest.mark.parametrize("answer", DOWN.values(), ids=DOWN)
async def test_a_service_that_is_down_is_unavailable(
    server: OpenAIServer, embedder: OpenAIEmbedder, answer: Answer
) -> None:
    server.embed(answer)
    with pytest.raises(EmbedderUnavailable):
        await embed_checked(embedder, ["a", "b"], "document")
    await embed_checked(embedder, ["a", "b"], "document")


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
async def test_nonsense_is_refused_and_is_not_unavailable(
    server: OpenAIServer, embedder: OpenAIEmbedder, answer: Answer
) -> None:
    server.embed(answer)
    with pytest.raises(EmbedderError) as caught:
        await embed_checked(embedder, ["a", "b"], "document")
    assert not isinstance(caught.value, EmbedderUnavailable)


async def test_a_service_that_is_not_there_is_unavailable() -> None:
    with OpenAIServer() as gone:
        embedder = make(gone)
    with pytest.raises(EmbedderUnavailable, match="cannot be reached"):
        await embedder.embed(["a"], "document")
    await embedder.close()


async def test_a_slow_answer_is_unavailable_after_the_time_limit(server: OpenAIServer) -> None:
    gate, embedder = Gate(), make(server, timeout_s=0.05)
    server.embed(Answer(gate=gate))
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["a"], "document")
    gate.open()
    await embedder.close()


@pytest.mark.parametrize("status", [429, 500])
async def test_retries_are_bounded(server: OpenAIServer, status: int) -> None:
    embedder = make(server, retries=2)
    busy = Answer(status=status, retry_after_s=AGAIN_S)
    server.embed(busy, busy)
    assert len(await embedder.embed(["a"], "document")) == 1
    server.embed(*[busy] * 3)
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["a"], "document")
    assert len(server.embeds) == 6
    await embedder.close()


async def test_texts_go_in_batches_bounded_by_count_and_characters(server: OpenAIServer) -> None:
    embedder = make(server, batch=3)
    long = "x" * (MAX_BATCH_CHARS // 2 + 1)
    texts = ["a", "b", "c", "d", long, long]
    rows = await embed_checked(embedder, texts, "document")
    assert sorted(len(asked.texts) for asked in server.embeds) == [1, 2, 3]
    assert np.allclose(rows, await embed_checked(HashingEmbedder(64), texts, "document"), atol=1e-6)
    await embedder.close()


async def test_no_more_requests_are_under_way_than_allowed(server: OpenAIServer) -> None:
    gate, embedder = Gate(), make(server, batch=1, concurrency=2)
    server.script_embed(lambda _: Answer(gate=gate))
    task = asyncio.create_task(embedder.embed(["a", "b", "c", "d"], "document"))
    await asyncio.to_thread(gate.reached.wait, 10)
    for _ in range(20):
        await asyncio.to_thread(lambda: None)
    assert len(server.embeds) <= 2
    gate.open()
    assert len(await task) == 4
    await embedder.close()


async def test_one_failing_batch_fails_all(server: OpenAIServer) -> None:
    embedder = make(server, batch=1, concurrency=1)
    server.embed(Answer(), Answer(status=500))
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["a", "b", "c"], "document")
    await embedder.close()


@pytest.mark.parametrize("status", [401, 403, 400, 500])
async def test_the_key_is_in_no_text(server: OpenAIServer, status: int) -> None:
    server.embed(Answer(status=status, message=f"key {KEY} is bad"))
    embedder = make(server)
    with pytest.raises(EmbedderError) as caught:
        await embedder.embed(["a"], "document")
    seen = f"{caught.value!r} {caught.value.__cause__!r} {embedder!r} {embedder.name}"
    assert KEY not in seen
    assert server.embeds[0].headers["authorization"] == f"Bearer {KEY}"
    await embedder.close()


def test_only_the_names_of_others_models_carry_the_host() -> None:
    own = OpenAIEmbedder("text-embedding-3-small", api_key=KEY)
    gateway = OpenAIEmbedder("text-embedding-3-small", base_url="http://gate.example/v1", api_key=KEY)
    assert fingerprint(own) == fingerprint(gateway) == "openai:text-embedding-3-small/1536"
    local = OpenAIEmbedder("bge-m3", base_url="http://localhost:11434/v1", dimensions=1024)
    assert fingerprint(local) == "openai:bge-m3@localhost:11434/1024"
    named = OpenAIEmbedder("bge-m3", base_url="http://localhost/v1", dimensions=1024, name="bge-m3-fp16")
    assert fingerprint(named) == "bge-m3-fp16/1024"


async def test_only_models_that_can_shorten_are_asked_to(server: OpenAIServer) -> None:
    short = OpenAIEmbedder(
        "text-embedding-3-small", base_url=server.base_url, api_key=KEY, dimensions=32, retries=0
    )
    other = make(server)
    for embedder in (short, other):
        await embed_checked(embedder, ["a"], "query")
        await embedder.close()
    assert [asked.body.get("dimensions") for asked in server.embeds] == [32, None]


def test_a_name_makes_one_with_the_environments_address(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", "http://gate.example:8080/v1")
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    assert fingerprint(resolve("openai:text-embedding-3-large")) == "openai:text-embedding-3-large/3072"
    assert resolve("openai:BAAI/bge-m3/1024").name == "openai:BAAI/bge-m3@gate.example:8080"
    assert split_dimensions("BAAI/bge-m3") == ("BAAI/bge-m3", None)


def test_what_is_missing_is_said(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    with pytest.raises(InvalidInput, match="OPENAI_API_KEY"):
        resolve("openai:text-embedding-3-small")
    with pytest.raises(InvalidInput, match="openai:bge-m3/1024"):
        OpenAIEmbedder("bge-m3", api_key=KEY)


@pytest.mark.parametrize("field", ["batch", "concurrency", "dimensions"])
def test_what_is_below_one_is_refused(server: OpenAIServer, field: str) -> None:
    with pytest.raises(InvalidInput, match=field):
        make(server, **{field: -1})


async def test_a_failure_leaves_the_callers_task_as_if_nobody_had_cancelled_it(
    server: OpenAIServer, embedder: OpenAIEmbedder
) -> None:
    server.script_embed(lambda _: Answer(status=500))
    with pytest.raises(EmbedderUnavailable):
        await embedder.embed(["one", "two"], "document")
    task = asyncio.current_task()
    assert task is not None
    assert task.cancelling() == 0


@pytest.mark.parametrize("answer", DOWN.values(), ids=DOWN)
async def test_what_is_remembered_while_it_is_down_is_kept_and_its_vector_follows(
    server: OpenAIServer, embedder: OpenAIEmbedder, answer: Answer
) -> None:
    events: list[Event] = []
    async with Memory(store="memory://", embedder=embedder) as memory:
        memory.subscribe(events.append)
        server.embed(answer, answer, answer)
        kept = await memory.remember("The boiler man is called Sven")
        assert kept.embedder is None
        assert (await memory.remember("The boiler man is called Sven")).id == kept.id
        assert all("vector" in event.degraded for event in events)
        hits = await memory.recall("boiler man")
        assert [hit.id for hit in hits] == [kept.id]
        assert "words alone" in hits.degraded["vector"]
        hits = await memory.recall("boiler man")
        assert "1 have no vector yet" in hits.degraded["vector"]
        await memory.remember("The chimney sweep is called Ola")
        hits = await memory.recall("boiler man")
        assert hits[0].id == kept.id
        assert "cosine" in hits[0].why
        assert not hits.degraded
        assert await memory.count() == 2


@pytest.mark.parametrize("answer", NONSENSE.values(), ids=NONSENSE)
async def test_nonsense_stores_nothing_and_words_still_answer(
    server: OpenAIServer, embedder: OpenAIEmbedder, answer: Answer
) -> None:
    async with Memory(store="memory://", embedder=embedder) as memory:
        kept = await memory.remember("The boiler man is called Sven")
        server.embed(answer, answer)
        with pytest.raises(EmbedderError):
            await memory.remember_many(["one fact", "another fact"])
        assert await memory.count() == 1
        hits = await memory.recall("boiler man")
        assert [hit.id for hit in hits] == [kept.id]


async def test_a_memory_closes_the_embedder_that_it_made(
    server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    async with Memory(store="memory://", embedder="openai:m/64") as memory:
        item = await memory.remember("The boiler man is called Sven")
        assert item.embedder is not None
    made = memory._engine.embedder  # pyright: ignore[reportPrivateUsage]
    assert isinstance(made, OpenAIEmbedder)
    assert not made._clients  # pyright: ignore[reportPrivateUsage]
