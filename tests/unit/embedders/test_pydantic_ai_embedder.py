from collections.abc import AsyncIterator, Iterator

import pytest
import pytest_asyncio
from openai import AsyncOpenAI
from pydantic_ai import Embedder
from pydantic_ai.embeddings import TestEmbeddingModel
from pydantic_ai.embeddings.openai import OpenAIEmbeddingModel
from pydantic_ai.providers.openai import OpenAIProvider

from retentive import Memory
from retentive.embedders.base import embed_checked, fingerprint, resolve
from retentive.embedders.pydantic_ai import PydanticAIEmbedder
from retentive.errors import EmbedderError, EmbedderUnavailable, InvalidInput
from retentive.testing.openai_server import Answer, OpenAIServer


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(dimensions=1536) as server:
        yield server


@pytest_asyncio.fixture
async def inner(server: OpenAIServer) -> AsyncIterator[Embedder]:
    client = AsyncOpenAI(base_url=server.base_url, api_key="k", max_retries=0)
    provider = OpenAIProvider(openai_client=client)
    yield Embedder(OpenAIEmbeddingModel("text-embedding-3-small", provider=provider))
    await client.close()


async def test_pydantic_ais_own_embedder_is_taken_as_it_is(inner: Embedder) -> None:
    async with Memory(store="memory://", embedder=inner) as memory:  # pyright: ignore[reportArgumentType]
        item = await memory.remember("The boiler man is called Sven")
        assert item.embedder == "openai:text-embedding-3-small/1536"
        await memory.remember("The chimney sweep is called Ola")
        assert "cosine" in (await memory.recall("boiler man"))[0].why


@pytest.mark.parametrize("answer", [Answer(status=429), Answer(status=500), Answer(reset=True)])
async def test_a_provider_that_is_down_is_unavailable(
    server: OpenAIServer, inner: Embedder, answer: Answer
) -> None:
    server.embed(answer)
    with pytest.raises(EmbedderUnavailable):
        await embed_checked(PydanticAIEmbedder(inner), ["a"], "query")


@pytest.mark.parametrize("answer", [Answer(status=401), Answer(status=400), Answer(body=b"{")])
async def test_a_refusal_or_nonsense_is_not_unavailable(
    server: OpenAIServer, inner: Embedder, answer: Answer
) -> None:
    server.embed(answer)
    with pytest.raises(EmbedderError) as caught:
        await embed_checked(PydanticAIEmbedder(inner), ["a"], "query")
    assert not isinstance(caught.value, EmbedderUnavailable)


async def test_the_kind_reaches_the_provider() -> None:
    model = TestEmbeddingModel(dimensions=4)
    embedder = PydanticAIEmbedder(Embedder(model, settings={"dimensions": 4}))
    assert (await embed_checked(embedder, ["a", "b"], "query")).shape == (2, 4)
    assert fingerprint(embedder) == "test:test/4"


def test_a_name_makes_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    made = resolve("pydantic-ai:openai:text-embedding-3-large")
    assert fingerprint(made) == "openai:text-embedding-3-large/3072"
    assert resolve("pydantic-ai:openai:other/12").dimensions == 12


def test_what_cannot_be_known_is_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "k")
    with pytest.raises(InvalidInput, match="/1024"):
        resolve("pydantic-ai:openai:other")
    with pytest.raises(InvalidInput, match="no-such"):
        resolve("pydantic-ai:no-such:model")
