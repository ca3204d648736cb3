"""`retentive reembed` moves what another embedder embedded."""

import asyncio
from pathlib import Path

import pytest
from cli_runs import Cli

from retentive import Memory
from retentive.testing.embedders import HashingEmbedder
from retentive.testing.openai_server import Answer, OpenAIServer


@pytest.fixture
def old(tmp_path: Path) -> None:
    async def remember() -> None:
        store = f"sqlite:///{tmp_path / 'home' / 'memory.db'}"
        async with Memory(store=store, embedder=HashingEmbedder(8, name="old")) as memory:
            await memory.remember("The boiler man is called Sven")
            await memory.remember("Ana likes tea", user_id="ana")

    asyncio.run(remember())


@pytest.mark.usefixtures("old")
def test_it_moves_one_user_or_all(here: Cli) -> None:
    report = here("reembed", "--user", "ana", "--json").json()
    assert (report["scanned"], report["moved"], report["left"]) == (1, 1, 0)
    assert report["before"] == {"old/8": 1}
    ran = here("reembed")
    assert ran.code == 0
    assert "1 of 1 memories moved" in ran.out
    assert here("reembed", "--json").json()["scanned"] == 0


@pytest.mark.usefixtures("old")
def test_a_service_that_is_down_leaves_them_and_says_so(here: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    with OpenAIServer() as server:
        monkeypatch.setenv("OPENAI_BASE_URL", server.base_url)
        monkeypatch.setenv("OPENAI_API_KEY", "sk-secret")
        server.embed(*[Answer(status=500, retry_after_s=0.001)] * 3)
        ran = here("reembed", "--embedder", "openai:m/64", "--json")
        assert ran.code == 6
        assert (ran.json()["moved"], ran.json()["left"]) == (0, 2)
        assert "sk-secret" not in ran.out + ran.err
        assert here("reembed", "--embedder", "openai:m/64", "--json").json()["moved"] == 2


def test_user_and_shared_exclude_each_other(here: Cli) -> None:
    assert here("reembed", "--user", "ana", "--shared").code == 2
