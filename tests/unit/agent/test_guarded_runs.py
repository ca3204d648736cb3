"""Agents keep their threads as their memory is kept: sealed, encrypted, or both."""

from pathlib import Path
from typing import Any

import pytest
from conversing import Strict, says
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from retentive import InvalidInput, Memory, open_thread
from retentive import agent as agents
from retentive.agent import MemoryCapability
from retentive.encryption import Encryption, FolderRing
from retentive.extraction import VerbatimExtractor
from retentive.guards import Guards
from retentive.integrity import FolderAnchor, Integrity, audit
from retentive.stores.sqlite import SQLiteStore

SECRET = b"marmalade"
SAID = "The vault opens with marmalade."
WAYS = ("sealed", "encrypted", "both")


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RETENTIVE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("RETENTIVE_STATE", str(tmp_path / "state"))


def options(folder: Path, way: str) -> dict[str, Any]:
    keyed = Integrity(key=b"k" * 32, anchor=FolderAnchor(folder / "anchor"))
    secret = Encryption(key=b"k" * 32, ring=FolderRing(folder / "ring"))
    wanted = {"sealed": {"integrity": keyed}, "encrypted": {"encryption": secret}}
    return wanted.get(way) or {"integrity": keyed, "encryption": secret}


def bytes_below(folder: Path) -> bytes:
    return b"".join(path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file())


@pytest.mark.parametrize("way", WAYS)
async def test_a_run_recalls_extracts_and_is_forgotten_as_without_guards(tmp_path: Path, way: str) -> None:
    given = options(tmp_path, way)
    async with Memory(store=f"sqlite:///{(tmp_path / 'm.db').as_posix()}", **given) as memory:
        capability = MemoryCapability(memory, thread="t", user_id="ada", extractor=VerbatimExtractor())
        for _ in range(2):
            await Agent(TestModel(), capabilities=[capability]).run(SAID)
        assert (SECRET in bytes_below(tmp_path)) is (way == "sealed")
        assert SAID in [hit.content for hit in await memory.recall("vault", user_id="ada")]
        thread = await open_thread("t", **given)
        assert len(thread) == 4
        receipt = await memory.forget_user("ada")
        assert receipt.threads == ("default/t",)
        verdict = await memory.verify_forgotten(receipt)
        assert verdict, verdict
        await Agent(TestModel(), capabilities=[MemoryCapability(memory, thread="t")]).run("Hello again.")
        assert SECRET not in bytes_below(tmp_path)
        again = await open_thread("t", store=Guards().threads_below(), **given)
        assert again.messages()[0].content == "Hello again."
    if way == "sealed":
        found = await audit(SQLiteStore(tmp_path / "m.db"), Guards().threads_below(), given["integrity"])
        assert found.is_clean, found.checked


async def test_an_agent_of_a_plain_memory_is_refused_a_sealed_thread(tmp_path: Path) -> None:
    await (await open_thread("t", **options(tmp_path, "sealed"))).append(SAID)
    before = bytes_below(tmp_path / "home")
    async with Memory(store="memory://") as memory:
        with pytest.raises(InvalidInput, match="opened without"):
            await Agent(TestModel(), capabilities=[MemoryCapability(memory, thread="t")]).run("Hello.")
    assert bytes_below(tmp_path / "home") == before


async def test_the_declarative_agent_does_the_same(tmp_path: Path) -> None:
    given = options(tmp_path, "both")
    async with Memory(store="memory://", **given) as memory:
        model = Strict(says("Noted."))
        agent = agents.Agent(model=model.model, memory=memory)
        await agent.run(SAID, thread="t")
        assert SECRET not in bytes_below(tmp_path / "home")
        assert [turn.content for turn in (await open_thread("t", **given)).messages()] == [SAID, "Noted."]
