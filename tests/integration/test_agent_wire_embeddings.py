"""Embedding goes wrong in every way: the run ends well, recalls by words, and each memory gets its vector."""

from collections.abc import Iterator

import numpy as np
import pytest
from agent_wire import AFTER, ENTRIES, PROMPTS, Scene, scene
from agent_wire_embeddings import FAULTS, KEPT, cell, embedder, suffer
from agent_wire_page import row_of

from retentive.drafts import text_to_embed
from retentive.testing.embedders import hashed
from retentive.testing.openai_server import OpenAIServer


@pytest.fixture
def server(monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "k")
        yield server


@pytest.mark.parametrize("fault", FAULTS)
@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("setup", KEPT)
async def test_the_run_ends_well_and_each_memory_gets_its_own_vector_in_the_end(
    server: OpenAIServer, setup: str, entry: str, fault: str
) -> None:
    made = embedder(server, FAULTS[fault])
    async with scene(server, setup, embedder=made) as at:
        ended = await suffer(at, entry, FAULTS[fault])
        assert await cell(at, ended) == row_of("embeddings", fault)[KEPT[setup]]
        assert at.said() == ["user", "assistant"] * 2
        assert await at.say(entry, AFTER) == "ends well"
        assert at.said() == ["user", "assistant"] * 3
        kept = [item.content for item in await at.remembered()]
        assert all(len([text for text in kept if prompt in text]) == 1 for prompt in PROMPTS)
        assert len(kept) == len(PROMPTS)
        assert await at.waiting() == []
        await check_vectors(at)
    if not isinstance(made, str):
        await made.close()


async def check_vectors(at: Scene) -> None:
    """Each memory has the vector of its own words."""
    for item, vector in await at.vectors():
        own = hashed(text_to_embed(item), 64)
        assert vector == pytest.approx(own / np.linalg.norm(own), abs=1e-6)
