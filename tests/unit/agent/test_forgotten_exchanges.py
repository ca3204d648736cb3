"""What is forgotten does not live on in the exchange of a run that was shown it."""

import pytest
from conversing import Strict, says
from pydantic_ai import Agent

from retentive import Memory
from retentive.agent import MemoryCapability

FACT = "The user's alarm code is 4711."
ASKED = "What is my alarm code?"


@pytest.mark.parametrize(
    ("answer", "stays"),
    [("Sure: your alarm code is **4711**!", 1), ("It is 4711, the code of the alarm.", 0), ("No idea.", 1)],
)
async def test_no_exchange_tells_what_was_forgotten(answer: str, stays: int) -> None:
    async with Memory(store="memory://") as memory:
        known = await memory.remember(FACT)
        await memory.remember("The bike is red and 4711 is the alarm code of nobody.", kind="episodic")
        capability = MemoryCapability(memory, autosave=True, extractor=None)
        await Agent(Strict(says(answer)).model, capabilities=[capability]).run(ASKED)
        receipt = await memory.forget(known.id)
        assert len(receipt.ids) == 2 - stays
        assert receipt.removed["history"] == 0
        assert await memory.verify_forgotten(receipt)
        left = [item.content for item in await memory.list(kinds="episodic")]
        assert len(left) == 1 + stays  # what no run was shown stays
        assert not any("User:" in content and "4711" in content for content in left)
