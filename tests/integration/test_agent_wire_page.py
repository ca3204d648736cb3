"""The page has a row for each fault that is tested, and no other."""

from collections.abc import Collection

import agent_wire_chat
import agent_wire_embeddings
import agent_wire_extraction
import pytest
from agent_wire_page import REWRITE, table

TABLES = {
    "chat": agent_wire_chat.FAULTS,
    "extraction": agent_wire_extraction.FAULTS,
    "embeddings": agent_wire_embeddings.FAULTS,
}


@pytest.mark.parametrize("name", TABLES)
def test_the_page_shows_every_fault_in_order(name: str) -> None:
    faults: Collection[str] = TABLES[name]
    assert list(table(name)) == list(faults), REWRITE
